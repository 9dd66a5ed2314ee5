"""Lines over the pulls: evidence and allocation, and how any lines are drawn."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from mobai.document import Table, to_rows
from mobai.views.charts.scale import Scale, label, line, svg
from mobai.views.charts.style import wide
from mobai.views.words import number_text

if TYPE_CHECKING:
    from mobai.live.status import Status
    from mobai.live.trace import Series

MOST_LINES = 6  # that the style sheet tells apart
_MOST_ROWS = 10  # of the table beside a chart
_LEAST_APART = 4  # of a thousand
_MOST_EVIDENCE = 1.5  # of what a decision takes: more says nothing more


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
    keyed
        Whether it says which line is which; another chart may say it for all.
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
    keyed: bool = True

    @property
    def data(self) -> str:
        """What a script needs to draw it, as JSON."""
        columns = [[None if math.isnan(value) else round(value, 3) for value in one] for one in self.lines.values()]
        start = self.times[0] if self.times else 0.0
        times = [round(at - start, 1) for at in self.times]  # seconds since the first
        places = {"pulls": list(self.places), "start": round(start, 1), "times": times}
        about = {"names": list(self.lines), "columns": columns, **places}
        ends = {"low": self.low, "high": self.high, "level": self.level, "marks": [list(mark) for mark in self.marks]}
        return json.dumps({**about, **ends}, separators=(",", ":"))

    def text(self, value: float) -> str:
        """Return a value as it is read."""
        if math.isnan(value):
            return "-"
        return f"{value:.0%}" if self.percent else number_text(value, self.high - self.low)


def evidence_chart(series: Series, status: Status | None = None) -> str:
    """Return how the evidence of every objective came near what is needed, over the pulls, up to a status.

    The line of one that is decided touches the level at the pull that decided it. The evidence may fall later, which
    undoes nothing.
    """
    rows, places, times = series.evidence.tolist(), series.pulls.tolist(), series.at.tolist()
    decided: dict[str, int] = {}
    if status is not None:
        verdict = status.verdict
        made = zip(series.problem.objective_names, verdict.decisions, strict=True)
        decided = {name: decision.pull for name, decision in made if decision is not None}
        if _is_later(series, status):
            rows, places = [*rows, verdict.evidence.tolist()], [*places, verdict.pulls]
            times = [*times, status.last_report_at or times[-1]]
        for m, decision in enumerate(verdict.decisions):
            if decision is not None and places:
                n = _enter(rows, places, times, decision.pull)
                rows[n][m] = max(rows[n][m], decision.evidence or 0.0, series.threshold)
    shares = [
        [min(max(value, 0.0) / series.threshold, _MOST_EVIDENCE) if math.isfinite(value) else 0.0 for value in row]
        for row in rows
    ]
    columns = list(map(list, zip(*shares, strict=True))) or [[] for _ in series.problem.objectives]
    lines = dict(zip(series.problem.objective_names, columns, strict=True))
    top = 1.08 * max([1.0, *(value for column in columns for value in column)])
    return line_chart(
        LineChart(
            "evidence",
            "Evidence, as a share of what a decision takes",
            lines,
            places,
            0.0,
            top,
            times,
            level=1.0,
            marks=[(pull, f"{name} decided") for name, pull in decided.items()],
            words=dict.fromkeys(decided, "decided"),
            foot=_foot(places),
        )
    )


def allocation_chart(series: Series, status: Status | None = None) -> str:
    """Return which share of the assignments went to each arm, over the pulls, up to a status; those with the most."""
    rows, places, times = series.asked.tolist(), series.pulls.tolist(), series.at.tolist()
    if status is not None and _is_later(series, status):
        rows, places = [*rows, status.asked.tolist()], [*places, status.verdict.pulls]
        times = [*times, status.last_report_at or times[-1]]
    totals = [max(sum(row), 1) for row in rows]
    shares = [[count / total for count in row] for row, total in zip(rows, totals, strict=True)]
    order = sorted(range(len(series.problem.arms)), key=lambda i: -shares[-1][i] if shares else i)[:MOST_LINES]
    lines = {series.problem.arms[i]: [row[i] for row in shares] for i in sorted(order)}
    top = min(1.0, 1.1 * max([0.1, *(value for column in lines.values() for value in column)]))
    rest = len(series.problem.arms) - len(lines)
    title = "Share of the samples" + (f" (the {len(lines)} arms with the most)" if rest > 0 and places else "")
    return line_chart(LineChart("allocation", title, lines, places, 0.0, top, times, foot=_foot(places)))


def _enter(rows: list[list[float]], places: list[int], times: list[float], place: int) -> int:
    """Return where a place is among the points, after entering one between its neighbours if it was not."""
    n = bisect_left(places, place)
    if n < len(places) and places[n] == place:
        return n
    after = min(n, len(places) - 1)
    before = max(n - 1, 0)
    share = (place - places[before]) / ((places[after] - places[before]) or 1)
    ends = zip(rows[before], rows[after], strict=True)
    rows.insert(n, [low + share * (high - low) if math.isfinite(high - low) else low for low, high in ends])
    times.insert(n, times[before] + share * (times[after] - times[before]))
    places.insert(n, place)
    return n


def _is_later(series: Series, status: Status) -> bool:
    """Whether more was told since the last point."""
    return len(series) > 0 and status.verdict.pulls > int(series.pulls[-1])


def _foot(places: Sequence[int]) -> tuple[str, str]:
    return "0", f"{places[-1]:,} samples" if places else ""


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
    marked = {across(place) for place, _ in chart.marks}
    for n, column in enumerate(chart.lines.values()):
        places = [across(place) for place in chart.places]
        known = [(x, down(value)) for x, value in zip(places, column, strict=True) if not math.isnan(value)]
        if len(known) == 1:  # a point alone would not be seen
            known = [(known[0][0] - 10, known[0][1]), *known]
        points = " ".join(f"{x:.0f},{y:.0f}" for x, y in _apart(known, marked))
        drawn.append(f'<polyline {stroke(n)} points="{points}"/>')
    space = ' viewBox="0 0 1000 1000" preserveAspectRatio="none"'
    picture = f'<div class="frame">{_vertical(chart)}{svg("lines", "".join(drawn), space)}</div>'
    foot = f'<p class="foot"><span>{chart.foot[0]}</span><span>{chart.foot[1]}</span></p>'
    data = f' data-lines="{escape(chart.data)}"' if chart.times else ""
    return (
        f'<figure class="{kind}"{data}><figcaption>{title}</figcaption>{picture}{foot}'
        f"{_keys(chart) if chart.keyed else ''}{_table(chart)}"
        "</figure>"
    )


def _apart(points: Sequence[tuple[float, float]], marked: Collection[float]) -> Iterator[tuple[float, float]]:
    """Yield the points that can be told apart from left to right, with those that are marked and the last one."""
    before = -math.inf
    for n, (x, y) in enumerate(points):
        if x - before >= _LEAST_APART or x in marked or n == len(points) - 1:
            before = x
            yield x, y


def _vertical(chart: LineChart) -> str:
    """Return the axis at the left: numbers, and lines that reach into the chart."""
    scale = Scale([])
    scale.low, scale.high = chart.low, chart.high
    parts = []
    for tick in scale.ticks():
        y = 100 - scale.place(tick)
        text = f"{tick:.0%}" if chart.percent else scale.text(tick)
        parts.append(line("tick", 88, y, 100, y) + label(text, 80, min(max(y, 5), 97), "end"))
    return svg("side", "".join(parts))


def _keys(chart: LineChart) -> str:
    """Return which line is which, and where each ends."""
    words = {name: chart.words.get(name, chart.text(column[-1])) for name, column in chart.lines.items()}
    return line_keys(words)


def line_keys(words: Mapping[str, str]) -> str:
    """Return which line is which, by its name, with some words on each."""
    parts = []
    for n, (name, text) in enumerate(words.items()):
        key = svg("key", f'<line {stroke(n)} x1="0" y1="50%" x2="100%" y2="50%"/>')
        parts.append(f"<li>{key}{escape(name)}{f' <b>{escape(text)}</b>' if text else ''}</li>")
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
    return f'class="line-{n % MOST_LINES}"'
