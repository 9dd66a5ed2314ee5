"""D-Tracking's choice. Definition: mobai.rules.sampling.d_tracking."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, kernel
from mobai.kernels.programs.dense import Integers, Matrix, fill
from mobai.kernels.programs.surrogate import solve_from
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.trials.sampling.planning import PlanArrays, plan_with, relative_variance, shares_of_pulls, track
from mobai.kernels.trials.trial import least_asked


@array_kernel
def choose(
    obs: ObservationArrays, variance: Matrix, asked: int, coin: float, sign: float, from_uniform: bool, plan: PlanArrays
) -> int:
    """Explore when an arm lags behind, else take the arm furthest behind its weight; plan in place."""
    if obs.asked[least_asked(obs.asked)] < math.sqrt(asked / len(obs.asked)):
        return explore(obs.asked, coin)
    if from_uniform:
        fill(plan.weights, 1.0 / len(plan.weights))
    find_weights(obs, variance, plan)
    pulls = np.empty(len(plan.weights))
    shares_of_pulls(obs, plan.weights, pulls)
    return track(obs.asked, pulls, asked + 1.0, sign)


@kernel
def explore(asked: Integers, coin: float) -> int:
    """Return one of the least asked arms, by the coin."""
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


@array_kernel
def find_weights(obs: ObservationArrays, variance: Matrix, plan: PlanArrays) -> None:
    """Average in place the solutions of programs, each linearised at the average so far: the paper's sub-routine.

    Every step keeps two rows of bases of its own: between pulls a step's program changes little.
    """
    weights, best, codes, shares = plan.weights, plan.best, plan.codes, plan.shares
    gaps = np.empty_like(plan.gaps)
    plan_with(obs, gaps, best, codes)
    if obs.limits.what.shape[0] > 0:
        relative_variance(obs, best, variance)
    sums = np.zeros(len(weights))
    for k in range(len(codes) // 2):
        rows = slice(2 * k, 2 * k + 2)
        solve_from(gaps, variance, best, weights, 0.0, codes[rows], shares[rows])
        for i in range(len(weights)):
            sums[i] += shares[2 * k, i]
            weights[i] = sums[i] / (k + 1)
