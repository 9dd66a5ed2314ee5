"""Track-and-Stop's choice. Definition: mobai.rules.sampling.track_and_stop."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, kernel
from mobai.kernels.models.dispatch import gap_between
from mobai.kernels.programs.dense import Integers, Vector, fill
from mobai.kernels.programs.oracle import find_weights
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.trials.sampling.planning import (
    CLOSED,
    PlanArrays,
    largest_noise,
    plan_with,
    relative_variance,
    shares_of_pulls,
    track,
)
from mobai.kernels.trials.trial import least_asked

TARGET_GAP = 1e-9
MOST_STEPS = 300
SMALLEST_SPREAD = 1e-30


@array_kernel
def choose(obs: ObservationArrays, asked: int, growth: float, plan: PlanArrays) -> int:
    """Explore when an arm lags behind, else take the arm furthest behind its weight; plan in place."""
    arm = least_asked(obs.asked)
    if obs.asked[arm] < math.sqrt(asked) - 0.5 * len(obs.asked):
        return arm
    if obs.limits.what.shape[0] > 0:
        if asked >= plan.due[0]:
            find_limited_oracle(obs, plan)
            plan.due[0] = asked * (1.0 + growth)
    elif renew_leaders(obs.leaders, plan.best) or asked >= plan.due[0]:
        find_oracle(obs, plan.weights)
        plan.due[0] = asked * (1.0 + growth)
    return track(obs.asked, plan.weights, asked + 1.0, 1.0)


@array_kernel
def find_limited_oracle(obs: ObservationArrays, plan: PlanArrays) -> None:
    """Fill in the oracle weights where there are guardrails: a row per objective, then one per guardrail."""
    rows, arms = plan.gaps.shape
    plan_with(obs, plan.gaps, plan.best, plan.codes)
    variance, own, lead = np.empty((rows, arms)), np.zeros((rows, arms)), np.zeros((rows, arms))
    relative_variance(obs, plan.best, variance)
    smallest = np.inf
    for m in range(rows):
        for i in range(arms):
            if i != plan.best[m]:
                spread = math.sqrt(variance[m, i] + variance[m, plan.best[m]])
                smallest = min(smallest, plan.gaps[m, i] / spread)
    if not smallest > 0.0:
        fill(plan.weights, 1.0 / arms)
        return
    for m in range(rows):
        for i in range(arms):
            if i != plan.best[m]:
                ratio = smallest / plan.gaps[m, i]
                own[m, i] = 2.0 * ratio * ratio * variance[m, i]
                lead[m, i] = 2.0 * ratio * ratio * variance[m, plan.best[m]]
    found, _, _ = find_weights(own, lead, plan.best, 0.0, TARGET_GAP, MOST_STEPS)
    shares_of_pulls(obs, found, plan.weights)
    share_out(plan.weights)


@kernel
def share_out(weights: Vector) -> None:
    """Make weights add up to one; in place."""
    mass = 0.0
    for i in range(len(weights)):
        mass += weights[i]
    for i in range(len(weights)):
        weights[i] /= mass


@kernel
def renew_leaders(leaders: Integers, best: Integers) -> bool:
    """Take the leaders over; whether they have changed."""
    changed = False
    for m in range(len(best)):
        changed = changed or best[m] != leaders[m]
        best[m] = leaders[m]
    return changed


@array_kernel
def find_oracle(obs: ObservationArrays, weights: Vector) -> None:
    """Fill in the oracle weights of the current means; even ones where a leader is tied."""
    objectives, arms = obs.means.shape
    smallest, largest = np.inf, 0.0
    gaps, variance = np.empty((objectives, arms)), np.empty((objectives, arms))
    relative_variance(obs, obs.leaders, variance)
    for m in range(objectives):
        b, noise = obs.leaders[m], largest_noise(obs, m)
        noise = noise if noise > 0.0 else 1.0
        for i in range(arms):
            gaps[m, i] = gap_between(obs, m, b, i) / noise / math.sqrt(variance[m, i] + variance[m, b])
            if i != b and obs.undecided[m]:
                smallest, largest = min(smallest, gaps[m, i]), max(largest, gaps[m, i])
    if not smallest > SMALLEST_SPREAD * largest:
        fill(weights, 1.0 / arms)
        return
    own, lead = np.zeros((objectives, arms)), np.zeros((objectives, arms))
    for m in range(objectives):
        b = obs.leaders[m]
        for i in range(arms):
            if i != b:
                ratio = smallest / gaps[m, i] if obs.undecided[m] else 1.0 / CLOSED
                scale = 2.0 * ratio * ratio / (variance[m, i] + variance[m, b])
                own[m, i], lead[m, i] = scale * variance[m, i], scale * variance[m, b]
    found, _, _ = find_weights(own, lead, obs.leaders, 0.0, TARGET_GAP, MOST_STEPS)
    shares_of_pulls(obs, found, weights)
    share_out(weights)
