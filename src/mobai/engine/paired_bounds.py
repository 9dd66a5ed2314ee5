"""Bounds of means and of differences of arms that were measured on the same things. Proofs: docs/guarantee.md.

The bounds are inverted bets: all numbers that the evidence does not speak against. Of a known range, what every index
has said is used, so that they never widen; of a finite benchmark they shrink to a point.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence.normal import log_one_bet
from mobai.kernels.evidence.paired import BETS, SCALE, SIGN, least_mean, log_shift_evidence
from mobai.problem import FloatArray
from mobai.rules.stopping.comparison import Comparison

_HALVINGS, _DOUBLINGS = 60, 200
_NEAR = 1e-9


def least_difference(seen: Comparison, m: int, b: int, i: int, level: float) -> float:
    """Return a number that arm b is better than arm i by, on average, or by more; minus infinity if none is known."""
    values, indices = seen.differences(m, b, i)
    width, kind = float(seen.measures.width[m]), int(seen.measures.kinds[m])
    if kind in (BETS, SIGN):
        return _least_mean(seen, values, indices, width, width, level)
    return _least_of(seen, m, values, level, float(seen.measures.sd[m, [b, i]].sum()))


def _least_mean(
    seen: Comparison, values: FloatArray, indices: npt.NDArray[np.int64], width: float, most: float, level: float
) -> float:
    """Return a bound from below of the mean of numbers in a known range; of a list measured in full, the mean."""
    if seen.size and len(values) == seen.size:
        return float(values.mean())
    return least_mean(values, indices, width, seen.size, most, level)


def mean_bounds(seen: Comparison, m: int, arm: int, level: float) -> tuple[float, float]:
    """Return between which numbers the mean of an arm is, oriented, at a level for each end."""
    kind, low, width = int(seen.measures.kinds[m]), float(seen.measures.low[m]), float(seen.measures.width[m])
    if kind == BETS:
        values, indices = seen.rewards(m, arm, low)
        least = low + width + _least_mean(seen, values - low - width, indices, width, 0.0, level)
        values, indices = seen.rewards(m, arm, low + width)
        return least, low - _least_mean(seen, low - values, indices, width, 0.0, level)
    values, _ = seen.rewards(m, arm, low)
    sd = float(seen.measures.sd[m, arm])
    return _least_of(seen, m, values, level, sd), -_least_of(seen, m, -values, level, sd)


def _least_of(seen: Comparison, m: int, values: FloatArray, level: float, sd: float) -> float:
    """Return a bound from below of the mean of Gaussian or sub-Gaussian numbers."""
    count, kind = len(values), int(seen.measures.kinds[m])
    if kind == SIGN or count < (1 if kind == SCALE else 2):
        return -math.inf
    mean = float(values.mean())
    scatter = float(((values - mean) ** 2).sum())
    spread = sd if kind == SCALE else math.sqrt(scatter / (count - 1))

    def evidence(apart: float) -> float:
        return log_one_bet(count, apart / sd) if kind == SCALE else log_shift_evidence(count, apart, scatter)

    return mean - _where_above(evidence, level, spread / math.sqrt(count))


def _where_above(evidence: Callable[[float], float], level: float, step: float) -> float:
    """Return a distance at which the evidence, which grows with it, exceeds a level; infinite if there is none."""
    if not step > 0.0:  # differences that never vary: no Gaussian ones
        return math.inf
    low, high = 0.0, step
    for _ in range(_DOUBLINGS):
        if evidence(high) > level:
            break
        low, high = high, 2.0 * high
    else:
        return math.inf
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if evidence(middle) > level else (middle, high)
        if high - low <= _NEAR * step:
            break
    return high


def leads_at_most(seen: Comparison, m: int, arms: npt.NDArray[np.intp]) -> FloatArray:
    """Return by how much each of some arms (column) can be better than another (row), at the level of decisions."""
    table = np.zeros((len(arms), len(arms)))
    for r, b in enumerate(arms.tolist()):
        for s, i in enumerate(arms.tolist()):
            if b != i:
                table[r, s] = -least_difference(seen, m, b, i, seen.level)
    return table
