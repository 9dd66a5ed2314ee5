"""Frank-Wolfe sampling's choice and trial. Definition: mobai.rules.sampling.frank_wolfe."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mobai.kernels.compiled import array_kernel, entry, kernel
from mobai.kernels.dense import Integers, Matrix, Vector, fill
from mobai.kernels.game import has_ties
from mobai.kernels.observations import ObservationArrays
from mobai.kernels.sampling.planning import has_estimates, plan, relative_variance
from mobai.kernels.surrogate import solve_from
from mobai.kernels.trial import TrialArrays, is_over, pull, total

# What a pair outside the subdifferential has of the smallest rate in the program: too much to matter.
OUT_OF_PLAY = 1e6


class Memory(NamedTuple):
    """The target, the leaders it was for, and where the last programs ended."""

    target: Vector
    best: Integers
    codes: Integers
    shares: Matrix


@entry
def play(trial: TrialArrays, memory: Memory) -> int:
    """Choose and pull, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

    Ends early when everything is decided or a block of rewards is used up. Memory and trial are changed in place.
    """
    obs, arm, before = trial.obs, -1, total(trial.obs.asked)
    variance, estimated = np.empty_like(obs.sd), has_estimates(obs)
    relative_variance(obs, variance)
    direction = np.empty(len(memory.target))
    for k in range(trial.pulls + 1):
        if is_over(trial, arm, before + k) or k == trial.pulls:
            break
        if estimated:
            relative_variance(obs, variance)
        t = before + k + 1
        find_direction(obs, t, variance, memory, direction)
        for i in range(len(direction)):
            memory.target[i] = (memory.target[i] * (t - 1) + direction[i]) / t
        arm = most_behind(obs.asked, memory.target)
        if not pull(trial, arm):
            break
    return arm


@array_kernel
def find_direction(obs: ObservationArrays, t: int, variance: Matrix, memory: Memory, direction: Vector) -> None:
    """Fill in where to move the target.

    Even shares to explore or when tied, else a step for pairs near the smallest rate.
    """
    arms, best = len(direction), memory.best
    gaps = np.empty_like(obs.means)
    unit = plan(obs, gaps, best, memory.codes)
    rounds = t // arms
    if has_ties(gaps, best) or int(math.sqrt(rounds)) ** 2 == rounds:
        fill(direction, 1.0 / arms)
        return
    keep_close_pairs(gaps, variance, best, memory.target, t**-0.9 / arms / (unit * unit))
    solve_from(gaps, variance, best, memory.target, 0.0, memory.codes, memory.shares)
    for i in range(arms):
        direction[i] = memory.shares[0, i]


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
def most_behind(asked: Integers, target: Vector) -> int:
    """The arm with the largest target over its pulls, the first in a tie."""
    arm = 0
    for i in range(1, len(target)):
        if target[i] * asked[arm] > target[arm] * asked[i]:
            arm = i
    return arm
