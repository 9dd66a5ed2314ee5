"""MO-BAI's choice. Definition: mobai.rules.sampling.mo_bai."""

from __future__ import annotations

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, kernel
from mobai.kernels.programs.dense import Matrix
from mobai.kernels.programs.surrogate import solve_from
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.trials.sampling.planning import (
    CLOSED,
    PlanArrays,
    plan_with,
    relative_variance,
    shares_of_pulls,
    shares_of_spend,
)
from mobai.kernels.trials.trial import first_largest


@array_kernel
def choose(obs: ObservationArrays, variance: Matrix, asked: int, floor: float, every: bool, plan: PlanArrays) -> int:
    """Solve the program at the weights asked so far and take the arm with the largest credit; plan in place."""
    t = asked + 1
    if every or plan.best[0] < 0 or t & (t - 1) == 0 or closed_since(obs, plan):
        plan_with(obs, plan.gaps, plan.best, plan.codes)
        if obs.limits.what.shape[0] > 0:
            relative_variance(obs, plan.best, variance)
    credit, weights, shares = plan.weights, np.empty(len(plan.weights)), np.empty(len(plan.weights))
    for i in range(len(credit)):
        weights[i] = (obs.asked[i] + credit[i]) / asked
    shares_of_spend(obs, weights)
    solve_from(plan.gaps, variance, plan.best, weights, floor, plan.codes, plan.shares)
    shares_of_pulls(obs, plan.shares[0], shares)
    for i in range(len(credit)):
        credit[i] += shares[i]
    arm = first_largest(credit)
    credit[arm] -= 1.0
    return arm


@kernel
def closed_since(obs: ObservationArrays, plan: PlanArrays) -> bool:
    """Whether an objective needs no more samples that did when the gaps were planned with."""
    found = False
    for m in range(len(plan.best) - obs.limits.what.shape[0]):
        rival = 1 if plan.best[m] == 0 else 0
        found = found or (not obs.undecided[m] and plan.gaps[m, rival] != CLOSED)
    return found
