"""The transport cost Z of every pair: what it would take to mistake an arm for the leader of its objective.

A reward changes one arm, so that arm's pair is renewed; where it leads, the whole row is stale and is renewed when
somebody asks for it. Only plain arithmetic, no reordering: costs that are kept up to date have the same bits as costs
computed from scratch.
"""

from __future__ import annotations

import math

from mobai.kernels.jit.compiled import entry, inner_kernel, kernel
from mobai.kernels.models import normal
from mobai.kernels.models.dispatch import (
    compares_means,
    estimate,
    estimated_cost,
    is_gaussian,
    renew_noise,
    shares_noise,
)
from mobai.kernels.programs.dense import Matrix
from mobai.kernels.stats.observations import ObservationArrays, find_leader, leader_after


@inner_kernel
def renew_pair(obs: ObservationArrays, m: int, best: int, i: int) -> None:
    """Renew the cost of one pair, both arms of which have rewards; in place."""
    if is_gaussian(obs, m):
        obs.costs[m, i] = normal.pair_cost(obs, m, best, i)
    else:
        obs.costs[m, i] = estimated_cost(obs, m, best, i)


@inner_kernel
def renew_row(obs: ObservationArrays, m: int) -> None:
    """Renew the costs of all pairs of an objective: infinite for the leader itself, 0 without rewards; in place."""
    best = obs.leaders[m]
    if is_gaussian(obs, m):
        renew_normal_row(obs.means, obs.spread, obs.costs, m, best, obs.objectives.eps[m])
    else:
        renew_estimated_row(obs, m, best)
    if obs.unobserved[0] > 0:
        forget_unobserved(obs.counts, obs.costs, m, best)
    obs.costs[m, best] = math.inf
    obs.stale[m] = 0


@kernel
def renew_normal_row(means: Matrix, spread: Matrix, costs: Matrix, m: int, best: int, eps: float) -> None:
    """Renew the costs of an objective's pairs where the noise is known; in place."""
    top, doubt = means[m, best] + eps, spread[m, best]
    for i in range(means.shape[1]):
        gap = max(top - means[m, i], 0.0)
        costs[m, i] = gap * gap / (2.0 * (doubt + spread[m, i]))


@kernel
def renew_estimated_row(obs: ObservationArrays, m: int, best: int) -> None:
    """Renew the costs of an objective's pairs where the noise is estimated; in place."""
    for i in range(obs.means.shape[1]):
        if i != best:
            obs.costs[m, i] = estimated_cost(obs, m, best, i)


@kernel
def forget_unobserved(counts: Matrix, costs: Matrix, m: int, best: int) -> None:
    """Set the costs of pairs without rewards to zero; in place."""
    for i in range(counts.shape[1]):
        if counts[m, i] == 0.0 or counts[m, best] == 0.0:
            costs[m, i] = 0.0


@inner_kernel
def refresh(obs: ObservationArrays) -> None:
    """Renew every row that is stale; in place."""
    for m in range(len(obs.stale)):
        if obs.stale[m]:
            renew_row(obs, m)


@inner_kernel
def renew_arm(obs: ObservationArrays, m: int, arm: int) -> None:
    """Bring an objective up to date after one arm's statistics have changed; in place."""
    renew_noise(obs, m, arm)
    best = leader_after(obs, m, arm)
    if arm == best or best != obs.leaders[m]:
        obs.leaders[m], obs.stale[m] = best, 1
    elif not obs.stale[m] and obs.counts[m, arm] > 0.0:
        # Without a reward the cost stays zero: nothing tells the two apart.
        renew_pair(obs, m, best, arm)


@entry
def renew(obs: ObservationArrays) -> None:
    """Find noise, leaders and costs from counts, means and scatter; in place."""
    obs.unobserved[0] = 0
    for m in range(len(obs.leaders)):
        for i in range(obs.means.shape[1]):
            if obs.counts[m, i] == 0.0:
                obs.means[m, i] = -math.inf
                obs.unobserved[0] += 1
            elif not compares_means(obs, m):
                obs.means[m, i] = estimate(obs, m, i)
            if i == 0 or not shares_noise(obs, m):
                renew_noise(obs, m, i)
        obs.leaders[m] = find_leader(obs.means, obs.eligible, m)
    for m in range(len(obs.leaders)):
        renew_row(obs, m)
