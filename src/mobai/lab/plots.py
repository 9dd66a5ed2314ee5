"""Pictures of simulations: stopping times, their spread, and where the pulls went. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobai.errors import ConvergenceError, InputError
from mobai.lab.results import Results
from mobai.lab.summary import SummaryRow
from mobai.theory.lower_bound import lower_bound
from mobai.views.figure import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ARMS = 25
CUT_OFF = "cut off before it stopped: a lower bound"
_DASHES = ["-", "--", ":", "-."]


def plot(results: Results) -> Figure:
    """Draw the three pictures side by side."""
    if not results.trials:
        raise InputError("results", "there is no finished trial to draw")
    figure = new_figure(figsize=(16, 5.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    plot_stopping_times(results, left)
    plot_distribution(results, middle)
    plot_shares(results, right)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def save_plot(results: Results, path: str | Path) -> None:
    """Write the pictures to a file; its suffix (.png, .svg, .pdf) decides the format."""
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"{path}: the name must end in .png, .svg or .pdf")
    figure = plot(results)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'cannot be written'}") from None


def plot_stopping_times(results: Results, axes: Axes) -> None:
    """Draw mean stopping times with 95 % intervals against log(1/delta), and the lower bound."""
    summary, x = results.summary(), results.log_inv_deltas
    for (rule, stopping), style in _styles(results).items():
        rows = [row for row in summary if (row.rule, row.stopping) == (rule, stopping)]
        draw_means(axes, rows, **style)
    bounds = [row.bound for row in summary][: len(x)]
    if bounds and None not in bounds:
        axes.plot(x, np.array(bounds, dtype=float), color="black", lw=1.5, label="lower bound")
    axes.set(
        xlabel="log(1/delta)", ylabel="pulls until stopped", title="Mean stopping time, 95 % intervals", ylim=(0, None)
    )


def draw_means(axes: Axes, rows: Sequence[SummaryRow], **style: Any) -> None:
    """Draw mean stopping times with 95 % intervals against log(1/delta).

    Where a trial was cut off before it stopped, the mean is a lower bound: a hollow triangle, on no line.
    """
    full = [row for row in rows if row.stopped == row.trials]
    means = np.array([row.mean for row in full])
    half = np.array([row.mean_interval[1] for row in full]) - means
    half = np.where(np.isfinite(half), half, 0)
    drawn = axes.errorbar(
        [row.log_inv_delta for row in full], means, half, **{"marker": "o", "ms": 3, "capsize": 2, **style}
    )
    cut = [row for row in rows if row.stopped < row.trials]
    if cut:
        places, least = [row.log_inv_delta for row in cut], [row.mean for row in cut]
        axes.plot(places, least, "^", ms=6, mfc="none", color=drawn.lines[0].get_color())
        if CUT_OFF not in axes.get_legend_handles_labels()[1]:
            axes.plot([], [], "^", ms=6, mfc="none", color="grey", label=CUT_OFF)


def plot_distribution(results: Results, axes: Axes) -> None:
    """Draw the share of trials stopped by each number of pulls, at the smallest delta."""
    last = len(results.log_inv_deltas) - 1
    for (rule, stopping), style in _styles(results).items():
        s = results.config["policies"][rule].index(stopping)
        trials = [trial for trial in results.trials if trial.rule == rule]
        times = np.sort([trial.pulls[s, last] for trial in trials if trial.stopped[s, last]])
        if len(times):
            axes.step(times, np.arange(1, len(times) + 1) / len(trials), where="post", **style)
    title = f"Trials stopped, log(1/delta) = {results.log_inv_deltas[last]:.4g}"
    axes.set(xlabel="pulls", ylabel="share of trials", title=title, ylim=(0, 1.02), xlim=(0, None))


def plot_shares(results: Results, axes: Axes) -> None:
    """Draw each arm's mean share of the pulls at the smallest delta beside the oracle weights."""
    weights, order = _oracle(results)
    places = np.arange(len(order))
    if weights is not None:
        axes.bar(places, weights[order], color="lightgrey", label="oracle weights")
    for (rule, stopping), style in _styles(results).items():
        s = results.config["policies"][rule].index(stopping)
        counts = np.array([trial.arm_pulls[s, -1] for trial in results.trials if trial.rule == rule], dtype=float)
        if len(counts):
            shares = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
            axes.plot(places, shares[order], marker=".", lw=0, color=style["color"], label=style["label"])
    # A dollar sign would begin a formula.
    names = [results.instance.arms[arm].replace("$", r"\$") for arm in order]
    axes.set_xticks(places, names, rotation=90, fontsize=6)
    kept = "" if len(order) == len(results.instance.arms) else f" ({len(order)} of {len(results.instance.arms)} arms)"
    axes.set(ylabel="share of pulls", title=f"Where the pulls went{kept}", ylim=(0, None))


def _oracle(results: Results) -> tuple[Any, Any]:
    """Return the oracle weights (None where arms are tied) and the arms to show, those with most weight first."""
    arms = len(results.instance.arms)
    try:
        weights = lower_bound(results.instance).weights
    except (InputError, ConvergenceError):
        return None, np.arange(min(arms, _MOST_ARMS))
    if arms <= _MOST_ARMS:
        return weights, np.arange(arms)
    return weights, np.argsort(-weights, kind="stable")[:_MOST_ARMS]


def _styles(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
    """Return a colour to every rule and a dash to every stopping rule."""
    policies: dict[str, list[str]] = results.config["policies"]
    stoppings = list(dict.fromkeys(name for names in policies.values() for name in names))
    return {
        (rule, stopping): {
            "color": f"C{n % 10}",
            "linestyle": _DASHES[stoppings.index(stopping) % len(_DASHES)],
            "label": f"{rule}, {stopping}".replace("$", r"\$"),
        }
        for n, (rule, names) in enumerate(policies.items())
        for stopping in names
    }
