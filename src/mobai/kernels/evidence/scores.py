"""The evidence of pairs: what each threshold's score makes of the rewards, and what each pair pays.

Where no score exceeds the transport cost by much (``largest_score``), most questions ("is there more evidence than
this?") are settled without one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.evidence.costs import renew_pair, renew_row
from mobai.kernels.jit.compiled import entry, inner_kernel, kernel, record
from mobai.kernels.models.dispatch import largest_score, likelihood_cost, noise_at, pair_score
from mobai.kernels.programs.dense import Integers, Vector
from mobai.kernels.stats.observations import ObservationArrays, breaks_limits, keeps_limits

# The thresholds of mobai.theory.thresholds.
MIXTURE, KAUFMANN_KOOLEN, THEORY, EMPIRICAL = 0, 1, 2, 3


@record
class Prices(NamedTuple):
    """What pairs pay when arms come and go (mobai.rules.stopping.roster), in nats."""

    surcharges: Vector  # of each arm, against arms that were there before it; 0 for initial arms
    all_pairs: float  # of two initial arms, when nothing is known about retired ones
    retired: Integers  # the initial arms that were retired


class Scoring(NamedTuple):
    """How pairs are scored at one moment."""

    kind: int  # MIXTURE, KAUFMANN_KOOLEN, THEORY or EMPIRICAL
    prices: Prices
    pulls: float  # answered so far


@entry
def penalty_of(kind: int, leader: float, other: float, pulls: float, pairs: int) -> float:
    """Return what the thresholds of the form ``Z - penalty`` take off."""
    t = max(pulls, 1.0)
    if kind == KAUFMANN_KOOLEN:
        return 2.0 * (math.log(4.0 + math.log(leader)) + math.log(4.0 + math.log(other)))
    if kind == THEORY:
        return pairs * (math.log(t) + math.log1p(t))
    return math.log1p(math.log(t))


@kernel
def score_of(
    scoring: Scoring, obs: ObservationArrays, m: int, i: int, noise: float, alone: bool, level: float, beyond: float
) -> float:
    """Return the evidence of an arm's pair with the leader, whatever the family; its cost must be up to date.

    ``noise`` is the bound of a shared standard deviation, where there is one. A pair that stands ``alone`` is not one
    of the start's best arm with its rivals, whose errors have that arm in common. Where the evidence is not above
    ``level``, any number that is not may come back, and where it is above ``beyond``, any that is.
    """
    z, b = obs.costs[m, i], obs.leaders[m]
    n_b, n_i, eps = obs.counts[m, b], obs.counts[m, i], obs.objectives.eps[m]
    if n_b == 0.0 or n_i == 0.0:
        return z
    if obs.limits.what.shape[0] > 0 and obs.means[m, b] + eps < obs.means[m, i]:
        return -math.inf  # better, but it does not seem to keep every limit
    if scoring.kind != MIXTURE:
        penalty = penalty_of(scoring.kind, n_b, n_i, scoring.pulls, obs.costs.size)
        return likelihood_cost(obs, m, b, i) - penalty
    return pair_score(obs, m, b, i, eps, noise, 1.0 if alone else float(obs.initial[0] - 1), level, beyond)


@kernel
def stands_alone(obs: ObservationArrays, one: int, other: int, every_pair: bool) -> bool:
    """Whether a pair is not one of the start's best arm with its rivals: an arm was added, or every pair counts."""
    return every_pair or max(one, other) >= obs.initial[0]


@kernel
def price_of(prices: Prices, obs: ObservationArrays, one: int, other: int, every_pair: bool) -> float:
    """Return what a pair pays: what the later of its arms does, of initial arms only if every pair counts."""
    if max(one, other) >= obs.initial[0]:
        return prices.surcharges[max(one, other)]
    return prices.all_pairs if every_pair else 0.0


@inner_kernel
def priced_evidence(
    scoring: Scoring, every_pair: bool, obs: ObservationArrays, m: int, i: int, noise: float, level: float
) -> float:
    """Return the evidence of a pair, less what it pays; any number on the same side of the level will do."""
    b = obs.leaders[m]
    price = price_of(scoring.prices, obs, b, i, every_pair)
    broken = -math.inf
    if obs.limits.what.shape[0] > 0:
        broken = breaks_limits(obs, i) - scoring.prices.surcharges[i]
        if broken > level:
            return broken
    most = largest_score(obs, m, i) - price
    if most <= level:
        return max(most, broken)
    alone = stands_alone(obs, b, i, every_pair)
    return max(score_of(scoring, obs, m, i, noise, alone, level + price, level + price) - price, broken)


@inner_kernel
def weakest_pair(
    scoring: Scoring, every_pair: bool, obs: ObservationArrays, block: Integers, first: int, last: int, level: float
) -> float:
    """Return the smallest evidence of the pairs of objectives ``first`` to ``last - 1``, less what they pay.

    Any number on the same side of the level may come back. The pair that was found then last time
    (``block``: objective, leader, arm; changed in place) is tried first, before stale costs are renewed.
    """
    arms = obs.means.shape[1]
    objective, rival = max(block[0] - first, 0), max(block[2], 0)
    least = math.inf
    for turn in range(last - first):
        m = first + moved_to_front(turn, objective)
        b = obs.leaders[m]
        if obs.limits.what.shape[0] > 0:
            least = min(least, keeps_limits(obs, b) - scoring.prices.surcharges[b])
            if least <= level:
                return least
        noise = noise_at(obs, m, level)
        if obs.stale[m] and rival != b and obs.counts[m, rival] > 0.0 and obs.counts[m, b] > 0.0:
            renew_pair(obs, m, b, rival)
        elif obs.stale[m]:
            renew_row(obs, m)
        for step in range(arms):
            i = moved_to_front(step, rival)
            if step == 1 and obs.stale[m]:
                renew_row(obs, m)
            if i != b and obs.active[i]:
                least = min(least, priced_evidence(scoring, every_pair, obs, m, i, noise, level))
            if least <= level:
                block[0], block[1], block[2] = m, b, i
                return least
    return least


@kernel
def moved_to_front(step: int, first: int) -> int:
    """Count 0, 1, 2, ... with one number moved to the front."""
    if step == 0:
        return first
    return step - 1 if step <= first else step


@kernel
def exact_evidence(scoring: Scoring, every_pair: bool, obs: ObservationArrays, m: int, noise: float) -> float:
    """Return the evidence of an objective's weakest pair, less what it pays."""
    if obs.stale[m]:
        renew_row(obs, m)
    b = obs.leaders[m]
    least = keeps_limits(obs, b) - scoring.prices.surcharges[b]
    for i in range(obs.means.shape[1]):
        if i != b and obs.active[i]:
            price, alone = price_of(scoring.prices, obs, b, i, every_pair), stands_alone(obs, b, i, every_pair)
            found = score_of(scoring, obs, m, i, noise, alone, -math.inf, least + price) - price
            least = min(least, max(found, breaks_limits(obs, i) - scoring.prices.surcharges[i]))
    return least


@kernel
def nobody_keeps_limits(scoring: Scoring, obs: ObservationArrays) -> float:
    """Return the evidence that every arm breaks some limit; minus infinity without limits."""
    least = math.inf if obs.limits.what.shape[0] > 0 else -math.inf
    if least < 0.0:
        return least
    for i in range(obs.means.shape[1]):
        if obs.active[i]:
            least = min(least, breaks_limits(obs, i) - scoring.prices.surcharges[i])
    return least


@kernel
def against_retired(scoring: Scoring, obs: ObservationArrays, m: int, noise: float) -> float:
    """Return how clearly the leader beats the retired initial arms; minus infinity if one is ahead of it."""
    least, b = math.inf, obs.leaders[m]
    for k in range(len(scoring.prices.retired)):
        i = scoring.prices.retired[k]
        ahead = obs.means[m, i] > obs.means[m, b] or (obs.means[m, i] == obs.means[m, b] and i < b)
        broken = breaks_limits(obs, i)
        if ahead or obs.counts[m, b] == 0.0:
            least = min(least, broken)
        else:
            least = min(least, max(score_of(scoring, obs, m, i, noise, False, -math.inf, least), broken))
    return least
