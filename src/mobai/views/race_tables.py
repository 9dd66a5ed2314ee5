"""How every arm stands to the leader of an objective, where all are measured on the same things."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mobai.document import Table
from mobai.views.words import interval_text, number_text

if TYPE_CHECKING:
    from mobai.analysis.analyse import Analysis
    from mobai.engine.standings import Standing
    from mobai.live.status import Status

_MOST_ROWS = 40


def standings_tables(status: Status | Analysis) -> list[Table]:
    """Return a table per objective: how every arm stands to the leader; none without items or rounds."""
    if not status.standings:
        return []
    verdict = status.verdict
    leaders = {name: verdict.answers[m] for m, name in enumerate(verdict.problem.objective_names)}
    return [_standings(name, leader, status) for name, leader in leaders.items()]


def _standings(name: str, leader: str, status: Status | Analysis) -> Table:
    own = [one for one in status.standings if one.objective == name]
    own.sort(key=lambda one: (one.arm != leader, -one.measured))
    wins = status.verdict.problem.objectives[status.verdict.problem.objective_names.index(name)].family.counts_wins
    what = "wins less losses" if wins else "difference"
    rows = [[one.arm, _fate(one, leader, status), f"{one.measured:,}", _difference(one, leader)] for one in own]
    to = leader if leader in status.verdict.problem.arms else own[0].arm
    header = [name, "state", "measured", f"{what} to {to} (interval)"]
    return Table(header, rows[:_MOST_ROWS], left=2)


def _fate(one: Standing, leader: str, status: Status | Analysis) -> str:
    """Return what has become of an arm."""
    m = status.verdict.problem.objective_names.index(one.objective)
    decided = status.verdict.decisions[m] is not None
    if one.out_at is not None and not (decided and one.arm == leader):
        return f"out at {one.out_at:,}, {'breaks a limit' if one.out_by is None else f'by {one.out_by}'}"
    if one.arm == leader:
        return "decided" if decided else "leads" if status.verdict.leading[m] else ""
    return "equal" if decided and one.lower == one.upper == 0 else "left"


def _difference(one: Standing, leader: str) -> str:
    if one.arm == leader or one.difference is None:
        return "-"
    low, high = (
        math.copysign(math.inf, side) if end is None else end for end, side in ((one.lower, -1), (one.upper, 1))
    )
    return interval_text(one.difference, low, high)


def hardest_table(status: Status) -> Table | None:
    """Return the items on which leaders lose most; None if there are none."""
    if not status.hardest:
        return None
    leaders = dict(zip(status.verdict.problem.objective_names, status.verdict.answers, strict=True))
    rows = [
        [
            one.objective,
            str(one.item),
            f"{leaders[one.objective]}: {number_text(one.value, math.inf)}",
            f"{one.rival}: {number_text(one.rival_value, math.inf)}",
        ]
        for one in status.hardest
    ]
    return Table(["metric", "item", "leader", "better there"], rows, left=4)
