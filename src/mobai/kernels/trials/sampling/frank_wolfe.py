"""Frank-Wolfe sampling's choice. Definition: mobai.rules.sampling.frank_wolfe."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, kernel
from mobai.kernels.programs.dense import Integers, Matrix, Vector, fill
from mobai.kernels.programs.linear_program import has_ties
from mobai.kernels.programs.surrogate import solve_from
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.trials.sampling.planning import PlanArrays, plan_with, relative_variance

# What a pair outside the subdifferential has of the smallest rate in the program: too much to matter.
OUT_OF_PLAY = 1e6


@array_kernel
def choose(obs: ObservationArrays, variance: Matrix, asked: int, plan: PlanArrays) -> int:
    """Move the target and take the arm furthest behind it; plan in place."""
    t, target, direction = asked + 1, plan.weights, np.empty(len(plan.weights))
    find_direction(obs, t, variance, plan, direction)
    for i in range(len(target)):
        target[i] = (target[i] * (t - 1) + direction[i]) / t
    return most_behind(obs, target)


@array_kernel
def find_direction(obs: ObservationArrays, t: int, variance: Matrix, plan: PlanArrays, direction: Vector) -> None:
    """Fill in where to move the target.

    Even shares to explore or when tied, else a step for pairs near the smallest rate.
    """
    arms, best = len(direction), plan.best
    gaps = np.empty_like(plan.gaps)
    unit = plan_with(obs, gaps, best, plan.codes)
    if obs.limits.what.shape[0] > 0:
        relative_variance(obs, best, variance)
    rounds = t // arms
    if has_ties(gaps, best) or int(math.sqrt(rounds)) ** 2 == rounds:
        fill(direction, 1.0 / arms)
        return
    keep_close_pairs(gaps, variance, best, plan.weights, t**-0.9 / arms / (unit * unit))
    solve_from(gaps, variance, best, plan.weights, 0.0, plan.codes, plan.shares)
    for i in range(arms):
        direction[i] = plan.shares[0, i]


@array_kernel
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
def most_behind(obs: ObservationArrays, target: Vector) -> int:
    """Return the arm with the largest target over its pulls, and over what they cost; the first in a tie."""
    arm = 0
    for i in range(1, len(target)):
        if target[i] * (obs.asked[arm] * obs.cost_of[arm]) > target[arm] * (obs.asked[i] * obs.cost_of[i]):
            arm = i
    return arm
