"""Frank-Wolfe sampling's choice and trial. Definition: mobai.rules.sampling.frank_wolfe."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers, Matrix, Vector, fill
from mobai.kernels.game import has_ties
from mobai.kernels.sampling.planning import has_estimates, plan, relative_variance
from mobai.kernels.seen import Seen
from mobai.kernels.surrogate import solve_from
from mobai.kernels.trial import Ladder, World, climb, draw, total

# What a pair outside the subdifferential has of the smallest rate in the program: too much to matter.
OUT_OF_PLAY = 1e6


@entry
def play(
    seen: Seen,
    world: World,
    ladder: Ladder,
    pulls: int,
    target: Vector,
    best: Integers,
    codes: Integers,
    shares: Matrix,
) -> int:
    """Choose and pull, so often or until everything is decided or a block of noise is used up; gives the last arm."""
    arm, before = -1, total(seen.asked)
    variance, estimated = np.empty_like(seen.sd), has_estimates(seen)
    relative_variance(seen, variance)
    direction = np.empty(len(target))
    for k in range(pulls + 1):
        if climb(ladder, seen, arm, before + k) or k == pulls:
            break
        if estimated:
            relative_variance(seen, variance)
        t = before + k + 1
        find_direction(seen, t, variance, target, best, codes, shares, direction)
        for i in range(len(target)):
            target[i] = (target[i] * (t - 1) + direction[i]) / t
        arm = most_behind(seen.asked, target)
        if not draw(world, seen, arm):
            break
    return arm


@kernel
def find_direction(
    seen: Seen,
    t: int,
    variance: Matrix,
    target: Vector,
    best: Integers,
    codes: Integers,
    shares: Matrix,
    direction: Vector,
) -> None:
    """Where to move the target: even shares to explore or when tied, else a step for pairs near the smallest rate."""
    arms = len(target)
    gaps = np.empty_like(seen.means)
    unit = plan(seen, gaps, best, codes)
    rounds = t // arms
    if has_ties(gaps, best) or int(math.sqrt(rounds)) ** 2 == rounds:
        fill(direction, 1.0 / arms)
        return
    keep_close_pairs(gaps, variance, best, target, t**-0.9 / arms / (unit * unit))
    solve_from(gaps, variance, best, target, 0.0, codes, shares)
    for i in range(arms):
        direction[i] = shares[0, i]


@kernel
def keep_close_pairs(gaps: Matrix, variance: Matrix, best: Integers, target: Vector, radius: float) -> None:
    """Rescale the gaps, in place: rates within the radius of the smallest become equal to it, the others huge."""
    rates = np.empty_like(gaps)
    smallest = np.inf
    for m in range(len(best)):
        b = best[m]
        for i in range(len(target)):
            rates[m, i] = gaps[m, i] ** 2 / (2.0 * (variance[m, i] / target[i] + variance[m, b] / target[b]))
            if i != b:
                smallest = min(smallest, rates[m, i])
    for m in range(len(best)):
        for i in range(len(target)):
            if i != best[m]:
                close = rates[m, i] < smallest + radius
                gaps[m, i] *= math.sqrt((1.0 if close else OUT_OF_PLAY) * smallest / rates[m, i])


@kernel
def most_behind(asked: Integers, target: Vector) -> int:
    """The arm with the largest target over its pulls, the first in a tie."""
    arm = 0
    for i in range(1, len(target)):
        if target[i] * asked[arm] > target[arm] * asked[i]:
            arm = i
    return arm
