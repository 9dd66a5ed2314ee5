"""Whether means change: those of every tenth of the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mobai.views.charts.lines import MOST_LINES, LineChart, line_chart, line_keys
from mobai.views.charts.scale import Scale
from mobai.views.tables import arms_to_show

if TYPE_CHECKING:
    from mobai.live.status import Status
    from mobai.live.trace import Series

_TENTHS = 10
_FEWEST = 5  # rewards whose mean is shown


def drift_charts(series: Series, status: Status) -> tuple[str, list[str]]:
    """Return the mean of every arm in each tenth of the samples: novelty wears off, and seasons show.

    First which line is which arm, then a chart per metric; none before there are enough points.
    """
    if len(series) < 2 * _TENTHS:
        return "", []
    shown = arms_to_show(status.verdict, status.rewards)
    arms = sorted(sorted(shown, key=lambda i: -int(status.rewards[i].sum()))[:MOST_LINES])
    borders = _borders(series)
    # The quantile of a tenth does not follow from those of everything before and after it.
    of_means = [m for m, metric in enumerate(series.problem.metrics) if not metric.family.functional]
    charts = [_drift(series, status, m, arms, borders) for m in of_means]
    return line_keys({series.problem.arms[i]: "" for i in arms}), charts


def _borders(series: Series) -> list[int]:
    """Return the points that are next to each tenth of the samples."""
    pulls = series.pulls.tolist()
    return [min(range(len(pulls)), key=lambda n: abs(pulls[n] - pulls[-1] * k / _TENTHS)) for k in range(1, _TENTHS)]


def _drift(series: Series, status: Status, m: int, arms: Sequence[int], borders: Sequence[int]) -> str:
    lines = {}
    for i in arms:
        counts = [0, *(int(series.rewards[n, i, m]) for n in borders), int(status.rewards[i, m])]
        means = [0.0, *(float(series.means[n, i, m]) for n in borders), float(status.means[i, m])]
        sums = [0.0 if count == 0 else count * mean for count, mean in zip(counts, means, strict=True)]
        lines[series.problem.arms[i]] = [
            (sums[k + 1] - sums[k]) / (counts[k + 1] - counts[k]) if counts[k + 1] - counts[k] >= _FEWEST else math.nan
            for k in range(_TENTHS)
        ]
    scale = Scale(value for column in lines.values() for value in column)
    title = f"{series.problem.metric_names[m]}: mean per tenth of the samples"
    places = [float(k + 1) for k in range(_TENTHS)]
    chart = LineChart(
        "drift",
        title,
        lines,
        places,
        scale.low,
        scale.high,
        percent=False,
        foot=("first tenth", "last tenth"),
        keyed=False,
    )
    return line_chart(chart)
