"""Confidence sequences for every mean: simultaneous over arms, objectives and times, agreeing with the decisions.

An arm's bets on both sides of its true mean are a nonnegative supermartingale from 1, which by Ville's inequality ever
exceeds exp(level) with probability at most exp(-level): the interval has the means that are not refuted so. The
intervals have a tenth of delta for themselves, shared out over arms and objectives, so that they and the decisions are
right together with probability 1 - delta. Derivation: docs/guarantee.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.models import dispatch
from mobai.kernels.stats.observations import LimitState
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations
from mobai.theory.thresholds import INTERVAL_SHARE, union_level


class Intervals(NamedTuple):
    """Where the true means lie, in the objectives' own units.

    ``fitted`` says whether they use what was decided: only decisions of the event they come from may tighten them, and
    then intervals and decisions are right together with probability 1 - delta. Otherwise that is the probability of the
    intervals alone. ``certified`` is False where rewards visibly contradict their family.
    ``contradicted`` marks objectives whose present data speak against an earlier decision: while the assumptions hold,
    that has a probability of at most delta.
    """

    lower: FloatArray
    upper: FloatArray
    contradicted: npt.NDArray[np.bool_]
    fitted: bool
    certified: bool = True

    @property
    def event(self) -> str:
        """What holds with probability 1 - delta."""
        return "all intervals and all decisions" if self.fitted else "all intervals"


class IntervalLevels(NamedTuple):
    """How much evidence against a mean leaves it out, in nats.

    ``arms`` are the levels of each arm's bets; ``noise`` is the level at which a shared standard deviation is bounded.
    """

    arms: FloatArray
    noise: float

    @classmethod
    def alone(cls, log_inv_delta: float, arms: int, objectives: int) -> IntervalLevels:
        """Return the levels of intervals that have all of delta; the bounds of shared deviations have a tenth of it."""
        level = math.log(objectives * arms) + log_inv_delta - math.log1p(-INTERVAL_SHARE)
        return cls(np.full(arms, level), union_level(log_inv_delta, arms, objectives))


def confidence_intervals(
    problem: Problem,
    observations: Observations,
    levels: IntervalLevels,
    decided: tuple[int | None, ...] | None = None,
) -> Intervals:
    """Return an interval for every arm and objective; those of active arms are fitted to what was decided, if given."""
    lower, upper = np.empty((2, problem.shape[0], len(problem.metrics)))
    for m in range(len(problem.metrics)):
        found = dispatch.interval(observations.arrays, m, levels.arms, levels.noise, observations.bounds[m])
        lower[:, m], upper[:, m] = found
    # Relative to the offsets, in which large means keep their differences.
    contradicted = _fit(lower, upper, problem.eps, decided or (), np.flatnonzero(observations.active))
    lower, upper = lower + observations.offset, upper + observations.offset
    flipped = problem.signs < 0
    lower[:, flipped], upper[:, flipped] = -upper[:, flipped], -lower[:, flipped]
    # Adding zero turns minus zero into zero.
    return Intervals(lower + 0.0, upper + 0.0, contradicted, decided is not None)


def fit_to_limits(problem: Problem, found: Intervals, states: Sequence[Sequence[LimitState]]) -> Intervals:
    """Return intervals that use, at no further price, which arms are said to keep or to break which limit.

    Where an interval has nothing on that side of the limit, it stays as it is: one of the two is wrong.
    """
    lower, upper = found.lower.copy(), found.upper.copy()
    for guardrail, row in zip(problem.guardrails, states, strict=True):
        if guardrail.limit is None:  # a margin says nothing of a single mean
            continue
        m, at_most = problem.metric_names.index(guardrail.metric), guardrail.at_most is not None
        for state, end, is_below in (
            (LimitState.KEPT, guardrail.bound, at_most),
            (LimitState.BROKEN, guardrail.limit, not at_most),
        ):
            said = np.array([one == state for one in row]) & (lower[:, m] <= end) & (upper[:, m] >= end)
            (upper if is_below else lower)[said, m] = end
    return found._replace(lower=lower, upper=upper)


def _fit(
    lower: FloatArray,
    upper: FloatArray,
    eps: FloatArray,
    decided: tuple[int | None, ...],
    rows: npt.NDArray[np.intp],
) -> npt.NDArray[np.bool_]:
    """Use, in place, that a decided arm is within eps of the best; whether that leaves an arm without any mean."""
    contradicted = np.zeros(len(decided) or len(eps), np.bool_)
    for m, b in enumerate(decided):
        if b is not None and b >= 0:
            floor, ceiling = lower[rows, m].max() - eps[m], upper[b, m] + eps[m]
            lower[b, m] = max(lower[b, m], floor)
            upper[rows, m] = np.minimum(upper[rows, m], np.where(rows == b, np.inf, ceiling))
            crossed = lower[:, m] > upper[:, m]
            contradicted[m] = crossed.any()
            middle = 0.5 * (lower[crossed, m] + upper[crossed, m])
            lower[crossed, m], upper[crossed, m] = middle, middle
    return contradicted
