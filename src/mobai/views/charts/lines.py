"""Lines over the pulls: evidence, allocation, and the means of tenths of the samples."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from mobai.document import Table, to_rows
from mobai.views.charts.scale import Scale, label, line, svg, tick_text
from mobai.views.charts.style import wide
from mobai.views.tables import arms_to_show
from mobai.views.words import number_text

if TYPE_CHECKING:
    from mobai.live.status import Status
    from mobai.live.trace import Series

# How lines are told apart without colour.
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")
_MOST_ROWS = 10  # of the table beside a chart
_TENTHS = 10


@dataclass(frozen=True)
class LineChart:
    """Lines over the same places, with what is said of them.

    Attributes
    ----------
    kind, title
        What the chart is called in style sheets and by people.
    lines
        The values of every line by its name; NaN where there is none.
    places, times
        Where they lie: pulls, and Unix times where there are any.
    low, high
        The ends of the scale.
    level
        A value that is marked across the chart.
    marks
        Places that are marked at the upper edge, with what happened there.
    words
        What is said of a line in place of its last value.
    percent
        Whether values are shares.
    foot
        What is said at the two ends of the lower edge.
    """

    kind: str
    title: str
    lines: Mapping[str, Sequence[float]]
    places: Sequence[float]
    low: float
    high: float
    times: Sequence[float] = ()
    level: float | None = None
    marks: Sequence[tuple[float, str]] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    percent: bool = True
    foot: tuple[str, str] = ("", "")

    @property
    def data(self) -> str:
        """What a script needs to draw it, as JSON."""
        columns = [[None if math.isnan(value) else round(value, 4) for value in one] for one in self.lines.values()]
        times = [round(at, 1) for at in self.times]
        about = {"names": list(self.lines), "columns": columns, "pulls": list(self.places), "times": times}
        ends = {"low": self.low, "high": self.high, "level": self.level, "marks": [list(mark) for mark in self.marks]}
        return json.dumps({**about, **ends}, separators=(",", ":"))

    def text(self, value: float) -> str:
        """Return a value as it is read."""
        if math.isnan(value):
            return "-"
        return f"{value:.0%}" if self.percent else number_text(value, (self.high - self.low) / 20)


def evidence_chart(series: Series, status: Status | None = None) -> str:
    """Return how the evidence of every objective came near what is needed, over the pulls.

    Of one that is decided the evidence may fall later, which undoes nothing.
    """
    columns = [
        [max(float(value), 0.0) / series.threshold if math.isfinite(value) else 0.0 for value in column]
        for column in series.evidence.T
    ]
    lines = dict(zip(series.problem.objective_names, columns, strict=True))
    top = 1.08 * max([1.0, *(value for column in columns for value in column)])
    made = [] if status is None else zip(lines, status.verdict.decisions, strict=True)
    decided = {name: decision.pull for name, decision in made if decision is not None}
    return line_chart(
        LineChart(
            "evidence",
            "Evidence, as a share of what a decision takes",
            lines,
            series.pulls.tolist(),
            0.0,
            top,
            series.at.tolist(),
            level=1.0,
            marks=[(pull, f"{name} decided") for name, pull in decided.items()],
            words=dict.fromkeys(decided, "decided"),
            foot=_pulls(series),
        )
    )


def allocation_chart(series: Series) -> str:
    """Return which share of the assignments went to each arm, over the pulls; those with the most of them."""
    shares = (series.asked.T / series.asked.sum(axis=1).clip(1)).tolist()
    lines = dict(zip(series.problem.arms, shares, strict=True))
    if len(series):
        most = sorted(lines, key=lambda arm: -lines[arm][-1])[: len(DASHES)]
        lines = {arm: lines[arm] for arm in lines if arm in most}
    top = min(1.0, 1.1 * max([0.1, *(value for column in lines.values() for value in column)]))
    rest = len(series.problem.arms) - len(lines)
    title = "Share of the samples" + (f" (the {len(lines)} arms with the most)" if rest > 0 and len(series) else "")
    places, times = series.pulls.tolist(), series.at.tolist()
    return line_chart(LineChart("allocation", title, lines, places, 0.0, top, times, foot=_pulls(series)))


def _pulls(series: Series) -> tuple[str, str]:
    return "0", f"{int(series.pulls[-1]):,} samples" if len(series) else ""


def drift_charts(series: Series, status: Status) -> list[str]:
    """Return per metric the mean of every arm in each tenth of the samples: novelty wears off, and seasons show."""
    if len(series) < 2 * _TENTHS:
        return []
    shown = arms_to_show(status.verdict, status.pulls)
    order = sorted(shown, key=lambda i: -int(status.pulls[i].sum()))[: len(DASHES)]
    borders = _borders(series)
    return [_drift(series, status, m, sorted(order), borders) for m in range(len(series.problem.metrics))]


def _borders(series: Series) -> list[int]:
    """Return the points that are next to each tenth of the samples."""
    pulls = series.pulls.tolist()
    return [min(range(len(pulls)), key=lambda n: abs(pulls[n] - pulls[-1] * k / _TENTHS)) for k in range(1, _TENTHS)]


def _drift(series: Series, status: Status, m: int, arms: Sequence[int], borders: Sequence[int]) -> str:
    lines = {}
    for i in arms:
        counts = [0, *(int(series.rewards[n, i, m]) for n in borders), int(status.pulls[i, m])]
        means = [0.0, *(float(series.means[n, i, m]) for n in borders), float(status.means[i, m])]
        sums = [0.0 if count == 0 else count * mean for count, mean in zip(counts, means, strict=True)]
        lines[series.problem.arms[i]] = [
            (sums[k + 1] - sums[k]) / (counts[k + 1] - counts[k]) if counts[k + 1] > counts[k] else math.nan
            for k in range(_TENTHS)
        ]
    scale = Scale(value for column in lines.values() for value in column)
    whole = {
        name: f"{number_text(float(status.means[i, m]), (scale.high - scale.low) / 20)} in all"
        for name, i in zip(lines, arms, strict=True)
    }
    title = f"{series.problem.metric_names[m]}: mean per tenth of the samples"
    places = [float(k + 1) for k in range(_TENTHS)]
    chart = LineChart(
        "drift",
        title,
        lines,
        places,
        scale.low,
        scale.high,
        words=whole,
        percent=False,
        foot=("first tenth", "last tenth"),
    )
    return line_chart(chart)


def line_chart(chart: LineChart) -> str:
    """Draw lines: they fill any width, while texts and strokes keep their size."""
    kind, title = chart.kind, escape(chart.title)
    if not chart.places:
        return f'<figure class="{kind}"><figcaption>{title}</figcaption><p class="quiet">No reports yet.</p></figure>'
    first, last = (0.0 if chart.times else chart.places[0]), chart.places[-1]

    def across(place: float) -> float:
        return 1000 * (place - first) / ((last - first) or 1.0)

    def down(value: float) -> float:
        return 1000 * (1 - (value - chart.low) / ((chart.high - chart.low) or 1.0))

    drawn = []
    if chart.level is not None:
        y = down(chart.level)
        drawn.append(f'<line class="level" x1="0" y1="{y:.1f}" x2="1000" y2="{y:.1f}"/>')
    for place, _ in chart.marks:
        drawn.append(f'<line class="mark" x1="{across(place):.1f}" y1="0" x2="{across(place):.1f}" y2="60"/>')
    for n, column in enumerate(chart.lines.values()):
        known = [(p, v) for p, v in zip(chart.places, column, strict=True) if not math.isnan(v)]
        points = " ".join(f"{across(place):.1f},{down(value):.1f}" for place, value in known)
        drawn.append(f'<polyline {stroke(n)} points="{points}"/>')
    space = ' viewBox="0 0 1000 1000" preserveAspectRatio="none"'
    picture = f'<div class="frame">{_vertical(chart)}{svg("lines", "".join(drawn), space)}</div>'
    foot = f'<p class="foot"><span>{chart.foot[0]}</span><span>{chart.foot[1]}</span></p>'
    data = f' data-lines="{escape(chart.data)}"' if chart.times else ""
    return (
        f'<figure class="{kind}"{data}><figcaption>{title}</figcaption>{picture}{foot}{_keys(chart)}{_table(chart)}'
        "</figure>"
    )


def _vertical(chart: LineChart) -> str:
    """Return the axis at the left: numbers, and lines that reach into the chart."""
    scale = Scale([])
    scale.low, scale.high = chart.low, chart.high
    parts = []
    for tick in scale.ticks():
        y = 100 - scale.place(tick)
        text = f"{tick:.0%}" if chart.percent else tick_text(tick)
        parts.append(line("tick", 88, y, 100, y) + label(text, 80, min(max(y, 5), 97), "end"))
    return svg("side", "".join(parts))


def _keys(chart: LineChart) -> str:
    """Return which line is which, and where each ends."""
    parts = []
    for n, (name, column) in enumerate(chart.lines.items()):
        key = svg("key", f'<line {stroke(n)} x1="0" y1="50%" x2="100%" y2="50%"/>')
        words = chart.words.get(name, chart.text(column[-1]))
        parts.append(f"<li>{key}{escape(name)} <b>{escape(words)}</b></li>")
    return f'<ul class="keys">{"".join(parts)}</ul>'


def _table(chart: LineChart) -> str:
    """Return some of the numbers as a table, for those who would rather read."""
    count = len(chart.places)
    chosen = sorted({round(k * (count - 1) / (_MOST_ROWS - 1)) for k in range(_MOST_ROWS)})
    columns = list(chart.lines.values())
    rows = [[f"{chart.places[n]:,g}", *(chart.text(column[n]) for column in columns)] for n in chosen]
    header = ["samples" if chart.times else "tenth", *chart.lines]
    table = to_rows(Table(header, rows, left=0))
    return f"<details><summary>As a table</summary>{wide(table, chart.title)}</details>"


def stroke(n: int) -> str:
    """Return how the n-th line is drawn: in a colour, and with dashes for those who see none."""
    dash = DASHES[n % len(DASHES)]
    return f'class="line-{n % len(DASHES)}"' + (f' stroke-dasharray="{dash}"' if dash else "")
