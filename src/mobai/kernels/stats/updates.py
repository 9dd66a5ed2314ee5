"""How rewards enter the observations, one by one."""

from __future__ import annotations

import math

from mobai.kernels.jit.compiled import inner_kernel
from mobai.kernels.models.dispatch import compares_means, has_range, shares_noise, take_in
from mobai.kernels.models.shared import advance_opening
from mobai.kernels.models.unit import add_to_histogram
from mobai.kernels.stats.observations import OVER, ObservationArrays


@inner_kernel
def add_reward(obs: ObservationArrays, m: int, arm: int, reward: float) -> None:
    """Count one more reward of an arm, by Welford's update: no difference of large numbers; in place."""
    if math.isnan(obs.objectives.offset[m]):
        obs.objectives.offset[m] = reward
    if math.isnan(obs.first[m, arm]):
        obs.first[m, arm] = reward
    value, count = reward - obs.first[m, arm], obs.counts[m, arm]
    before = value
    if count == 0.0:
        obs.unobserved[0] -= 1
    else:
        before = obs.sums[m, arm] / count
    obs.counts[m, arm] = count + 1.0
    obs.sums[m, arm] += value
    mean = obs.sums[m, arm] / (count + 1.0)
    obs.means[m, arm] = (obs.first[m, arm] - obs.objectives.offset[m]) + mean
    obs.scatter[m, arm] += (value - before) * (value - mean)
    if has_range(obs, m) and obs.histograms.shape[2] > 0:
        add_to_histogram(obs, m, arm, value)
    if not compares_means(obs, m):
        take_in(obs, m, arm, reward)


@inner_kernel
def end_moment(obs: ObservationArrays) -> None:
    """Note, at the end of a moment, how far the openings are; in place.

    Not before: which of the rewards of one moment came first may depend on their values.
    """
    for m in range(len(obs.opening)):
        if shares_noise(obs, m) and obs.opening[m] < OVER:
            advance_opening(obs, m)
