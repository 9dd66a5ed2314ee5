"""Intervals, one below the other: the arms of a metric, or any numbers that have one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mobai.views.charts.scale import Scale, axis, line, svg
from mobai.views.tables import MOST_ARMS, best_in
from mobai.views.words import interval_text

if TYPE_CHECKING:
    from mobai.live.status import Status


class IntervalRow(NamedTuple):
    """A row of a chart of intervals.

    ``mark`` is how its number is marked: ``decided``, ``leader`` or ``other``; ``gone`` strikes the name out, and a
    ``note`` is said beside it.
    """

    name: str
    value: float
    low: float
    high: float
    words: str
    mark: str = "other"
    gone: bool = False
    note: str = ""


class Band(NamedTuple):
    """What is drawn behind all rows: a limit with its tolerance, or a zone where differences do not matter."""

    kind: str
    low: float
    high: float


def forest(status: Status, m: int) -> str:
    """Return a table of what is known of a metric, arm by arm: its interval as a bar, its mean as a dot, both in words.

    The arm decided on has a filled dot, the leader a ring; arms that break a limit are struck out. Behind the bars lie
    the indifference zone of the leader and the limits with their tolerances.
    """
    verdict, metric = status.verdict, status.verdict.problem.metrics[m]
    shown = sorted(best_in(status, m)[:MOST_ARMS])
    rows = [_row(status, m, i) for i in shown]
    is_objective = m < len(verdict.decisions)
    goal = "" if not is_objective else ", less is better" if metric.direction == "min" else ", more is better"
    left_out = len(verdict.problem.arms) - len(shown)
    return interval_chart(
        f"{metric.name}{goal}",
        rows,
        ("arm", "interval", f"{metric.family.functional or 'mean'} (interval)"),
        _bands(status, m),
        left_out,
    )


def _row(status: Status, m: int, i: int) -> IntervalRow:
    mark, note = _mark(status, m, i)
    out = "breaks a limit" if status.barred[i] else "retired" if not status.active[i] else ""
    mean, low, high = (float(table[i, m]) for table in (status.means, *status.intervals[:2]))
    words, name = interval_text(mean, low, high), status.verdict.problem.arms[i]
    return IntervalRow(name, mean, low, high, words, mark, bool(out), out or note or _passed_over(status, m, mean))


def _passed_over(status: Status, m: int, mean: float) -> str:
    """Return why an arm does not lead although its mean is better than the leader's: it seems to break a limit."""
    verdict = status.verdict
    if m >= len(verdict.decisions) or verdict.decisions[m] is not None or verdict.recommended[m] < 0:
        return ""
    sign = verdict.problem.metrics[m].sign
    better = verdict.leading[m] and sign * mean > sign * float(status.means[verdict.recommended[m], m])
    return "seems to break a limit" if better and verdict.problem.guardrails else ""


def _mark(status: Status, m: int, i: int) -> tuple[str, str]:
    """Return how an arm is marked in a metric, and in words: decided on, leading, or neither."""
    verdict = status.verdict
    if m >= len(verdict.decisions) or verdict.recommended[m] != i:
        return "other", ""
    if verdict.decisions[m] is not None:
        return "decided", "decided"
    return ("leader", "leads") if verdict.leading[m] else ("other", "")


def _bands(status: Status, m: int) -> list[Band]:
    verdict, metric = status.verdict, status.verdict.problem.metrics[m]
    found = []
    for one in verdict.problem.guardrails:
        if one.metric == metric.name and one.limit is not None:
            beyond = one.limit + one.eps if one.at_most is not None else one.limit - one.eps
            found.append(Band("limit", *sorted((one.limit, beyond))))
    if m < len(verdict.decisions) and metric.eps > 0 and verdict.recommended[m] >= 0:
        best = float(status.means[verdict.recommended[m], m])
        if math.isfinite(best):
            found.append(Band("eps", *sorted((best, best - metric.sign * metric.eps))))
    return found


def interval_chart(
    title: str,
    rows: Sequence[IntervalRow],
    header: tuple[str, str, str],
    bands: Sequence[Band] = (),
    left_out: int = 0,
) -> str:
    """Return a table with a name, a bar and words in every row, all bars on one scale."""
    numbers = [number for row in rows for number in (row.value, row.low, row.high)]
    scale = Scale([*numbers, *(end for band in bands for end in band[1:])])
    behind = "".join(_band(scale, band) for band in bands)
    lines = [_table_row(row, scale, behind) for row in rows]
    if left_out > 0:
        lines.append(f'<tr><th scope="row">... and {left_out:,} more, among all numbers</th><td></td><td></td></tr>')
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    foot = f'<tr class="axis"><td></td><td class="bar">{axis(scale)}</td><td></td></tr>'
    return (
        f'<table class="forest"><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}{foot}</tbody></table>"
    )


def _table_row(row: IntervalRow, scale: Scale, behind: str) -> str:
    drawn = behind
    if not math.isnan(row.value):
        drawn += line("interval", scale.place(row.low), 50, scale.place(row.high), 50)
        drawn += f'<circle class="{row.mark}" cx="{scale.place(row.value):.2f}%" cy="50%" r="5"/>'
    kind = ' class="gone"' if row.gone else f' class="{row.mark}"' if row.mark != "other" else ""
    bar = f'<td class="bar">{svg("row", drawn)}</td>'
    name = f'<span class="name">{escape(row.name)}</span>' + (f" ({escape(row.note)})" if row.note else "")
    return f'<tr{kind}><th scope="row">{name}</th>{bar}<td>{escape(row.words)}</td></tr>'


def _band(scale: Scale, band: Band) -> str:
    low, high = scale.place(band.low), scale.place(band.high)
    area = f'<rect class="{band.kind}-band" x="{low:.2f}%" y="0" width="{high - low:.2f}%" height="100%"/>'
    edges = (low, high) if band.kind == "limit" else ()
    return area + "".join(line("limit", place, 0, place, 100) for place in sorted(set(edges)))
