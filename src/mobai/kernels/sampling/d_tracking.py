"""D-Tracking's choice and trial. Definition: mobai.rules.sampling.d_tracking."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers, Matrix, Vector, fill
from mobai.kernels.sampling.planning import has_estimates, plan, relative_variance, track
from mobai.kernels.seen import Seen
from mobai.kernels.surrogate import solve_from
from mobai.kernels.trial import Ladder, World, climb, draw, least_asked, total


@entry
def play(
    seen: Seen,
    world: World,
    ladder: Ladder,
    coins: Vector,
    pulls: int,
    sign: float,
    from_uniform: bool,
    weights: Vector,
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
        asked = before + k
        if seen.asked[least_asked(seen.asked)] < math.sqrt(asked / len(seen.asked)):
            arm = explore(seen.asked, coins[k])
        else:
            if from_uniform:
                fill(weights, 1.0 / len(weights))
            find_weights(seen, variance, weights, best, codes, shares)
            arm = track(seen.asked, weights, asked + 1.0, sign)
        if not draw(world, seen, arm):
            break
    return arm


@kernel
def explore(asked: Integers, coin: float) -> int:
    """One of the least asked arms, by the coin."""
    fewest, tied = asked[least_asked(asked)], 0
    for i in range(len(asked)):
        tied += asked[i] == fewest
    place = int(coin * tied)
    for i in range(len(asked)):
        if asked[i] == fewest:
            if place == 0:
                return i
            place -= 1
    return 0


@kernel
def find_weights(
    seen: Seen, variance: Matrix, weights: Vector, best: Integers, codes: Integers, shares: Matrix
) -> None:
    """The paper's sub-routine, in place: average the solutions of programs, each linearised at the average so far.

    Every step keeps two rows of bases of its own: between pulls a step's program changes little.
    """
    gaps = np.empty_like(seen.means)
    plan(seen, gaps, best, codes)
    tally = np.zeros(len(weights))
    for k in range(len(codes) // 2):
        rows = slice(2 * k, 2 * k + 2)
        solve_from(gaps, variance, best, weights, 0.0, codes[rows], shares[rows])
        for i in range(len(weights)):
            tally[i] += shares[2 * k, i]
            weights[i] = tally[i] / (k + 1)
