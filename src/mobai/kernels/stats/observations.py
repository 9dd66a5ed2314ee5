"""What has been observed, in the arrays that every kernel reads: objective by arm."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from mobai.kernels.evidence.coupled import Workspace
from mobai.kernels.jit.compiled import inner_kernel, kernel
from mobai.kernels.programs.dense import Cube, Integers, IntMatrix, Matrix, Vector

# How the rewards of an objective are modelled: known sd, unknown sd per arm, a known range, one unknown sd.
NORMAL, STUDENT, UNIT, SHARED = 0, 1, 2, 3
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

# A standard deviation nothing is known about yet: no difference is worth anything.
UNKNOWN = 1e150
# The error of a mean is at most about this, relative to its size and to the sum it comes from.
ROUNDING = 1e-15


class ObjectiveArrays(NamedTuple):
    """What is known about each objective."""

    model: Integers  # NORMAL, STUDENT, UNIT or SHARED
    offset: Vector  # what means are relative to: the lower end of the range, else the first reward; NaN before it
    width: Vector  # of their range; UNIT only
    eps: Vector  # the indifference zone
    bins: Integers  # into how many the range is divided for the histograms; UNIT only


class LimitArrays(NamedTuple):
    """The guardrails, and what is known of every arm in view of them."""

    what: IntMatrix  # METRIC, SIDE (+1: the mean must be above, -1: below) and BASELINE (an arm, or -1)
    terms: Matrix  # LIMIT (oriented; of a margin, its size) and TOLERANCE
    evidence: Cube  # KEPT or BROKEN, guardrail, arm: the largest there has been, in nats
    settled: IntMatrix  # guardrail, arm: a LimitState, at the delta that sampling works for
    touched: Integers  # of each arm: 1 if it was told something in this moment


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
def cautious_scatter(obs: ObservationArrays, m: int, i: int) -> float:
    """Return an arm's scatter in a known range, as if there had been half a reward more at either end of it.

    Equal first rewards do not look like rewards that never vary. Of coins it is what the mean says.
    """
    n, p, width = max(count_of(obs, m, i), 1.0), position(obs, m, i), obs.objectives.width[m]
    mean = (n * p + 0.5) / (n + 1.0)
    if obs.objectives.bins[m] == 1:
        return width * width * n * mean * (1.0 - mean)
    within = scatter_of(obs, m, i) / (width * width)
    return width * width * n * max((within + n * p * p + 0.5) / (n + 1.0) - mean * mean, 0.0)


@kernel
def position(obs: ObservationArrays, m: int, i: int) -> float:
    """Return where an arm's mean lies in the range of its objective, between 0 and 1."""
    return min(max(obs.means[m, i] / obs.objectives.width[m], 0.0), 1.0)


@kernel
def gap_between(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return how far an arm is behind the leader, plus eps.

    Where the noise is unknown, what rounding can do to the two means is taken off: next to no scatter, it would be
    taken for a difference.
    """
    gap = obs.means[m, best] - obs.means[m, i] + obs.objectives.eps[m]
    if obs.objectives.model[m] == STUDENT:
        spans = abs(obs.sums[m, best]) + abs(obs.sums[m, i])
        gap -= ROUNDING * (abs(obs.means[m, best]) + abs(obs.means[m, i]) + spans)
        if obs.scatter[m, best] == 0.0 and obs.scatter[m, i] == 0.0:
            # Rewards that never vary: their last digit is no difference either.
            gap -= ROUNDING * abs(obs.objectives.offset[m])
        gap = max(gap, 0.0)
    return gap


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
    if obs.objectives.model[m] == UNIT and obs.histograms.shape[2] > 0:
        add_to_histogram(obs, m, arm, value)


@kernel
def add_to_histogram(obs: ObservationArrays, m: int, arm: int, value: float) -> None:
    """Enter a reward into its arm's histogram, spread over the two nearest points, which keeps the mean; in place."""
    last = obs.objectives.bins[m]
    place = min(max(value * last / obs.objectives.width[m], 0.0), float(last))
    j = min(int(place), last - 1)
    obs.histograms[m, arm, j] += 1.0 - (place - j)
    obs.histograms[m, arm, j + 1] += place - j


@inner_kernel
def end_moment(obs: ObservationArrays) -> None:
    """Note, at the end of a moment, how far the openings are; in place.

    Not before: which of the rewards of one moment came first may depend on their values.
    """
    for m in range(len(obs.opening)):
        if obs.objectives.model[m] == SHARED and obs.opening[m] < OVER:
            advance_opening(obs, m)


@kernel
def advance_opening(obs: ObservationArrays, m: int) -> None:
    """Note which arms have two rewards, and whether every arm of the start that takes part has; in place."""
    some, complete, scatter = False, True, 0.0
    for i in range(obs.initial[0]):
        count = obs.counts[m, i]
        some, scatter = some or count > 0.0, scatter + obs.scatter[m, i]
        complete = complete and (count >= 2.0 or not obs.active[i])
        if count >= 2.0 and math.isnan(obs.early[m, i, PAIR]):
            obs.early[m, i, PAIR] = obs.scatter[m, i] if count == 2.0 else math.inf
    if complete and scatter > 0.0:
        obs.opening[m] = AT_ONCE if obs.opening[m] == UNSEEN else OVER
        for i in range(obs.counts.shape[1]):
            if obs.counts[m, i] > 0.0:
                obs.early[m, i, COUNT] = obs.counts[m, i]
                obs.early[m, i, SUM] = obs.sums[m, i]
                obs.early[m, i, SCATTER] = obs.scatter[m, i]
        renew_shared_noise(obs, m)
    elif some:
        obs.opening[m] = BEGUN


@kernel
def renew_shared_noise(obs: ObservationArrays, m: int) -> None:
    """Estimate the standard deviation of all arms of an objective; in place."""
    scatter, degrees, sd = 0.0, 0.0, UNKNOWN
    for i in range(obs.counts.shape[1]):
        scatter += obs.scatter[m, i]
        degrees += max(obs.counts[m, i] - 1.0, 0.0)
    if obs.opening[m] >= OVER:
        sd = math.sqrt(scatter / degrees)
    for i in range(obs.counts.shape[1]):
        obs.sd[m, i] = sd
        obs.spread[m, i] = sd * sd / max(count_of(obs, m, i), 1.0)
    obs.stale[m] = 1


@inner_kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Renew an arm's standard deviation, where it is not known, and the variance of its mean; in place.

    One that is shared is renewed for all arms.
    """
    if obs.objectives.model[m] == NORMAL:
        obs.spread[m, i] = obs.sd[m, i] * obs.sd[m, i] / max(count_of(obs, m, i), 1.0)
    else:
        estimate_noise(obs, m, i)


@kernel
def estimate_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Estimate an arm's standard deviation and the variance of its mean; in place."""
    count = max(count_of(obs, m, i), 1.0)
    if obs.objectives.model[m] == SHARED:
        renew_shared_noise(obs, m)
        return
    if obs.objectives.model[m] == STUDENT:
        obs.sd[m, i] = math.sqrt(scatter_of(obs, m, i) / count)
    else:
        obs.sd[m, i] = math.sqrt(cautious_scatter(obs, m, i) / count)
    obs.spread[m, i] = obs.sd[m, i] * obs.sd[m, i] / count


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
