"""Rewards that equal the one before them: under a continuous family there are none, but for rounding."""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.compiled import entry
from mobai.kernels.dense import Integers, Matrix


class RepeatArrays(NamedTuple):
    """Per objective and arm."""

    last: Matrix  # the latest reward, NaN before the first
    repeats: Matrix  # how many rewards equalled the one before
    step: Matrix  # the smallest distance from one reward to the next that is not zero; infinite if there is none


@entry
def count_repeats(found: RepeatArrays, arms: Integers, rewards: Matrix) -> None:
    """Take in the rewards of several pulls, NaN where one is missing; in place."""
    for n in range(len(arms)):
        for m in range(rewards.shape[1]):
            reward, i = rewards[n, m], arms[n]
            if math.isnan(reward):
                continue
            distance = abs(reward - found.last[m, i])
            if distance == 0.0:
                found.repeats[m, i] += 1.0
            elif distance < found.step[m, i]:
                found.step[m, i] = distance
            found.last[m, i] = reward
