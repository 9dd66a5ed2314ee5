"""D-Tracking's choice and trial. Definition: mobai.rules.sampling.d_tracking."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mobai.kernels.compiled import array_kernel, entry, kernel
from mobai.kernels.dense import Integers, Matrix, Vector, fill
from mobai.kernels.observations import ObservationArrays
from mobai.kernels.sampling.planning import has_estimates, plan, relative_variance, track
from mobai.kernels.surrogate import solve_from
from mobai.kernels.trial import TrialArrays, is_over, least_asked, pull, total


class Memory(NamedTuple):
    """The last weights, the leaders they were for, and where the programs of every step of the sub-routine ended."""

    weights: Vector
    best: Integers
    codes: Integers
    shares: Matrix


@entry
def play(trial: TrialArrays, sign: float, from_uniform: bool, memory: Memory) -> int:
    """Choose and pull, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

    Ends early when everything is decided or a block of rewards is used up. Memory and trial are changed in place.
    """
    obs, arm, before = trial.obs, -1, total(trial.obs.asked)
    variance, estimated = np.empty_like(obs.sd), has_estimates(obs)
    relative_variance(obs, variance)
    for k in range(trial.pulls + 1):
        if is_over(trial, arm, before + k) or k == trial.pulls:
            break
        if estimated:
            relative_variance(obs, variance)
        asked = before + k
        if obs.asked[least_asked(obs.asked)] < math.sqrt(asked / len(obs.asked)):
            arm = explore(obs.asked, trial.coins[k])
        else:
            if from_uniform:
                fill(memory.weights, 1.0 / len(memory.weights))
            find_weights(obs, variance, memory)
            arm = track(obs.asked, memory.weights, asked + 1.0, sign)
        if not pull(trial, arm):
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


@array_kernel
def find_weights(obs: ObservationArrays, variance: Matrix, memory: Memory) -> None:
    """The paper's sub-routine, in place: average the solutions of programs, each linearised at the average so far.

    Every step keeps two rows of bases of its own: between pulls a step's program changes little.
    """
    weights, best, codes, shares = memory.weights, memory.best, memory.codes, memory.shares
    gaps = np.empty_like(obs.means)
    plan(obs, gaps, best, codes)
    sums = np.zeros(len(weights))
    for k in range(len(codes) // 2):
        rows = slice(2 * k, 2 * k + 2)
        solve_from(gaps, variance, best, weights, 0.0, codes[rows], shares[rows])
        for i in range(len(weights)):
            sums[i] += shares[2 * k, i]
            weights[i] = sums[i] / (k + 1)
