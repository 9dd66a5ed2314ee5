"""Reports of what was measured: checked, and reduced to what is new in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from mobai.errors import InputError
from mobai.live.assignments import DROPPED, Assignment
from mobai.live.state import Report, State

Metrics = Mapping[str, float | None]


def number_of(state: State, assignment: Assignment | int) -> int:
    """Give the id of an assignment, given as such or as its id; refuse one that was handed out elsewhere."""
    if not isinstance(assignment, Assignment):
        return state.assignments.check(assignment)
    number = state.assignments.check(assignment.id)
    arm = state.problem.arms[state.assignments.arm(number)]
    if arm != assignment.arm:
        raise InputError(f"assignment {number} is for the arm {arm!r} here, not {assignment.arm!r}")
    return number


def only_new(state: State, reports: Iterable[tuple[Assignment | int, Metrics]]) -> list[Report]:
    """Check reports and leave out what was told before; a later one in the list may add to an earlier one."""
    told: dict[int, list[float]] = {}
    fresh: list[Report] = []
    for assignment, metrics in reports:
        number = number_of(state, assignment)
        if state.assignments.status(number) == DROPPED:
            raise InputError(f"assignment {number} was dropped and cannot be answered")
        known = told.setdefault(number, state.assignments.rewards(number))
        rewards = _measured(state, metrics)
        for m, reward in enumerate(rewards):
            if math.isnan(known[m]):
                known[m] = reward
            elif reward == known[m]:
                rewards[m] = math.nan
            elif not math.isnan(reward):
                name = state.problem.objective_names[m]
                raise InputError(f"assignment {number}: {name!r} was {known[m]!r} before, and is {reward!r} now")
        if not all(map(math.isnan, rewards)):
            fresh.append((number, rewards))
    return fresh


def body_of(state: State, reports: list[Report]) -> dict[str, Any]:
    """Write reports down for the journal, without what is missing."""
    names = state.problem.objective_names
    return {
        "reports": [
            (number, {name: reward for name, reward in zip(names, rewards, strict=True) if not math.isnan(reward)})
            for number, rewards in reports
        ]
    }


def _measured(state: State, metrics: Metrics) -> list[float]:
    """Check the metrics of a report."""
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping from objectives to numbers, not {metrics!r}")
    rewards = state.problem.check_rewards(metrics)
    if all(map(math.isnan, rewards)):
        raise InputError("metrics: none was measured; an assignment that brings nothing is dropped")
    return rewards
