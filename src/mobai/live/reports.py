"""Reports of what was measured: checked, and reduced to what is new in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from mobai.errors import InputError
from mobai.live.assignments import DROPPED, Assignment, Assignments
from mobai.problem import Problem

Metrics = Mapping[str, float | None]
# The number of an assignment, and one reward per objective: NaN for what is missing, or was told before.
Report = tuple[int, list[float]]


def number_of(problem: Problem, assignments: Assignments, assignment: Assignment | int) -> int:
    """Give the id of an assignment, given as such or as its id; refuse one that was handed out elsewhere."""
    if not isinstance(assignment, Assignment):
        return assignments.check(assignment)
    number = assignments.check(assignment.id)
    arm = problem.arms[assignments.arm(number)]
    if arm != assignment.arm:
        raise InputError(f"assignment {number} is for the arm {arm!r} here, not {assignment.arm!r}")
    return number


def only_new(problem: Problem, assignments: Assignments, reports: Iterable[Any]) -> list[Report]:
    """Check reports and leave out what was told before; a later one in the list may add to an earlier one."""
    told: dict[int, list[float]] = {}
    fresh: list[Report] = []
    for assignment, metrics in map(_pair, reports):
        number = number_of(problem, assignments, assignment)
        if assignments.status(number) == DROPPED:
            raise InputError(f"assignment {number} was dropped and cannot be answered")
        known = told.setdefault(number, assignments.rewards(number))
        rewards = _measured(problem, metrics)
        for m, reward in enumerate(rewards):
            if math.isnan(known[m]):
                known[m] = reward
            elif reward == known[m]:
                rewards[m] = math.nan
            elif not math.isnan(reward):
                name = problem.objective_names[m]
                raise InputError(f"assignment {number}: {name!r} was {known[m]!r} before, and is {reward!r} now")
        if not all(map(math.isnan, rewards)):
            fresh.append((number, rewards))
    return fresh


def body_of(problem: Problem, reports: Iterable[Report]) -> dict[str, Any]:
    """Write reports down for the journal, without what is missing."""
    found = []
    for number, rewards in reports:
        pairs = zip(problem.objective_names, rewards, strict=True)
        found.append([number, {name: reward for name, reward in pairs if not math.isnan(reward)}])
    return {"reports": found}


def _pair(report: Any) -> tuple[Any, Any]:
    try:
        assignment, metrics = report
    except (TypeError, ValueError):
        raise InputError(f"reports must be pairs of an assignment and its metrics, not {report!r}") from None
    return assignment, metrics


def _measured(problem: Problem, metrics: Metrics) -> list[float]:
    """Check the metrics of a report."""
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping from objectives to numbers, not {metrics!r}")
    rewards = problem.check_rewards(metrics)
    if all(map(math.isnan, rewards)):
        raise InputError("metrics: none was measured; an assignment that brings nothing is dropped")
    return rewards
