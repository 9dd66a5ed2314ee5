"""MO-BAI's choice and trial. Definition: mobai.rules.sampling.mo_bai."""

from __future__ import annotations

import numpy as np

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers, Matrix, Vector
from mobai.kernels.sampling.planning import CLOSED, has_estimates, plan, relative_variance
from mobai.kernels.seen import Seen
from mobai.kernels.surrogate import solve_from
from mobai.kernels.trial import Ladder, World, climb, draw, first_largest, total


@entry
def play(
    seen: Seen,
    world: World,
    ladder: Ladder,
    pulls: int,
    floor: float,
    every: bool,
    buffer: Vector,
    gaps: Matrix,
    best: Integers,
    codes: Integers,
    shares: Matrix,
) -> int:
    """Choose and pull, so often or until everything is decided or a block of noise is used up; gives the last arm."""
    arm, before = -1, total(seen.asked)
    variance, estimated = np.empty_like(seen.sd), has_estimates(seen)
    relative_variance(seen, variance)
    for k in range(pulls + 1):
        if climb(ladder, seen, arm, before + k) or k == pulls:
            break
        if estimated:
            relative_variance(seen, variance)
        t = before + k + 1
        if every or best[0] < 0 or t & (t - 1) == 0 or closed_since(seen, gaps, best):
            plan(seen, gaps, best, codes)
        arm = choose(seen, t - 1, floor, variance, buffer, gaps, best, codes, shares)
        if not draw(world, seen, arm):
            break
    return arm


@kernel
def closed_since(seen: Seen, gaps: Matrix, best: Integers) -> bool:
    """Whether an objective needs no more samples that did when the gaps were planned with."""
    found = False
    for m in range(len(best)):
        found = found or (not seen.open[m] and gaps[m, 1 if best[m] == 0 else 0] != CLOSED)
    return found


@kernel
def choose(
    seen: Seen,
    asked: int,
    floor: float,
    variance: Matrix,
    buffer: Vector,
    gaps: Matrix,
    best: Integers,
    codes: Integers,
    shares: Matrix,
) -> int:
    """Solve the program at the weights asked so far and take the arm with the largest credit; buffer in place."""
    weights = np.empty(len(buffer))
    for i in range(len(buffer)):
        weights[i] = (seen.asked[i] + buffer[i]) / asked
    solve_from(gaps, variance, best, weights, floor, codes, shares)
    for i in range(len(buffer)):
        buffer[i] += shares[0, i]
    arm = first_largest(buffer)
    buffer[arm] -= 1.0
    return arm
