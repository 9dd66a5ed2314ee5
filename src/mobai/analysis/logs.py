"""A log of observations: rows with an arm and metrics, checked against the problem they are taken for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError, did_you_mean
from mobai.problem import Design, FloatArray, Guardrail, IntArray, Objective, Problem
from mobai.problem.families import Ratio
from mobai.problem.problem import read_objectives
from mobai.rows import frame_columns, number_in, numbers_in, read_rows

ASSUMPTION = (
    "This holds if which arm came next, and when the collection ended, did not depend on outcomes that are not among "
    "the rows; their order does not matter."
)
ASSUMPTION_OF_ORDER = (
    "This holds if the rows are in the order in which arms were chosen, and which arm came next did not depend on its "
    "outcome."
)
NOT_LOOKED_AT = "Not looked for, since the order of the rows is not known: drift, outliers."
NOTHING_FOUND = "Looked for, and not found: drift, outliers."
# How unlikely an order must be to be called one by value or arm.
_UNLIKELY = 1e-6
Columns = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Log:
    """Observations in the order in which they were collected.

    Attributes
    ----------
    problem
        The arms found in the log (or given) and the objectives.
    arms
        The index of each row's arm.
    rewards
        Of each row: one reward per metric, NaN where it is missing.
    with_the_one_before
        Of each row: whether it has the same time as the one before; None without times.
    items
        Of each row: what was measured; None where arms were measured on different things.
    """

    problem: Problem
    arms: IntArray
    rewards: FloatArray
    with_the_one_before: npt.NDArray[np.bool_] | None = None
    items: Sequence[Any] | None = None

    def rows(self) -> Iterable[tuple[str, dict[str, float | None]]]:
        """Return the name of each row's arm and its metrics, None where missing; rows without any are left out."""
        names = self.problem.metric_names
        for arm, rewards in zip(self.arms.tolist(), self.rewards.tolist(), strict=True):
            told = {name: None if math.isnan(reward) else reward for name, reward in zip(names, rewards, strict=True)}
            if any(reward is not None for reward in told.values()):
                yield self.problem.arms[arm], told


def read_log(
    data: Any,
    objectives: Sequence[Objective | str],
    *,
    arm: str = "arm",
    arms: Sequence[str] | None = None,
    sd: npt.ArrayLike | None = None,
    guardrails: Sequence[Guardrail | str] = (),
    baseline: str | None = None,
    time: str | None = None,
    item: str | None = None,
    all_items: bool = False,
) -> Log:
    """Read observations from a file, a data frame or rows; see :func:`mobai.analyse` for what is accepted."""
    if not isinstance(arm, str):
        raise InputError("arm", f"must be the name of a column, not {arm!r}")
    columns, metrics = columns_of(data), read_objectives(objectives)
    tied = None
    if time is not None:
        columns, tied = _in_order_of(columns, time)
    guarded = [one if isinstance(one, Guardrail) else Guardrail.parse(one) for one in guardrails]
    named = [(name, "objectives") for one in metrics for name in _read_by(one.name, one.columns, columns)]
    named += [(name, "guardrails") for one in guarded for name in _read_by(one.metric, one.columns, columns)]
    if item is None and all_items:
        raise InputError("all_items", "needs item=, the column that says what was measured")
    if item == arm:
        raise InputError("item", f"must be another column than arm, {arm!r}")
    if arm in [name for name, _ in named]:
        raise InputError("arm", f"the column {arm!r} is an objective or a guardrail, too")
    for column, what in ((arm, "arm"), *named, *([] if item is None else [(item, "item")])):
        if column not in columns:
            guess = did_you_mean(column, list(columns))
            hint = "; name it with --arm-column, or arm=" if what == "arm" and not guess else guess
            raise InputError(what, f"there is no column {column!r}; there are {', '.join(map(str, columns))}{hint}")
    names = [_arm_name(cell, number) for number, cell in enumerate(columns[arm], start=1)]
    known = list(dict.fromkeys(names)) if arms is None else arms
    _check_items([] if item is None else columns[item])
    design = None if item is None else Design("items", len(set(columns[item]))) if all_items else Design("stream")
    problem = Problem(known, metrics, sd, guardrails=guarded, baseline=baseline, design=design)
    columns = {**columns, **{one.name: _column_of(one, columns) for one in problem.metrics if one.name not in columns}}
    place = {name: index for index, name in enumerate(problem.arms)}
    for number, name in enumerate(names, start=1):
        if name not in place:
            raise InputError("arm", f"must be one of {', '.join(problem.arms)}, not {name!r}", row=number)
    rewards = _table_of(problem, columns)
    items = None if item is None else columns[item]
    return Log(problem, np.array([place[name] for name in names]), rewards, tied, items)


def _read_by(name: str, reported: tuple[str, ...], columns: Columns) -> tuple[str, ...]:
    """Return which columns a metric reads: that of its own name, if there is one, else what is reported for it."""
    return (name,) if name in columns and name not in reported else reported


def _column_of(metric: Objective, columns: Columns) -> list[Any]:
    """Return the rewards of a metric that no column is called after: what it is a quantile of, or both of a ratio."""
    if not isinstance(metric.family, Ratio):
        return list(columns[metric.column])
    found: list[float | None] = []
    for number, cells in enumerate(zip(*(columns[one] for one in metric.columns), strict=True), start=1):
        try:
            row = dict(zip(metric.columns, cells, strict=True))
            above, below = (number_in(row, one) for one in metric.columns)
            whole = above is not None and below is not None
            found.append(metric.family.packed(metric.name, above or 0.0, below or 0.0) if whole else None)
        except InputError as error:
            raise error.within(row=number) from None
    return found


def columns_of(data: Any) -> Columns:
    """Return the columns of a file, a data frame or rows; at least one row."""
    columns = None if isinstance(data, str | Path) else frame_columns(data)
    if columns is None:
        if not isinstance(data, str | Path | Iterable):
            raise InputError("data", f"must be a file, a data frame or rows, not {type(data).__name__}")
        rows = read_rows(data) if isinstance(data, str | Path) else list(data)
        if not all(isinstance(row, Mapping) for row in rows):
            rows = []
        columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}
    if not any(columns.values()):
        raise InputError("data", "must be at least one row, each a mapping from column to value")
    return columns


def _table_of(problem: Problem, columns: Columns) -> FloatArray:
    """Return one reward per row and metric: column by column where they are what they should be, else row by row."""
    found = [numbers_in(columns[metric.name]) for metric in problem.metrics]
    for metric, numbers in zip(problem.metrics, found, strict=True):
        if numbers is None or not problem.accepts_all(metric, numbers[~np.isnan(numbers)]):
            cells = zip(*(columns[one.name] for one in problem.metrics), strict=True)
            return np.array([_rewards(problem, row, n) for n, row in enumerate(cells, 1)])
        if metric.otherwise is not None:
            numbers[np.isnan(numbers)] = metric.otherwise
    return np.column_stack([numbers for numbers in found if numbers is not None])


def _in_order_of(columns: Columns, column: str) -> tuple[Columns, npt.NDArray[np.bool_]]:
    """Return columns in the order of one of times, and which rows have the same time as the one before."""
    if not isinstance(column, str) or column not in columns:
        raise InputError("time", f"there is no column {column!r}; there are {', '.join(map(str, columns))}")
    given = columns[column]
    numbers = all(_is_number(value) for value in given)
    times = np.array([_time(value, column, number, numbers) for number, value in enumerate(given, start=1)])
    order = np.argsort(times, kind="stable")
    tied = np.append(False, np.diff(times[order]) == 0)
    places = order.tolist()
    return {name: [cells[n] for n in places] for name, cells in columns.items()}, tied


def _is_number(value: Any) -> bool:
    """Whether a cell holds a finite number."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _time(value: Any, column: str, number: int, numbers: bool) -> float:
    if numbers:
        return float(value)
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(column, f"must be a number or an ISO 8601 time, not {value!r}", row=number) from None


def looks_sorted(log: Log) -> list[str]:
    """Return what shows that the rows are not in the order of collection: sorted by arm, or by value.

    Sorted by arm, arms hardly ever change from one row to the next. Sorted by value, an arm's rewards rise or fall with
    their places (Spearman's correlation); sorted within days, or any other parts, each resembles the one before (the
    correlation of neighbouring ranks, after Wald and Wolfowitz). Of rows of one time, which have no order, the mean
    counts.
    """
    arms, rewards, found = log.arms, log.rewards, []
    runs, shares = int((np.diff(arms) != 0).sum()) + 1, np.bincount(arms) / max(len(arms), 1)
    seen = int((shares > 0).sum())
    expected = 1 + (len(arms) - 1) * (1 - float((shares**2).sum()))
    if len(arms) >= 20 and seen > 1 and runs <= 2 * seen and runs < expected / 5:
        found.append("the rows look sorted by arm, not in the order of collection")
    tied = log.with_the_one_before
    moments = np.arange(len(arms)) if tied is None else np.cumsum(~tied)
    for m, name in enumerate(log.problem.metric_names):
        for arm in range(log.problem.shape[0]):
            told = (arms == arm) & np.isfinite(rewards[:, m])
            _, places, sizes = np.unique(moments[told], return_inverse=True, return_counts=True)
            order = _order_of(np.bincount(places, weights=rewards[told, m]) / sizes)
            if order:
                found.append(f"{name}: the values of {log.problem.arms[arm]} {order}, not in the order of collection")
                break
    return found


def _order_of(values: Any) -> str:
    """Say what order values are in if it is far beyond chance."""
    if len(values) < 20 or (values == values[0]).all():
        return ""
    from scipy.stats import norm, rankdata, spearmanr

    correlation, chance = spearmanr(range(len(values)), values)
    if abs(correlation) > 0.5 and chance < _UNLIKELY:
        return "look sorted"
    ranks = rankdata(values) - (len(values) + 1) / 2
    likeness = float(ranks[1:] @ ranks[:-1] / (ranks @ ranks)) + 1 / len(values)
    if abs(likeness) > 0.2 and 2 * norm.sf(abs(likeness) * math.sqrt(len(values))) < _UNLIKELY:
        return "follow one another, as if sorted in parts"
    return ""


def _check_items(items: Sequence[Any]) -> None:
    """Refuse what cannot tell one item from another."""
    for number, item in enumerate(items, start=1):
        if isinstance(item, list | dict | set):
            raise InputError("item", f"must be a text or a number, not {str(item)[:80]}", row=number)


def _arm_name(value: Any, number: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise InputError("the arm is missing", row=number)
    return str(value)


def _rewards(problem: Problem, cells: Sequence[Any], number: int) -> list[float]:
    row = dict(zip(problem.metric_names, cells, strict=True))
    try:
        told = {metric.name: number_in(row, metric.name) for metric in problem.metrics}
        for metric in problem.metrics:
            if told[metric.name] is None:  # what has not come when the window is over
                told[metric.name] = metric.otherwise
        values = [told[name] for name in problem.metric_names]
        return problem.check_rewards([math.nan if value is None else value for value in values])
    except InputError as error:
        raise error.within(row=number) from None
