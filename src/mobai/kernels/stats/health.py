"""What is followed of the rewards to see whether something is wrong: outliers, ends of ranges, drift."""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import entry, kernel, record
from mobai.kernels.models.dispatch import has_range, knows_noise
from mobai.kernels.programs.dense import Cube, Integers, IntMatrix, Matrix, Vector, copy
from mobai.kernels.stats.observations import ObservationArrays


@record
class HealthArrays(NamedTuple):
    """Per metric, or per metric and arm."""

    far: IntMatrix  # rewards further from their mean than chance explains
    at_top: IntMatrix  # rewards at the upper end of their range
    border: IntMatrix  # at how many rewards the statistics are noted again
    early: Cube  # count, mean, scatter and histogram when they were noted last
    earlier: Cube  # and the time before
    top: Vector  # the upper end of the range in its own direction, oriented
    patience: Vector  # one number: the evidence against chance that makes a reward an outlier, in nats


@entry
def note_rewards(health: HealthArrays, obs: ObservationArrays, arms: Integers, rewards: Matrix) -> None:
    """Take in oriented rewards, NaN where one is missing, that the observations have in them already; in place."""
    for n in range(len(arms)):
        note_pull(health, obs, arms[n], rewards[n])


@kernel
def note_pull(health: HealthArrays, obs: ObservationArrays, arm: int, rewards: Vector) -> None:
    """Take in the rewards of one pull; in place."""
    for m in range(len(rewards)):
        if math.isnan(rewards[m]):
            continue
        if knows_noise(obs, m):
            if is_far(health, obs, m, arm, rewards[m]):
                health.far[m, arm] += 1
        elif has_range(obs, m) and rewards[m] == health.top[m]:
            health.at_top[m, arm] += 1
        if obs.counts[m, arm] >= health.border[m, arm]:
            move_border(health, obs, m, arm)


@kernel
def is_far(health: HealthArrays, obs: ObservationArrays, m: int, arm: int, reward: float) -> bool:
    """Whether a reward is further from its arm's mean than one in a thousand experiments would ever see."""
    n = obs.counts[m, arm]
    if n < 2.0:
        return False
    # The mean has the reward in it: its own deviation is n / (n - 1) times as large, with a variance of n / (n - 1).
    apart = (reward - (obs.means[m, arm] + obs.objectives.offset[m])) / obs.sd[m, arm] * math.sqrt(n / (n - 1.0))
    return apart * apart > 2.0 * (health.patience[0] + 2.0 * math.log(n))


@kernel
def move_border(health: HealthArrays, obs: ObservationArrays, m: int, arm: int) -> None:
    """Note the statistics of an arm, and when to do so again: once its rewards have doubled; in place."""
    early = health.early[m, arm]
    copy(early, health.earlier[m, arm])
    early[0], early[1], early[2] = obs.counts[m, arm], obs.means[m, arm], obs.scatter[m, arm]
    copy(obs.histograms[m, arm], early[3:])
    health.border[m, arm] = 2 * int(obs.counts[m, arm])
