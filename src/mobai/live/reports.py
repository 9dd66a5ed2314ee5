"""Reports of what was measured: checked, and reduced to what is new in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mobai.errors import InputError
from mobai.live.assignments import DROPPED, PENDING, Assignment
from mobai.live.state import State

Metrics = Mapping[str, float | None]


def number_of(assignment: Assignment | int) -> int:
    """Give the id of an assignment, given as such or as its id."""
    return assignment.id if isinstance(assignment, Assignment) else assignment


def only_new(state: State, reports: Sequence[tuple[int, Metrics]]) -> list[tuple[int, dict[str, float]]]:
    """Check reports and leave out what was told before; a later one in the list may add to an earlier one."""
    names = state.problem.objective_names
    seen: dict[int, dict[str, float]] = {}
    fresh: list[tuple[int, dict[str, float]]] = []
    for number, metrics in reports:
        if not isinstance(metrics, Mapping):
            raise InputError(f"metrics must be a mapping from objectives to numbers, not {metrics!r}")
        values = dict(zip(names, state.problem.check_rewards(metrics).tolist(), strict=True))
        status = state.assignments.status(number)
        if status == DROPPED:
            raise InputError(f"assignment {number} was dropped and cannot be answered")
        if number not in seen:
            told = zip(names, state.assignments.rewards(number).tolist(), strict=True)
            seen[number] = {name: value for name, value in told if not math.isnan(value)}
        known = seen[number]
        given = {name: value for name, value in values.items() if not math.isnan(value)}
        for name, value in given.items():
            if known.get(name, value) != value:
                raise InputError(f"assignment {number}: {name!r} was {known[name]!r} before, and is {value!r} now")
        new = {name: value for name, value in given.items() if name not in known}
        if new or (status == PENDING and not known and not given):
            fresh.append((int(number), new))
        known.update(given)
    return fresh
