"""What the rules that solve programs share: the empirical gaps in the solver's units, and tracking weights."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mobai.kernels.evidence.limits import distance, easiest_to_break
from mobai.kernels.jit.compiled import kernel, record
from mobai.kernels.models.dispatch import gap_between, knows_noise, planning_noise
from mobai.kernels.programs.dense import Integers, Matrix, Vector
from mobai.kernels.stats.observations import (
    BASELINE,
    BROKEN,
    FREE,
    KEPT,
    LIMIT_OPEN,
    METRIC,
    ObservationArrays,
    renew_costs,
)

# Beside the largest gap a smaller one than this is a tie.
LEAST_SHARE_OF_GAP = 1e-60
# What is asked of an arm that a row does not speak of, until gaps are in units of the largest.
NO_NEED = -1.0
# The gap of pairs that need no samples, beside the largest.
CLOSED = 1e3
# An estimated variance below this share of the largest is taken for it.
LEAST_ESTIMATE = 1e-4


@record
class PlanArrays(NamedTuple):
    """What the rules that solve programs carry from pull to pull; each uses what it needs.

    There is a row per objective, and then one per guardrail.
    """

    weights: Vector  # those being tracked; for MO-BAI, what each arm is owed
    gaps: Matrix  # of the instance planned with
    best: Integers  # the leaders it was planned with, -1 at first; of a guardrail, the baseline or an arm of no concern
    codes: Integers  # where the last programs ended: what held every arm and what was tight
    shares: Matrix  # the same: the solutions
    due: Vector  # one number: how many pulls there must be before the weights are renewed


@kernel
def metric_of(obs: ObservationArrays, rows: int, row: int) -> int:
    """Return the metric that a row of a plan speaks of."""
    objectives = rows - obs.limits.what.shape[0]
    return row if row < objectives else obs.limits.what[row - objectives, METRIC]


@kernel
def relative_variance(obs: ObservationArrays, best: Integers, variance: Matrix) -> None:
    """Fill in variances in units of each row's largest; estimates near zero are not believed.

    Where pulls cost something, an arm's variance is that of what a unit of money buys of it: what is then shared out is
    the spend. A limit is known exactly: where a row is about one, what stands for the best arm has no variance.
    """
    rows = variance.shape[0]
    objectives = rows - obs.limits.what.shape[0]
    renew_costs(obs)
    dearest = dearest_of(obs)
    for row in range(rows):
        m = metric_of(obs, rows, row)
        largest = largest_noise(obs, m)
        known = knows_noise(obs, m)
        for i in range(variance.shape[1]):
            share = planning_noise(obs, m, i) / largest if largest > 0.0 else 1.0
            variance[row, i] = share * share if known else max(share * share, LEAST_ESTIMATE)
            if obs.costs_by[0] != FREE:
                variance[row, i] *= obs.cost_of[i] / dearest
        if row >= objectives and obs.limits.what[row - objectives, BASELINE] < 0 and best[row] >= 0:
            variance[row, best[row]] = 0.0


@kernel
def dearest_of(obs: ObservationArrays) -> float:
    """Return what a pull of the dearest arm costs."""
    found = 0.0
    for i in range(len(obs.cost_of)):
        found = max(found, obs.cost_of[i])
    return found


@kernel
def shares_of_pulls(obs: ObservationArrays, spend: Vector, pulls: Vector) -> None:
    """Fill in which shares of the pulls are these shares of the spend: the same ones where every pull costs as much."""
    for i in range(len(spend)):
        pulls[i] = spend[i]
    if obs.costs_by[0] != FREE:
        total = 0.0
        for i in range(len(spend)):
            pulls[i] = spend[i] / obs.cost_of[i]
            total += pulls[i]
        for i in range(len(spend)):
            pulls[i] /= total


@kernel
def shares_of_spend(obs: ObservationArrays, weights: Vector) -> None:
    """Turn shares of the pulls into shares of the spend; in place."""
    if obs.costs_by[0] != FREE:
        total = 0.0
        for i in range(len(weights)):
            weights[i] *= obs.cost_of[i]
            total += weights[i]
        for i in range(len(weights)):
            weights[i] /= total


@kernel
def largest_noise(obs: ObservationArrays, m: int) -> float:
    """Return the largest standard deviation to plan with."""
    largest = planning_noise(obs, m, 0)
    for i in range(1, obs.sd.shape[1]):
        largest = max(largest, planning_noise(obs, m, i))
    return largest


@kernel
def has_estimates(obs: ObservationArrays) -> bool:
    """Whether some objective's noise is estimated, so that it changes from pull to pull."""
    found = False
    for m in range(len(obs.leaders)):
        found = found or not knows_noise(obs, m)
    return found


@kernel
def largest_in_row(table: Matrix, m: int) -> float:
    """Return the largest number of a row."""
    largest = table[m, 0]
    for i in range(1, table.shape[1]):
        largest = max(largest, table[m, i])
    return largest


@kernel
def plan_with(obs: ObservationArrays, gaps: Matrix, best: Integers, codes: Integers) -> float:
    """Take over the current means: gaps over each objective's noise, in units of the largest; return that unit.

    When a leader has changed, the bases of earlier programs are forgotten.
    """
    rows, arms = gaps.shape
    objectives = rows - obs.limits.what.shape[0]
    unit, changed = 0.0, False
    for m in range(objectives):
        b, noise = obs.leaders[m], largest_noise(obs, m)
        noise = noise if noise > 0.0 else 1.0
        changed = changed or best[m] != b
        best[m] = b
        for i in range(arms):
            gaps[m, i] = gap_between(obs, m, b, i) / noise if i != b else 0.0
            unit = max(unit, gaps[m, i])
    if objectives < rows:
        changed = plan_limits(obs, gaps, best) or changed
        unit = 0.0
        for m in range(rows):
            unit = max(unit, largest_in_row(gaps, m))
    if changed:
        for row in range(codes.shape[0]):
            codes[row, 0] = -1
    if unit == 0.0:
        return 1.0
    for m in range(rows):
        for i in range(arms):
            share = gaps[m, i] / unit
            closed = gaps[m, i] == NO_NEED or (m < objectives and not obs.undecided[m])
            gaps[m, i] = share if share >= LEAST_SHARE_OF_GAP else 0.0
            if closed and i != best[m]:
                gaps[m, i] = CLOSED
    return unit


@kernel
def plan_limits(obs: ObservationArrays, gaps: Matrix, best: Integers) -> bool:
    """Fill in the rows of guardrails: how far leaders keep them, and how far rivals break them; in place.

    A rival that is more easily shown to break a limit than to be worse needs no pair. Returns whether an arm that
    stands for a limit has changed.
    """
    rows, arms = gaps.shape
    objectives = rows - obs.limits.what.shape[0]
    for c in range(rows - objectives):
        for i in range(arms):
            gaps[objectives + c, i] = NO_NEED
    for m in range(objectives):
        if not obs.undecided[m]:
            continue
        leader = obs.leaders[m]
        for c in range(rows - objectives):
            if obs.limits.settled[c, leader] == LIMIT_OPEN and obs.limits.what[c, BASELINE] != leader:
                gaps[objectives + c, leader] = standardised(obs, c, leader, KEPT)
        for i in range(arms):
            if i == leader:
                continue
            cost, c = easiest_to_break(obs, i)
            if cost > pair_cost(obs, m, leader, i) and cost < math.inf:
                gaps[objectives + c, i] = standardised(obs, c, i, BROKEN)
            if cost > pair_cost(obs, m, leader, i):
                gaps[m, i] = NO_NEED
    changed = False
    for c in range(rows - objectives):
        stands = obs.limits.what[c, BASELINE]
        if stands < 0:
            stands = of_least_concern(gaps, objectives + c)
        changed = changed or best[objectives + c] != stands
        best[objectives + c] = stands
    return changed


@kernel
def pair_cost(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return the transport cost of a pair, as if both arms were Gaussian; 0 if the rival is better."""
    gap = max(obs.means[m, best] + obs.objectives.eps[m] - obs.means[m, i], 0.0)
    spread = obs.spread[m, best] + obs.spread[m, i]
    return gap * gap / (2.0 * spread) if spread > 0.0 else 0.0


@kernel
def standardised(obs: ObservationArrays, c: int, i: int, claim: int) -> float:
    """Return how far an arm is on the side that a claim speaks of, over the noise of its metric; else 0."""
    noise = largest_noise(obs, obs.limits.what[c, METRIC])
    return max(distance(obs, c, i, claim), 0.0) / (noise if noise > 0.0 else 1.0)


@kernel
def of_least_concern(gaps: Matrix, row: int) -> int:
    """Return an arm of which a row asks for nothing, or else for the least samples."""
    place = 0
    for i in range(gaps.shape[1]):
        if gaps[row, i] == NO_NEED:
            return i
        if gaps[row, i] > gaps[row, place]:
            place = i
    return place


@kernel
def track(asked: Integers, weights: Vector, t: float, sign: float) -> int:
    """Return the arm furthest behind its weight (or furthest ahead of it, with the sign as printed)."""
    arm, most = 0, -np.inf
    for i in range(len(weights)):
        behind = sign * (t * weights[i] - asked[i])
        if behind > most:
            arm, most = i, behind
    return arm
