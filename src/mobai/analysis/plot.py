"""The means of a log with their intervals, objective by objective. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobai.errors import InputError
from mobai.views.figure import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mobai.analysis.analyse import Analysis

_FORMATS = (".png", ".svg", ".pdf")
_MOST_ARMS = 40


def plot_means(analysis: Analysis, path: str | Path | None) -> Any:
    """Return the figure, or save it; the suffix decides the format."""
    if path is not None and Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"{path}: the name must end in .png, .svg or .pdf")
    problem = analysis.verdict.problem
    height = 1.2 + 0.32 * min(len(problem.arms), _MOST_ARMS)
    figure = new_figure(figsize=(3.6 * problem.shape[1] + 0.8, height), layout="constrained")
    for m, axes in enumerate(figure.subplots(1, problem.shape[1], sharey=True, squeeze=False)[0]):
        _plot_objective(analysis, m, axes)
    if path is None:
        return figure
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'cannot be written'}") from None
    return None


def _plot_objective(analysis: Analysis, m: int, axes: Axes) -> None:
    verdict = analysis.verdict
    arms = verdict.problem.arms[:_MOST_ARMS]
    places, means = np.arange(len(arms)), analysis.means[: len(arms), m]
    lower, upper = analysis.intervals.lower[: len(arms), m], analysis.intervals.upper[: len(arms), m]
    seen = np.isfinite(means) & np.isfinite(lower) & np.isfinite(upper)
    colours = ["tab:green" if verdict.decisions[m] and verdict.recommended[m] == i else "tab:blue" for i in places]
    axes.hlines(
        places[seen], lower[seen], upper[seen], colors=[c for c, s in zip(colours, seen, strict=True) if s], lw=2
    )
    axes.scatter(means, places, c=colours, s=22, zorder=3)
    objective = verdict.problem.objectives[m]
    state = "decided" if verdict.decisions[m] else "not decided"
    axes.set_title(f"{objective.name} ({objective.direction}), {state}", fontsize=10)
    axes.set_yticks(places, arms, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
