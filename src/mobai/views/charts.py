"""Charts as HTML and SVG that need no script: for pages, reports and notebooks alike.

Nothing is styled here but by class names, and positions are percentages, so that a chart fits any width. What is drawn
is also there as text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mobai.views.tables import arms_to_show
from mobai.views.words import number_text

if TYPE_CHECKING:
    from mobai.live.status import Status
    from mobai.live.trace import Series

# How lines are told apart without colour.
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")
_ROOM = 0.04  # at the ends of a scale


def chart_style() -> str:
    """Return the style sheet that charts and reports are made for."""
    return Path(__file__).with_name("charts.css").read_text(encoding="utf-8")


class Scale:
    """Places numbers between the two ends of a chart, in percent."""

    def __init__(self, numbers: Iterable[float]) -> None:
        found = [number for number in numbers if math.isfinite(number)]
        low, high = (min(found), max(found)) if found else (0.0, 1.0)
        room = _ROOM * (high - low) or abs(high) or 1.0
        self.low, self.high = low - room, high + room

    def place(self, number: float) -> float:
        """Return where a number lies, from 0 to 100; what is beyond an end lies at it."""
        share = (number - self.low) / (self.high - self.low)
        return 100.0 * min(max(share, 0.0), 1.0) if not math.isnan(share) else 0.0

    def ticks(self) -> list[float]:
        """Return three to six round numbers between the ends."""
        span = self.high - self.low
        step = 10.0 ** math.floor(math.log10(span / 3))
        step *= max(factor for factor in (1, 2, 5) if step * factor <= span / 3)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step) + 1)]


def forest(status: Status, m: int) -> str:
    """Return a table of what is known of a metric, arm by arm: its interval as a bar, its mean as a dot, both in words.

    The arm decided on has a filled dot, the leader a ring; arms that break a limit are crossed out.
    """
    verdict, metric = status.verdict, status.verdict.problem.metrics[m]
    shown = arms_to_show(verdict, status.pulls)
    known = {i: _Known(*(float(table[i, m]) for table in (status.means, *status.intervals[:2]))) for i in shown}
    limits = [one.limit for one in verdict.problem.guardrails if one.metric == metric.name and one.limit is not None]
    scale = Scale([*(number for one in known.values() for number in one), *limits])
    rows = "".join(_forest_row(status, m, i, known[i], scale, limits) for i in shown)
    left_out = len(verdict.problem.arms) - len(shown)
    if left_out > 0:
        rows += f'<tr><th scope="row">... and {left_out:,} more</th><td></td><td></td></tr>'
    is_objective = m < len(verdict.decisions)
    goal = "" if not is_objective else ", less is better" if metric.direction == "min" else ", more is better"
    head = '<tr><th scope="col">arm</th><th scope="col">interval</th><th scope="col">mean (interval)</th></tr>'
    axis = f'<tr class="axis"><td></td><td class="bar">{_axis(scale)}</td><td></td></tr>'
    caption = f"<caption>{escape(metric.name)}{goal}</caption>"
    return f'<table class="forest">{caption}<thead>{head}</thead><tbody>{rows}{axis}</tbody></table>'


class _Known(NamedTuple):
    """What is known of an arm in a metric."""

    mean: float
    low: float
    high: float


def _forest_row(status: Status, m: int, i: int, known: _Known, scale: Scale, limits: Sequence[float]) -> str:
    mark, about = _mark(status, m, i)
    fate = " (breaks a limit)" if status.barred[i] else " (retired)" if not status.active[i] else ""
    name = escape(status.verdict.problem.arms[i]) + about + fate
    bar, kind = _interval_bar(scale, known, mark, limits), ' class="gone"' if fate else ""
    cells = f'<td class="bar">{bar}</td><td>{_interval_words(known)}</td>'
    return f'<tr{kind}><th scope="row">{name}</th>{cells}</tr>'


def _mark(status: Status, m: int, i: int) -> tuple[str, str]:
    """Return how an arm is marked in a metric, and in words: decided on, leading, or neither."""
    verdict = status.verdict
    if m >= len(verdict.decisions) or verdict.recommended[m] != i:
        return "other", ""
    if verdict.decisions[m] is not None:
        return "decided", " (decided)"
    return ("leader", " (leads)") if verdict.leading[m] else ("other", "")


def _interval_words(known: _Known) -> str:
    if math.isnan(known.mean):
        return "-"
    width = known.high - known.low
    if not math.isfinite(width):
        return f"{number_text(known.mean, math.inf)} (unknown)"
    low, high = (number_text(end, width) for end in known[1:])
    return f"{number_text(known.mean, width)} ({low} to {high})"


def _interval_bar(scale: Scale, known: _Known, mark: str, limits: Sequence[float]) -> str:
    lines = [_line("limit", scale.place(limit), 0, scale.place(limit), 100) for limit in limits]
    if not math.isnan(known.mean):
        lines.append(_line("interval", scale.place(known.low), 50, scale.place(known.high), 50))
        lines.append(f'<circle class="{mark}" cx="{scale.place(known.mean):.2f}%" cy="50%" r="5"/>')
    return f'<svg class="row" aria-hidden="true" focusable="false">{"".join(lines)}</svg>'


def _axis(scale: Scale) -> str:
    parts = []
    for tick in scale.ticks():
        place = scale.place(tick)
        anchor = "start" if place < 8 else "end" if place > 92 else "middle"
        parts.append(_line("tick", place, 0, place, 30))
        parts.append(f'<text x="{place:.2f}%" y="95%" text-anchor="{anchor}">{tick:g}</text>')
    return f'<svg class="row" aria-hidden="true" focusable="false">{"".join(parts)}</svg>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.2f}%" y1="{y1:g}%" x2="{x2:.2f}%" y2="{y2:g}%"/>'


def evidence_chart(series: Series, decided: Collection[str] = ()) -> str:
    """Return how the evidence of every objective came near what is needed, over the pulls.

    Of one that is ``decided`` the evidence may fall later, which undoes nothing.
    """
    columns = [
        [max(float(value), 0.0) / series.threshold if math.isfinite(value) else 0.0 for value in column]
        for column in series.evidence.T
    ]
    lines = dict(zip(series.problem.objective_names, columns, strict=True))
    top = 1.08 * max([1.0, *(value for column in columns for value in column)])
    words = {name: "decided" for name in lines if name in decided}
    title = "Evidence, of what a decision takes"
    return _lines_chart("evidence", title, lines, series.pulls.tolist(), top, level=1.0, words=words)


def allocation_chart(series: Series) -> str:
    """Return which share of the assignments went to each arm, over the pulls; those with the most of them."""
    shares = (series.asked.T / series.asked.sum(axis=1).clip(1)).tolist()
    lines = dict(zip(series.problem.arms, shares, strict=True))
    if len(series):
        most = sorted(lines, key=lambda arm: -lines[arm][-1])[: len(_DASHES)]
        lines = {arm: lines[arm] for arm in lines if arm in most}
    return _lines_chart("allocation", "Share of the assignments", lines, series.pulls.tolist(), 1.0)


def _lines_chart(
    kind: str,
    title: str,
    lines: Mapping[str, Sequence[float]],
    pulls: Sequence[int],
    top: float,
    level: float | None = None,
    words: Mapping[str, str] | None = None,
) -> str:
    """Draw lines over pulls: they fill any width, while texts and strokes keep their size."""
    if not pulls:
        return f'<figure class="{kind}"><figcaption>{title}: nothing has been reported yet.</figcaption></figure>'
    drawn = []
    if level is not None:
        y = 1000 * (1 - level / top)
        drawn.append(f'<line class="level" x1="0" y1="{y:.1f}" x2="1000" y2="{y:.1f}"/>')
    for n, column in enumerate(lines.values()):
        places = zip(pulls, column, strict=True)
        points = " ".join(f"{1000 * pull / pulls[-1]:.1f},{1000 * (1 - value / top):.1f}" for pull, value in places)
        drawn.append(f'<polyline {_stroke(n)} points="{points}"/>')
    keys = "".join(
        f'<li><svg class="key" aria-hidden="true"><line {_stroke(n)} x1="0" y1="50%" x2="100%" y2="50%"/></svg>'
        f"{escape(name)} {(words or {}).get(name, f'{column[-1]:.0%}')}</li>"
        for n, (name, column) in enumerate(lines.items())
    )
    space = 'viewBox="0 0 1000 1000" preserveAspectRatio="none"'
    picture = f'<svg class="lines" aria-hidden="true" focusable="false" {space}>{"".join(drawn)}</svg>'
    foot = f'<p class="foot"><span>0</span><span>{pulls[-1]:,} pulls</span></p>'
    caption = f"<figcaption>{title}</figcaption>"
    return f'<figure class="{kind}">{caption}{picture}{foot}<ul class="keys">{keys}</ul></figure>'


def _stroke(n: int) -> str:
    """Return how the n-th line is drawn: in a colour, and with dashes for those who see none."""
    dash = _DASHES[n % len(_DASHES)]
    return f'class="line-{n % len(_DASHES)}"' + (f' stroke-dasharray="{dash}"' if dash else "")
