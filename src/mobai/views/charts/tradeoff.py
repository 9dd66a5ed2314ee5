"""Two metrics against each other: which arms are certainly, possibly, or certainly not among the best trade-offs."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.document import Table, to_rows
from mobai.views.charts.scale import Scale, label, line, svg
from mobai.views.charts.style import wide
from mobai.views.tables import arms_to_show
from mobai.views.words import interval_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mobai.live.status import Status

_WORDS = {
    "certain": "no arm that takes part is better in both",
    "possible": "undecided",
    "dominated": "another arm is better in both",
}
_MOST_LISTED = 50  # arms in the table; of more, those that are drawn
# The room that a number takes beside its mark, in percent of a narrow chart.
_WIDE, _HIGH = 6.0, 6.0
# Where it may lie: in percent of such a chart, and in pixels.
_BESIDE = {(5, 0): (14, 4), (-5, 0): (-14, 4), (0, -6): (0, -11), (0, 7): (0, 19)}


class _Box(NamedTuple):
    """An arm in the plane: where its intervals and its means lie, in percent."""

    arm: int
    left: float
    right: float
    top: float
    bottom: float
    x: float
    y: float


def standings(status: Status, first: int, second: int) -> dict[int, str]:
    """Return how arms stand in two objectives: ``certain``, ``possible`` or ``dominated``, as is proven.

    What the intervals and the decisions say holds at once with probability 1 - delta, and so does this. Arms that are
    out are left out; of one without rewards nothing is known.
    """
    arms = np.flatnonzero(status.active & ~status.barred)
    one, two = (_is_better(status, m)[np.ix_(arms, arms)] for m in (first, second))
    dominated = (one & two).any(axis=0)
    certain = (one | two | np.eye(len(arms), dtype=bool)).all(axis=1)
    words = np.where(dominated, "dominated", np.where(certain, "certain", "possible"))
    return dict(zip(arms.tolist(), words.tolist(), strict=True))


def _is_better(status: Status, m: int) -> npt.NDArray[np.bool_]:
    """Return which arm (row) is proven to be better than which (column) in an objective."""
    low, high = _oriented(status, m)
    verdict = status.verdict
    decision = verdict.decisions[m] if verdict.certified and verdict.problem.objectives[m].eps == 0 else None
    best = None if decision is None or not status.intervals.fitted else decision.arm
    limits = range(len(verdict.problem.guardrails))
    # A rival that breaks a limit may be out of the way of a decision without being worse.
    broken = np.array([any(verdict.limit_status(c, i) == "broken" for c in limits) for i in range(len(low))])
    better: npt.NDArray[np.bool_] = low[:, None] > high[None, :]
    if best is not None and best >= 0:
        better[best] |= ~broken
        better[best, best] = False
    return better


def _oriented(status: Status, m: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the ends of the intervals such that more is better."""
    lower, upper = status.intervals.lower[:, m], status.intervals.upper[:, m]
    return (lower, upper) if status.verdict.problem.metrics[m].direction == "max" else (-upper, -lower)


def tradeoff_chart(status: Status, first: int, second: int) -> str:
    """Return two metrics against each other, each arm as a box of its two intervals."""
    problem = status.verdict.problem
    names = [problem.metric_names[m] for m in (first, second)]
    title = f"{names[1]} against {names[0]}"
    found = standings(status, first, second)
    seen = [i for i in found if all(math.isfinite(status.means[i, m]) for m in (first, second))]
    if not seen:
        return _figure(title, '<p class="quiet">No reports yet.</p>')
    shown = [i for i in arms_to_show(status.verdict, status.rewards) if i in seen]
    scales = [_scale(status, m, shown) for m in (first, second)]
    boxes = [_box(status, i, (first, second), scales) for i in shown]
    number = {i: n for n, i in enumerate(shown, start=1)}
    drawn = "".join(_drawn(box, found[box.arm]) for box in boxes) + _numbers(boxes, number)
    across, up = (f"{name} ({_goal(status, m)})" for name, m in zip(names, (first, second), strict=True))
    plane = (
        f'<p class="up">{escape(up)}</p><div class="frame">{_side(scales[1])}{svg("plane", drawn)}</div>'
        f'<div class="frame below">{svg("side", "")}{_foot(scales[0])}</div><p class="across">{escape(across)}</p>'
    )
    return _figure(title, plane + _keys() + _table(status, (first, second), found, number))


def _figure(title: str, content: str) -> str:
    return f'<figure class="tradeoff"><figcaption>{escape(title)}</figcaption>{content}</figure>'


def _goal(status: Status, m: int) -> str:
    return "less is better" if status.verdict.problem.metrics[m].direction == "min" else "more is better"


def _scale(status: Status, m: int, shown: Sequence[int]) -> Scale:
    """Return a scale for the means, and for as much of the intervals as leaves the means apart."""
    means = [float(status.means[i, m]) for i in shown]
    room = 1.5 * ((max(means) - min(means)) or abs(means[0]) or 1.0)
    ends = [float(end) for table in status.intervals[:2] for end in table[shown, m]]
    low, high = min(means) - room, max(means) + room
    return Scale([*means, *(min(max(end, low), high) for end in ends)])


def _box(status: Status, i: int, metrics: tuple[int, int], scales: Sequence[Scale]) -> _Box:
    (left, right, x), (low, high, y) = (
        [scale.place(float(table[i, m])) for table in (*status.intervals[:2], status.means)]
        for scale, m in zip(scales, metrics, strict=True)
    )
    return _Box(i, left, right, 100 - high, 100 - low, x, 100 - y)


def _drawn(box: _Box, standing: str) -> str:
    size = f'width="{box.right - box.left:.2f}%" height="{box.bottom - box.top:.2f}%"'
    area = f'<rect class="box {standing}" x="{box.left:.2f}%" y="{box.top:.2f}%" {size}/>'
    return area + _mark(standing, f'x="{box.x:.2f}%" y="{box.y:.2f}%"')


def _mark(standing: str, place: str) -> str:
    """Return a mark that is told from others by its shape."""
    shapes = {
        "certain": '<path d="M0-7 7 0 0 7-7 0Z"/>',
        "possible": '<circle r="5"/>',
        "dominated": '<path d="M-5-5 5 5M-5 5 5-5"/>',
    }
    return f'<svg class="at {standing}" {place}>{shapes[standing]}</svg>'


def _numbers(boxes: Sequence[_Box], number: dict[int, int]) -> str:
    """Return a number beside each mark, where there is room for it in a narrow chart."""
    taken = [(box.x, box.y) for box in boxes]
    parts = []
    for box in boxes:
        for (right, down), beside in _BESIDE.items():
            x, y = box.x + right, box.y + down
            free = all(abs(x - a) > _WIDE or abs(y - b) > _HIGH for a, b in taken if (a, b) != (box.x, box.y))
            if free and 2 < x < 98 and 3 < y < 97:
                taken.append((x, y))
                parts.append(label(str(number[box.arm]), box.x, box.y, beside=beside))
                break
    return "".join(parts)


def _side(scale: Scale) -> str:
    places = [(tick, 100 - scale.place(tick)) for tick in scale.ticks()]
    parts = (line("tick", 88, y, 100, y) + label(scale.text(tick), 80, y + 1.5, "end") for tick, y in places)
    return svg("side", "".join(parts))


def _foot(scale: Scale) -> str:
    places = [(tick, scale.place(tick)) for tick in scale.ticks()]
    return svg("row", "".join(line("tick", x, 0, x, 30) + label(scale.text(t), x, 95) for t, x in places))


def _keys() -> str:
    parts = []
    for standing, words in _WORDS.items():
        mark = _mark(standing, 'x="50%" y="50%"')
        parts.append(f"<li>{svg('shape', mark)}{words}</li>")
    return f'<ul class="keys">{"".join(parts)}</ul>'


def _table(status: Status, metrics: tuple[int, int], found: dict[int, str], number: dict[int, int]) -> str:
    problem = status.verdict.problem
    rows = []
    listed = found if len(found) <= _MOST_LISTED else {i: found[i] for i in found if i in number}
    for i, standing in listed.items():
        ends = [
            interval_text(*(float(table[i, m]) for table in (status.means, *status.intervals[:2]))) for m in metrics
        ]
        rows.append([problem.arms[i], str(number.get(i, "")), *ends, _WORDS[standing]])
    if len(listed) < len(found):
        rows.append([f"... and {len(found) - len(listed):,} more", "", "", "", ""])
    header = ["arm", "number", *(problem.metric_names[m] for m in metrics), "trade-off"]
    table = to_rows(Table(header, rows, left=5))
    return f"<details open><summary>As a table</summary>{wide(table, 'Trade-off')}</details>"
