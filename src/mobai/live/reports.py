"""Reports of what was measured: checked, and reduced to what is new in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from mobai.errors import InputError
from mobai.live.assignments import DROPPED, Assignment
from mobai.live.state import State
from mobai.problem import FloatArray

Metrics = Mapping[str, float | None]


def number_of(state: State, assignment: Assignment | int) -> int:
    """Give the id of an assignment, given as such or as its id; refuse one that was handed out elsewhere."""
    if not isinstance(assignment, Assignment):
        return assignment
    arm = state.problem.arms[state.assignments.arm(assignment.id)]
    if arm != assignment.arm:
        raise InputError(f"assignment {assignment.id} is for the arm {arm!r} here, not {assignment.arm!r}")
    return assignment.id


def only_new(state: State, reports: Iterable[tuple[Assignment | int, Metrics]]) -> list[tuple[int, dict[str, float]]]:
    """Check reports and leave out what was told before; a later one in the list may add to an earlier one."""
    seen: dict[int, dict[str, float]] = {}
    fresh: list[tuple[int, dict[str, float]]] = []
    for assignment, metrics in reports:
        number = number_of(state, assignment)
        if state.assignments.status(number) == DROPPED:
            raise InputError(f"assignment {number} was dropped and cannot be answered")
        known = seen.setdefault(number, _there(state, state.assignments.rewards(number)))
        given = _measured(state, metrics)
        for name, value in given.items():
            if known.get(name, value) != value:
                raise InputError(f"assignment {number}: {name!r} was {known[name]!r} before, and is {value!r} now")
        new = {name: value for name, value in given.items() if name not in known}
        if new:
            fresh.append((int(number), new))
        known.update(given)
    return fresh


def _measured(state: State, metrics: Metrics) -> dict[str, float]:
    """Check the metrics of a report, and leave out missing ones."""
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping from objectives to numbers, not {metrics!r}")
    found = _there(state, state.problem.check_rewards(metrics))
    if not found:
        raise InputError("metrics: none was measured; an assignment that brings nothing is dropped")
    return found


def _there(state: State, rewards: FloatArray) -> dict[str, float]:
    """Give rewards by name, without those that are missing."""
    pairs = zip(state.problem.objective_names, rewards.tolist(), strict=True)
    return {name: value for name, value in pairs if not math.isnan(value)}
