"""What has been observed, in the arrays that every kernel reads: objective by arm."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from mobai.kernels.evidence.coupled import Workspace
from mobai.kernels.jit.compiled import inner_kernel, kernel, record
from mobai.kernels.programs.dense import Cube, Integers, IntMatrix, Matrix, Vector

# How the rewards of an objective are modelled: known sd, unknown sd per arm, a known range, one unknown sd; or nothing
# is known of them, and a quantile is compared; or they are pairs, and the ratio of their totals is.
MODELS = ("normal", "student", "unit", "shared", "quantile", "ratio")
NORMAL, STUDENT, UNIT, SHARED, QUANTILE, RATIO = range(len(MODELS))
# What is kept of the opening of an objective with one unknown sd, by arm: rewards, their sum, their scatter; and the
# scatter of the first two, NaN as long as it is not known, infinite if there was never a moment with two.
COUNT, SUM, SCATTER, PAIR = 0, 1, 2, 3
# How far that opening is: no reward, some, two of every arm, two of every arm in a single moment.
UNSEEN, BEGUN, OVER, AT_ONCE = 0, 1, 2, 3
# The columns of what guardrails are and of their terms; what can be said of an arm.
METRIC, SIDE, BASELINE = 0, 1, 2
LIMIT, TOLERANCE = 0, 1
KEPT, BROKEN = 0, 1


class LimitState(IntEnum):
    """What can be said of an arm and a limit."""

    OPEN = 0
    KEPT = 1
    BROKEN = 2


LIMIT_OPEN, LIMIT_BROKEN = int(LimitState.OPEN), int(LimitState.BROKEN)  # for kernels

# Where what a pull costs comes from, unless from a metric: every pull costs the same, or it is stated by arm.
FREE, STATED = -2, -1
# No arm is taken for cheaper than this share of what pulls cost on average.
LEAST_COST = 1e-3
# Sampling weighs costs to this power: where counts are very uneven, evidence grows slower than the bound promises
# (docs/decisions/0019).
COST_POWER = 0.75
# A standard deviation nothing is known about yet: no difference is worth anything.
UNKNOWN = 1e150
# The error of a mean is at most about this, relative to its size and to the sum it comes from.
ROUNDING = 1e-15


@record
class ObjectiveArrays(NamedTuple):
    """What is known about each objective."""

    model: Integers  # NORMAL, STUDENT, UNIT, SHARED, QUANTILE or RATIO
    offset: Vector  # what means are relative to: the lower end of the range, else the first reward; NaN before it
    width: Vector  # of their range; UNIT only
    eps: Vector  # the indifference zone
    bins: Integers  # into how many the range is divided for the histograms; UNIT only


@record
class QuantileArrays(NamedTuple):
    """What is known about objectives of which a quantile is compared, and how many rewards lie where."""

    level: Vector  # which quantile of the oriented rewards; 0 for objectives of another model
    last: Integers  # the number of their last edge
    edges: Matrix  # between which oriented rewards are counted
    gains: Matrix  # the logarithms of what a bet makes of its stake when it wins: of those above, then of those below
    reached: Cube  # objective, arm, edge: how many rewards are at most it


@record
class RatioArrays(NamedTuple):
    """What is known about objectives of which a ratio of totals is compared, and how many pairs lie where."""

    sign: Vector  # of each objective: -1 where a small ratio is better
    scale: Vector  # the largest numerator over the largest denominator
    middle: Vector  # the denominator of pairs that are made up, as a share of the largest
    points: IntMatrix  # into how many steps numerators and denominators are divided
    sums: Cube  # objective, arm: of numerators, denominators and their products
    grid: Cube  # objective, arm, point; where evidence is weighed


@record
class LimitArrays(NamedTuple):
    """The guardrails, and what is known of every arm in view of them."""

    what: IntMatrix  # METRIC, SIDE (+1: the mean must be above, -1: below) and BASELINE (an arm, or -1)
    terms: Matrix  # LIMIT (oriented; of a margin, its size) and TOLERANCE
    evidence: Cube  # KEPT or BROKEN, guardrail, arm: the largest there has been, in nats
    settled: IntMatrix  # guardrail, arm: a LimitState, at the delta that sampling works for
    touched: Integers  # of each arm: 1 if it was told something in this moment


@record
class ObservationArrays(NamedTuple):
    """The statistics of every arm, and what follows from them.

    Sums are relative to the first reward of their arm and means to the offset of their objective, so that large rewards
    keep their differences. Pending rewards count as if they had come and were like the others, which spreads sampling;
    where evidence is weighed there are none.
    """

    objectives: ObjectiveArrays
    active: Integers  # of each arm: 1 if it takes part
    eligible: Integers  # of each arm: 1 if it may lead; the same as active without guardrails
    asked: Integers  # of each arm: how often it was asked for
    answered: Integers  # of each arm: how many of those pulls have been answered
    pending: IntMatrix  # rewards that may still come, and count as if they had
    counts: Matrix  # rewards
    first: Matrix  # what the sums are relative to: the arm's first reward, or the lower end of the range; NaN before it
    sums: Matrix
    means: Matrix  # relative to the offset of the objective; minus infinity without a reward
    scatter: Matrix  # squared distances from the mean, summed
    histograms: Cube  # UNIT only, and where evidence is weighed: objective, arm, point of the range
    worst: Matrix  # UNIT only: rewards that never came, and count as the worst that there could be
    work: Workspace  # room for a search
    early: Cube  # SHARED only: objective, arm, and COUNT, SUM, SCATTER, PAIR
    opening: Integers  # of each objective: UNSEEN, BEGUN, OVER or AT_ONCE; SHARED only
    initial: Integers  # one number: how many arms there were at the start; they come first
    sd: Matrix  # known, or estimated
    spread: Matrix  # the variance of each mean, sd^2 / count
    leaders: Integers  # of each objective: the eligible arm with the largest mean, the first in a tie
    costs: Matrix  # what it would take to mistake each arm for the leader: the transport cost
    stale: Integers  # of each objective: 1 if its costs are not up to date
    undecided: Integers  # of each objective: 1 if it is to be sampled for
    unobserved: Integers  # one number: how many arms and objectives have no reward
    quantiles: QuantileArrays  # QUANTILE only
    ratios: RatioArrays  # RATIO only
    costs_by: Integers  # the metric whose mean is what a pull costs, FREE or STATED; and its sign
    cost_of: Vector  # how much a pull of each arm costs, damped, which sampling reads and evidence does not
    limits: LimitArrays  # the guardrails


@inner_kernel
def count_of(obs: ObservationArrays, m: int, i: int) -> float:
    """Return how many rewards an arm has, pending ones included."""
    return obs.counts[m, i] + obs.pending[m, i]


@kernel
def scatter_of(obs: ObservationArrays, m: int, i: int) -> float:
    """Return an arm's scatter, pending rewards included as if they scattered like the others."""
    if obs.pending[m, i] == 0:
        return obs.scatter[m, i]
    return obs.scatter[m, i] * (count_of(obs, m, i) / max(obs.counts[m, i], 1.0))


@kernel
def renew_costs(obs: ObservationArrays) -> None:
    """Estimate what a pull of each arm costs, where a metric says it; an arm without rewards costs what others do."""
    m = obs.costs_by[0]
    if m < 0:
        return
    total, count = 0.0, 0.0
    for i in range(len(obs.cost_of)):
        if obs.counts[m, i] > 0.0:
            total += obs.counts[m, i] * obs.costs_by[1] * (obs.means[m, i] + obs.objectives.offset[m])
            count += obs.counts[m, i]
    average = total / count if total > 0.0 else 1.0
    for i in range(len(obs.cost_of)):
        own = average
        if obs.counts[m, i] > 0.0:
            own = obs.costs_by[1] * (obs.means[m, i] + obs.objectives.offset[m])
        obs.cost_of[i] = max(own / average, LEAST_COST) ** COST_POWER


@kernel
def breaks_limits(obs: ObservationArrays, i: int) -> float:
    """Return the largest evidence there has been that an arm breaks some limit; minus infinity without limits."""
    most = -math.inf
    for c in range(obs.limits.what.shape[0]):
        most = max(most, obs.limits.evidence[BROKEN, c, i])
    return most


@kernel
def keeps_limits(obs: ObservationArrays, i: int) -> float:
    """Return the smallest evidence there has been that an arm keeps each limit; infinity without limits."""
    least = math.inf
    for c in range(obs.limits.what.shape[0]):
        if obs.limits.what[c, BASELINE] != i:
            least = min(least, obs.limits.evidence[KEPT, c, i])
    return least


@kernel
def find_leader(means: Matrix, eligible: Integers, m: int) -> int:
    """Return the eligible arm with the largest mean, the first in a tie."""
    best = -1
    for i in range(means.shape[1]):
        if eligible[i] and (best < 0 or means[m, i] > means[m, best]):
            best = i
    return best


@inner_kernel
def leader_after(obs: ObservationArrays, m: int, arm: int) -> int:
    """Return the leader of an objective after one arm's mean has changed."""
    best = obs.leaders[m]
    if arm == best:
        return find_leader(obs.means, obs.eligible, m)
    if obs.eligible[arm] and (
        obs.means[m, arm] > obs.means[m, best] or (obs.means[m, arm] == obs.means[m, best] and arm < best)
    ):
        return arm
    return best
