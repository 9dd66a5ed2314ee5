"""What the rules that solve programs share: the empirical gaps in the solver's units, and tracking weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.compiled import kernel
from mobai.kernels.dense import Integers, Matrix, Vector
from mobai.kernels.observations import NORMAL, ObservationArrays, gap_between

# Beside the largest gap a smaller one than this is a tie.
LEAST_SHARE_OF_GAP = 1e-60
# The gap of pairs that need no samples, beside the largest.
CLOSED = 1e3
# An estimated variance below this share of the largest is taken for it.
LEAST_ESTIMATE = 1e-4


class Plan(NamedTuple):
    """What the rules that solve programs carry from pull to pull; each uses what it needs."""

    weights: Vector  # those being tracked; for MO-BAI, what each arm is owed
    gaps: Matrix  # of the instance planned with
    best: Integers  # the leaders it was planned with, -1 at first
    codes: Integers  # where the last programs ended: what held every arm and what was tight
    shares: Matrix  # the same: the solutions
    due: Vector  # one number: how many pulls there must be before the weights are renewed


@kernel
def relative_variance(obs: ObservationArrays, variance: Matrix) -> None:
    """Fill in variances in units of each objective's largest; estimates near zero are not believed."""
    for m in range(variance.shape[0]):
        largest = largest_in_row(obs.sd, m)
        known = obs.objectives.model[m] == NORMAL
        for i in range(variance.shape[1]):
            share = obs.sd[m, i] / largest if largest > 0.0 else 1.0
            variance[m, i] = share * share if known else max(share * share, LEAST_ESTIMATE)


@kernel
def has_estimates(obs: ObservationArrays) -> bool:
    """Whether some objective's noise is estimated, so that it changes from pull to pull."""
    found = False
    for m in range(len(obs.leaders)):
        found = found or obs.objectives.model[m] != NORMAL
    return found


@kernel
def largest_in_row(table: Matrix, m: int) -> float:
    """Return the largest number of a row."""
    largest = table[m, 0]
    for i in range(1, table.shape[1]):
        largest = max(largest, table[m, i])
    return largest


@kernel
def plan_with(obs: ObservationArrays, gaps: Matrix, best: Integers, codes: Integers) -> float:
    """Take over the current means: gaps over each objective's noise, in units of the largest; return that unit.

    When a leader has changed, the bases of earlier programs are forgotten.
    """
    objectives, arms = gaps.shape
    unit, changed = 0.0, False
    for m in range(objectives):
        b, noise = obs.leaders[m], largest_in_row(obs.sd, m)
        noise = noise if noise > 0.0 else 1.0
        changed = changed or best[m] != b
        best[m] = b
        for i in range(arms):
            gaps[m, i] = gap_between(obs, m, b, i) / noise if i != b else 0.0
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
            if not obs.undecided[m] and i != best[m]:
                gaps[m, i] = CLOSED
    return unit


@kernel
def track(asked: Integers, weights: Vector, t: float, sign: float) -> int:
    """Return the arm furthest behind its weight (or furthest ahead of it, with the sign as printed)."""
    arm, most = 0, -np.inf
    for i in range(len(weights)):
        behind = sign * (t * weights[i] - asked[i])
        if behind > most:
            arm, most = i, behind
    return arm
