"""What the samples of an experiment have cost, what they may cost, and what is to come."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mobai.problem import FloatArray, Problem
from mobai.problem.costs import amount

if TYPE_CHECKING:
    from mobai.live.assignments import Assignments


class Spending(NamedTuple):
    """What was spent.

    Samples still to come count, as what others have cost where a metric says it; dropped and expired ones, too.

    Attributes
    ----------
    spent, most
        What everything that was handed out costs, and how much may be spent; None for any amount.
    left
        A forecast of what is still to be spent until everything is decided; None where there is none.
    unit
        What it is counted in.
    estimated
        Whether part of what was spent is not known yet, or never will be, and counts as what others have cost.
    """

    spent: float
    most: float | None
    left: float | None
    unit: str
    estimated: bool = False

    @property
    def words(self) -> str:
        """Say it: ``3.20 of 10 USD spent, about 4 more``."""
        more = "" if self.left is None or not self.left > 0 else f", about {amount(self.left)} more"
        return f"{'about ' if self.estimated else ''}{amount(self.spent, self.most, self.unit)} spent{more}"

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self._asdict()


def costs_by_arm(problem: Problem, assignments: Assignments) -> FloatArray | None:
    """Return what a sample of each arm costs, or has cost on average; None where all cost the same.

    An arm of which nobody knows it yet costs what the others do; NaN if nobody knows of any.
    """
    if problem.costs is None or problem.costs.by_arm is not None:
        return None if problem.costs is None else np.array(problem.costs.by_arm)
    arms, told = assignments.column(problem.metric_names.index(str(problem.costs.metric)))
    known = np.isfinite(told)
    sums = np.bincount(arms[known], told[known], minlength=problem.shape[0])
    counts = np.bincount(arms[known], minlength=problem.shape[0])
    average = float(sums.sum() / counts.sum()) if counts.any() else math.nan
    found: FloatArray = np.divide(sums, counts, out=np.full(len(sums), average), where=counts > 0)
    return found


def spending_of(problem: Problem, assignments: Assignments, most: float | None) -> Spending | None:
    """Return what was spent; None where samples have no costs."""
    if problem.costs is None:
        return None
    estimated = False
    if problem.costs.metric is not None:
        _, told = assignments.column(problem.metric_names.index(problem.costs.metric))
        estimated = not np.isfinite(told).all()
    return Spending(spent_on(problem, assignments), most, None, problem.costs.counted_in, estimated)


def spent_on(problem: Problem, assignments: Assignments, unknown: float = 0.0) -> float:
    """Return what everything that was handed out costs, a sample ``unknown`` where nobody knows what any does."""
    costs = costs_by_arm(problem, assignments)
    assert costs is not None
    if problem.costs is not None and problem.costs.by_arm is not None:
        arms, _ = assignments.column(0)
        return float(np.bincount(arms, minlength=len(costs)) @ costs)
    arms, told = assignments.column(problem.metric_names.index(str(problem.costs and problem.costs.metric)))
    known = np.isfinite(told)
    expected = np.nan_to_num(costs[arms[~known]], nan=unknown)
    return float(told[known].sum() + expected.sum())


def room_for(problem: Problem, assignments: Assignments, most: float) -> int:
    """Return how many samples may still be handed out: none once that much is spent, and one of any cost before."""
    # As long as nobody knows what any sample costs, one may cost as much as it can.
    largest = most
    if problem.costs is not None and problem.costs.metric is not None:
        family = problem.metrics[problem.metric_names.index(problem.costs.metric)].family
        largest = min(family.range[1], most)
    left, costs = most - spent_on(problem, assignments, largest), costs_by_arm(problem, assignments)
    if not left > 0:
        return 0
    dearest = 0.0 if costs is None else float(np.nan_to_num(costs).max())
    return max(int(left // dearest), 1) if dearest > 0 else 1
