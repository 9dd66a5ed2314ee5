"""Reports of what was measured: checked, and reduced to what is new in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mobai.errors import ConflictError, InputError, NotFoundError
from mobai.live.assignments import DROPPED, Assignment, Assignments
from mobai.live.units import NumberTable, Unit, UnitOfArm
from mobai.problem import Problem
from mobai.rows import Row, frame_rows, number_in

# A number, or None for a metric that will not come.
Metrics = Mapping[str, float | None]
# The number of an assignment, and one reward per objective: NaN for what is not told here, infinity for what will not
# come.
Report = tuple[int, list[float]]
LOST = math.inf
# The columns that say what a row is about.
_ABOUT = ("id", "unit", "arm", "status", "asked_at")


def number_of(
    problem: Problem,
    assignments: Assignments,
    assignment: Assignment | Unit | UnitOfArm | int,
    units: NumberTable | None = None,
) -> int:
    """Return the id of an assignment, given as such, as its id or by its unit; refuse one from elsewhere."""
    if isinstance(assignment, Unit):
        number = None if units is None else units.get(assignment)
        if number is None:
            raise NotFoundError("unit", f"{str(assignment)!r} has no assignment")
        return number
    if isinstance(assignment, UnitOfArm):
        found = number_of(problem, assignments, Unit(assignment.unit), units)
        return number_of(problem, assignments, Assignment(found, assignment.arm), units)
    if not isinstance(assignment, Assignment):
        return assignments.check(assignment)
    number = assignments.check(assignment.id)
    arm = problem.arms[assignments.arm(number)]
    if arm != assignment.arm:
        raise InputError(None, f"is for the arm {arm!r} here, not {assignment.arm!r}", assignment=number)
    return number


def only_new(
    problem: Problem,
    assignments: Assignments,
    reports: Iterable[Any],
    units: NumberTable | None = None,
    is_late: Callable[[int, int], bool] = lambda _, __: False,
) -> tuple[list[Report], list[Report]]:
    """Check reports and leave out what was told before; one report per assignment, in the order of their numbers.

    Return what is new, and what comes too late: ``is_late`` says that of an assignment and a metric. The order in which
    they are given changes nothing: together they are one moment.
    """
    known: dict[int, list[float]] = {}
    fresh: dict[int, list[float]] = {}
    late: dict[int, list[float]] = {}
    for assignment, metrics in map(pair_of, reports):
        number = number_of(problem, assignments, assignment, units)
        if assignments.status(number) == DROPPED:
            raise ConflictError(None, "was dropped and cannot be answered", assignment=number)
        if number not in known:
            known[number] = assignments.rewards(number)
            fresh[number], late[number] = ([math.nan] * len(problem.metrics) for _ in range(2))
        for m, reward in enumerate(_measured_of(problem, number, metrics)):
            before = known[number][m]
            if math.isnan(before):
                known[number][m] = fresh[number][m] = reward
            elif reward != before and not math.isnan(reward):
                if is_late(number, m):
                    late[number][m] = reward
                    continue
                was, now = ("said not to come" if value == LOST else repr(value) for value in (before, reward))
                raise ConflictError(
                    None,
                    f"was {was} before, and is {now} now",
                    assignment=number,
                    metric=problem.metric_names[m],
                )
    for number, rewards in known.items():
        if not has_reward(rewards) and not has_reward(late[number]):
            raise InputError(
                "metrics",
                "must hold at least one number (null may come with it, or later); drop one that was not measured",
                assignment=number,
            )
    return _with_something(fresh), _with_something(late)


def _with_something(found: dict[int, list[float]]) -> list[Report]:
    """Return reports that say anything, in the order of their numbers."""
    return [(number, found[number]) for number in sorted(found) if not all(map(math.isnan, found[number]))]


def reports_of(data: Any) -> Any:
    """Return the reports in a data frame, which has a column ``id`` or ``unit`` and one per metric; others as they are.

    A cell without a value may still come. A column ``arm`` must agree with the assignments.
    """
    rows = frame_rows(data)
    return data if rows is None else reports_in(rows, "reports")


def reports_in(rows: Iterable[Row], source: str) -> list[tuple[Assignment | Unit | int, dict[str, float | None]]]:
    """Return rows as reports; empty cells are missing, and null will not come."""
    found: list[tuple[Assignment | Unit | int, dict[str, float | None]]] = []
    for place, row in enumerate(rows, start=1):
        unit, named = row.get("unit"), row.get("id") not in (None, "")
        if named == (unit not in (None, "")):
            raise InputError(None, "must have an id or a unit", source=source, row=place)
        metrics = {key: number_in(row, key) for key, value in row.items() if key not in _ABOUT and value != ""}
        found.append((_assignment_in(row) if named else Unit(str(unit)), metrics))
    return found


def _assignment_in(row: Row) -> Assignment | int:
    arm = row.get("arm")
    given = row["id"]
    try:
        number = int(given) if isinstance(given, float) and given.is_integer() else int(str(given))
    except ValueError:
        raise InputError("id", f"must be a whole number, not {row['id']!r}") from None
    return number if arm in (None, "") else Assignment(number, str(arm))


def observations_of(data: Any) -> Any:
    """Return the observations in a data frame, which has a column ``arm`` and one per metric; others as they are."""
    rows = frame_rows(data)
    if rows is None:
        return data
    for place, row in enumerate(rows, start=1):
        if "arm" not in row:
            raise InputError("the arm is missing", row=place)
    return [(str(row["arm"]), {key: number_in(row, key) for key in row if key not in _ABOUT}) for row in rows]


def body_of(problem: Problem, reports: Iterable[Report]) -> dict[str, Any]:
    """Write reports down for the journal, without what is missing."""
    return {"reports": [[number, named(problem, rewards)] for number, rewards in reports]}


def named(problem: Problem, rewards: list[float]) -> dict[str, float | None]:
    """Return rewards by the names of their objectives, without what is missing; None for what will not come."""
    pairs = problem.named(rewards).items()
    return {name: None if reward == LOST else reward for name, reward in pairs if not math.isnan(reward)}


def _measured_of(problem: Problem, number: int, metrics: Metrics) -> list[float]:
    """Return what was measured of an assignment, which every complaint names."""
    try:
        return measured(problem, metrics)
    except InputError as error:
        raise error.within(assignment=number) from None


def pair_of(report: Any) -> tuple[Any, Any]:
    """Return the two parts of a report."""
    try:
        first, metrics = report
    except (TypeError, ValueError):
        raise InputError("reports", f"must be pairs of an assignment (or arm) and metrics, not {report!r}") from None
    return first, metrics


def measured(problem: Problem, metrics: Metrics) -> list[float]:
    """Return one reward per objective, NaN for what is missing, infinity for what will not come (None)."""
    if not isinstance(metrics, Mapping):
        raise InputError("metrics", f"must be a mapping from objectives to numbers, not {metrics!r}")
    if not metrics:
        raise InputError("metrics", "must hold at least one number")
    rewards = problem.check_rewards(metrics)
    lost = {m for name, value in metrics.items() if value is None for m in problem.readers(name)}
    for m in lost:
        metric = problem.metrics[m]
        if metric.window is not None:
            raise InputError(
                None,
                f"has a window, and counts as {metric.otherwise:g} when that is over; report a number, or leave it out",
                metric=metric.name,
            )
    return [LOST if m in lost else reward for m, reward in enumerate(rewards)]


def has_reward(rewards: list[float]) -> bool:
    """Whether there is any number among them."""
    return any(map(math.isfinite, rewards))


def without_lost(rewards: list[float]) -> list[float]:
    """Return rewards with NaN for those that will not come."""
    return [math.nan if reward == LOST else reward for reward in rewards]
