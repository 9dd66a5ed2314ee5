"""Confidence sequences for the differences of all arms to a baseline: simultaneous, agreeing with the decisions.

An end of an interval is where the evidence of a pair of arms, one moved by the difference, reaches its level. Each
interval has two ends, each of which has half of its share of delta. Derivation: docs/guarantee.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mobai.kernels.evidence import limits as kernels
from mobai.problem import FloatArray, IntArray, Problem
from mobai.theory.intervals import Intervals
from mobai.theory.observations import Observations


class Differences(NamedTuple):
    """By how much the means of all arms differ from a baseline's, in the metrics' own units. Shapes (K, metrics).

    ``verdicts`` says what that proves, in each metric's direction: 1 better than the baseline, -1 worse, 0 open. Lifts
    are differences as shares of the baseline's mean; NaN where that is not proven to be positive.
    """

    baseline: int
    lower: FloatArray
    upper: FloatArray
    verdicts: IntArray
    lift_lower: FloatArray
    lift_upper: FloatArray

    def words(self, arm: int, metric: int) -> str:
        """Return ``better``, ``worse`` or ``open``; ``-`` for the baseline itself."""
        if arm == self.baseline:
            return "-"
        return ("open", "better", "worse")[int(self.verdicts[arm, metric])]


def difference_intervals(
    problem: Problem,
    observations: Observations,
    level: float,
    surcharges: FloatArray,
    decided: tuple[int | None, ...],
    means: Intervals,
) -> Differences:
    """Return the intervals at a level of evidence, fitted to what was decided; ``means`` are those of the means."""
    assert problem.baseline is not None
    base, shape = problem.arms.index(problem.baseline), (len(problem.metrics), problem.shape[0])
    lower, upper = np.empty(shape), np.empty(shape)
    levels = level + math.log(2) + surcharges
    for m in range(len(problem.metrics)):
        kernels.differences(observations.arrays, m, base, levels, lower[m], upper[m])
    for m, metric in enumerate(problem.metrics):
        low, high = metric.family.range
        if metric.family.functional:  # the intervals of both arms hold on the same event, and may say more
            by_both = _by_intervals(means, m, base, metric.sign)
            lower[m], upper[m] = np.fmax(lower[m], by_both[0]), np.fmin(upper[m], by_both[1])
        lower[m], upper[m] = np.maximum(lower[m], low - high), np.minimum(upper[m], high - low)
    better, worse = lower.T > 0, upper.T < 0
    # A decision is one among the arms that take part; it says nothing of a retired one.
    active = observations.active
    for m, arm in enumerate(decided):
        if arm is None or arm < 0:
            continue
        if arm == base:
            upper[m, active] = np.minimum(upper[m, active], problem.eps[m])
            worse[active, m] |= problem.eps[m] == 0
        else:
            lower[m, arm] = max(lower[m, arm], -problem.eps[m])
            better[arm, m] |= problem.eps[m] == 0
    better[base] = worse[base] = False
    upper[:, base] = 0.0
    flipped = problem.signs < 0
    lower[flipped], upper[flipped] = -upper[flipped], -lower[flipped]
    verdicts = np.where(better, 1, np.where(worse, -1, 0)).astype(np.intp)
    ends = lower.T + 0.0, upper.T + 0.0
    return Differences(base, *ends, verdicts, *lifts_of(base, *ends, means))


def _by_intervals(means: Intervals, m: int, base: int, sign: float) -> tuple[FloatArray, FloatArray]:
    """Return between which numbers oriented differences lie, by the intervals of both arms."""
    lower, upper = means.lower[:, m] - means.upper[base, m], means.upper[:, m] - means.lower[base, m]
    return (lower, upper) if sign > 0 else (-upper, -lower)


def lifts_of(base: int, lower: FloatArray, upper: FloatArray, means: Intervals) -> tuple[FloatArray, FloatArray]:
    """Return differences as shares of the baseline's mean, where that is proven to be positive; NaN elsewhere.

    All intervals hold on one event, so that what follows from those of the difference and of the baseline holds on it,
    and what follows from those of the two means: the tighter of the two.
    """
    least, most = means.lower[base], means.upper[base]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low = np.maximum(np.where(lower > 0, lower / most, lower / least), means.lower / most - 1)
        high = np.minimum(np.where(upper > 0, upper / least, upper / most), means.upper / least - 1)
    known = least > 0
    low, high = (np.where(known & np.isfinite(end), end, np.nan) for end in (low, high))
    low[base], high[base] = np.where(known, 0.0, np.nan), np.where(known, 0.0, np.nan)
    return low, high
