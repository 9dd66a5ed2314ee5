"""MO-BAI's choice and trial. Definition: mobai.rules.sampling.mo_bai."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.compiled import array_kernel, entry, kernel
from mobai.kernels.dense import Integers, Matrix, Vector
from mobai.kernels.observations import ObservationArrays
from mobai.kernels.sampling.planning import CLOSED, has_estimates, plan, relative_variance
from mobai.kernels.surrogate import solve_from
from mobai.kernels.trial import TrialArrays, first_largest, is_over, pull, total


class Memory(NamedTuple):
    """What is carried from pull to pull: the buffer, the instance planned with, and where its programs ended."""

    buffer: Vector
    gaps: Matrix
    best: Integers
    codes: Integers
    shares: Matrix


@entry
def play(trial: TrialArrays, floor: float, every: bool, memory: Memory) -> int:
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
        t = before + k + 1
        if every or memory.best[0] < 0 or t & (t - 1) == 0 or closed_since(obs, memory):
            plan(obs, memory.gaps, memory.best, memory.codes)
        arm = choose(obs, t - 1, floor, variance, memory)
        if not pull(trial, arm):
            break
    return arm


@kernel
def closed_since(obs: ObservationArrays, memory: Memory) -> bool:
    """Whether an objective needs no more samples that did when the gaps were planned with."""
    found = False
    for m in range(len(memory.best)):
        rival = 1 if memory.best[m] == 0 else 0
        found = found or (not obs.undecided[m] and memory.gaps[m, rival] != CLOSED)
    return found


@array_kernel
def choose(obs: ObservationArrays, asked: int, floor: float, variance: Matrix, memory: Memory) -> int:
    """Solve the program at the weights asked so far and take the arm with the largest credit; memory in place."""
    buffer, shares = memory.buffer, memory.shares
    weights = np.empty(len(buffer))
    for i in range(len(buffer)):
        weights[i] = (obs.asked[i] + buffer[i]) / asked
    solve_from(memory.gaps, variance, memory.best, weights, floor, memory.codes, shares)
    for i in range(len(buffer)):
        buffer[i] += shares[0, i]
    arm = first_largest(buffer)
    buffer[arm] -= 1.0
    return arm
