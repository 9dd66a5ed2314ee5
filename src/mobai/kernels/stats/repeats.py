"""How rewards are distributed, and how each compares with the one before: what a family says of them can be tested.

Under a continuous family no reward equals the one before, but for rounding; if they are Gaussian, they are neither
skewed nor heavy-tailed; and if they are independent, none is like the one before.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import entry, kernel, record
from mobai.kernels.programs.dense import Integers, Matrix

# Rewards are equal up to this part of their scatter and their size: sums of rounded numbers differ in the last digits.
SAME_SCATTER, SAME_SIZE = 1e-9, 4e-16


@record
class RepeatArrays(NamedTuple):
    """Per objective and arm."""

    last: Matrix  # the latest reward, NaN before the first
    repeats: Matrix  # how many rewards equalled the one before
    near: Matrix  # how many differed from it by at most half a standard deviation
    told: Matrix  # how many rewards there have been
    mean: Matrix  # of the rewards so far, relative to the first
    first: Matrix  # the first one
    second: Matrix  # sums of the second, third and fourth powers of their distances from the mean
    third: Matrix
    fourth: Matrix
    steps: Matrix  # the squared distances from one reward to the next, summed


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
    if distance >= 0.0:  # not the first
        found.steps[m, i] += distance * distance
    else:
        found.first[m, i] = reward
    add_moments(found, m, i, reward - found.first[m, i])
    found.last[m, i] = reward


@kernel
def add_moments(found: RepeatArrays, m: int, i: int, value: float) -> None:
    """Add a value to the moments around the mean (Pebay's update); in place."""
    found.told[m, i] += 1.0
    count = found.told[m, i]
    apart = value - found.mean[m, i]
    part = apart / count
    second, third = found.second[m, i], found.third[m, i]
    term = apart * part * (count - 1.0)
    found.mean[m, i] += part
    found.fourth[m, i] += part * part * (term * (count * count - 3.0 * count + 3.0) + 6.0 * second) - 4.0 * part * third
    found.third[m, i] += part * (term * (count - 2.0) - 3.0 * second)
    found.second[m, i] += term
