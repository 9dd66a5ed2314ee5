"""A picture of how an experiment went: evidence, where the samples went, and the means. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobai.errors import InputError
from mobai.live.trace import Series
from mobai.views.figure import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ARMS = 12


def plot_series(series: Series, path: str | Path | None = None) -> Any:
    """Draw a series; return the figure, or save it as .png, .svg or .pdf."""
    if path is not None and Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("out", f"{path}: the name must end in .png, .svg or .pdf")
    if not len(series):
        raise InputError("name", "nothing has been told yet, so there is nothing to draw")
    metrics = len(series.problem.metrics)
    figure = new_figure(figsize=(4.4 * (metrics + 2), 4.2), layout="constrained")
    evidence, shares, *means = figure.subplots(1, metrics + 2)
    _draw_evidence(series, evidence)
    _draw_shares(series, shares)
    for m, axes in enumerate(means):
        _draw_means(series, m, axes)
    if path is None:
        return figure
    figure.savefig(path, dpi=150)
    return None


def _draw_evidence(series: Series, axes: Axes) -> None:
    for m, name in enumerate(series.problem.objective_names):
        axes.plot(series.pulls, np.maximum(series.evidence[:, m], 0.0), label=name)
    axes.axhline(series.threshold, color="black", linestyle="--", linewidth=1, label="needed")
    axes.set(title="evidence", xlabel="pulls", ylabel="nats")
    axes.legend(fontsize=8)


def _draw_shares(series: Series, axes: Axes) -> None:
    shares = series.asked / np.maximum(series.asked.sum(axis=1, keepdims=True), 1)
    most = np.sort(np.argsort(-series.asked[-1])[:_MOST_ARMS])
    axes.stackplot(series.pulls, *shares[:, most].T, labels=[series.problem.arms[i] for i in most])
    axes.set(title="where the samples went", xlabel="pulls", ylabel="share of the samples", ylim=(0, 1))
    axes.legend(fontsize=8, loc="lower left")


def _draw_means(series: Series, m: int, axes: Axes) -> None:
    most = np.sort(np.argsort(-series.asked[-1])[:_MOST_ARMS])
    for i in most:
        (line,) = axes.plot(series.pulls, series.means[:, i, m], label=series.problem.arms[i])
        axes.fill_between(
            series.pulls, series.lower[:, i, m], series.upper[:, i, m], color=line.get_color(), alpha=0.12, linewidth=0
        )
    for guardrail in series.problem.guardrails:
        if guardrail.metric == series.problem.metric_names[m] and guardrail.limit is not None:
            axes.axhline(guardrail.limit, color="black", linestyle=":", linewidth=1)
    axes.set(title=series.problem.metric_names[m], xlabel="pulls", ylabel="mean, with its interval")
    seen = series.means[:, most, m]
    if np.isnan(seen[-1]).all():
        return
    spread = np.nanmax(seen) - np.nanmin(seen) or 1.0
    low, high = series.problem.metrics[m].family.range
    axes.set_ylim(max(np.nanmin(seen[-1]) - 2 * spread, low), min(np.nanmax(seen[-1]) + 2 * spread, high))
