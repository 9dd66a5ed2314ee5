"""What the rules that solve programs share: the empirical gaps in the solver's units, and tracking weights."""

from __future__ import annotations

import numpy as np

from mobai.kernels.compiled import kernel
from mobai.kernels.dense import Integers, Matrix, Vector
from mobai.kernels.trial import Seen, first_largest

# Beside the largest gap a smaller one than this is a tie.
LEAST_SHARE_OF_GAP = 1e-60


@kernel
def relative_variance(sd: Matrix) -> Matrix:
    """Variances in units of each objective's largest."""
    variance = np.empty_like(sd)
    for m in range(sd.shape[0]):
        largest = largest_in_row(sd, m)
        for i in range(sd.shape[1]):
            variance[m, i] = (sd[m, i] / largest) ** 2
    return variance


@kernel
def largest_in_row(table: Matrix, m: int) -> float:
    """The largest number of a row."""
    largest = table[m, 0]
    for i in range(1, table.shape[1]):
        largest = max(largest, table[m, i])
    return largest


@kernel
def plan(seen: Seen, gaps: Matrix, best: Integers, codes: Integers) -> float:
    """Take over the current means: gaps over each objective's noise, in units of the largest; gives that unit.

    When a leader has changed, the bases of earlier programs are forgotten.
    """
    objectives, arms = gaps.shape
    unit, changed = 0.0, False
    for m in range(objectives):
        b, noise = seen.leaders[m], largest_in_row(seen.sd, m)
        changed = changed or best[m] != b
        best[m] = b
        for i in range(arms):
            gaps[m, i] = (seen.means[m, b] - seen.means[m, i]) / noise
            unit = max(unit, gaps[m, i])
    if changed:
        for row in range(codes.shape[0]):
            codes[row, 0] = -1
    if unit == 0.0:
        return 1.0
    for m in range(objectives):
        for i in range(arms):
            share = gaps[m, i] / unit
            gaps[m, i] = share if share >= LEAST_SHARE_OF_GAP else 0.0
    return unit


@kernel
def track(asked: Integers, weights: Vector, t: float, sign: float) -> int:
    """The arm furthest behind its weight (or furthest ahead of it, with the sign as printed)."""
    behind = np.empty(len(weights))
    for i in range(len(weights)):
        behind[i] = sign * (t * weights[i] - asked[i])
    return first_largest(behind)
