"""Rewards that equal the one before them: under a continuous family there are none, but for rounding."""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers, Matrix

# Rewards are equal up to so many times their scatter and their size: sums of rounded numbers differ in the last digits.
SAME_SCATTER, SAME_SIZE = 1e-9, 4e-16


class RepeatArrays(NamedTuple):
    """Per objective and arm."""

    last: Matrix  # the latest reward, NaN before the first
    repeats: Matrix  # how many rewards equalled the one before
    near: Matrix  # how many differed from it by at most half a standard deviation


@entry
def count_repeats(found: RepeatArrays, arms: Integers, rewards: Matrix, counts: Matrix, scatter: Matrix) -> None:
    """Take in rewards, NaN where one is missing; row n of a column is of the arm there; in place.

    ``counts`` and ``scatter`` are those of every arm with these rewards, per objective.
    """
    for n in range(len(rewards)):
        for m in range(rewards.shape[1]):
            if not math.isnan(rewards[n, m]):
                i = arms[n, m]
                count_repeat(found, m, i, rewards[n, m], counts[m, i], scatter[m, i])


@kernel
def count_repeat(found: RepeatArrays, m: int, i: int, reward: float, count: float, scatter: float) -> None:
    """Take in one reward, with the count and the scatter of its arm; in place."""
    distance = abs(reward - found.last[m, i])
    sd = math.sqrt(scatter / max(count - 1.0, 1.0))
    if distance <= SAME_SCATTER * sd + SAME_SIZE * abs(reward):
        found.repeats[m, i] += 1.0
    elif distance <= 0.5 * sd:
        found.near[m, i] += 1.0
    found.last[m, i] = reward
