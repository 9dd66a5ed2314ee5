"""The evidence of pairs: what each threshold's score makes of their transport costs, and what each pair pays.

No score exceeds the cost, so that most questions ("is there more evidence than this?") are settled without one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.compiled import entry, inner_kernel, kernel
from mobai.kernels.costs import renew_pair, renew_row
from mobai.kernels.dense import Integers, Vector
from mobai.kernels.observations import NORMAL, UNIT, ObservationArrays, gap_between, position
from mobai.kernels.student import Sample, student_score
from mobai.kernels.unit import unit_score

# The thresholds of mobai.theory.thresholds.
MIXTURE, KAUFMANN_KOOLEN, THEORY, EMPIRICAL = 0, 1, 2, 3
WIDTHS = (1 / 8, 1.0, 8.0, 64.0, 512.0, 4096.0, 32768.0)


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


@kernel
def mixture_score(z: float, leader: float, other: float, level: float) -> float:
    """Log of the average over the widths c of ``exp(Z / (1 + c u)) / sqrt((1 + N_b/c) (1 + N_i/c))``.

    When the largest term is not above the level, neither is the average: then that bound is returned.
    """
    u = (leader / other + other / leader) / (leader + other)
    top = -math.inf
    for width in WIDTHS:
        top = max(top, mixture_line(z, leader, other, u, width))
    if top <= level:
        return top
    total = 0.0
    for width in WIDTHS:
        total += math.exp(mixture_line(z, leader, other, u, width) - top)
    return top + math.log(total / len(WIDTHS))


@kernel
def mixture_line(z: float, leader: float, other: float, u: float, width: float) -> float:
    """Return one width's log E, a line in Z."""
    return z / (1.0 + width * u) - 0.5 * math.log((1.0 + leader / width) * (1.0 + other / width))


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
def score(
    kind: int, z: float, leader: float, other: float, ratio: float, pulls: float, pairs: int, level: float
) -> float:
    """Return the evidence of a pair of known noise; ``ratio`` is the other arm's sd over the leader's.

    It is never more than Z. Where it is not above the level, any number between the two may come back.
    """
    if kind == MIXTURE:
        # Counts in units of the pair's geometric mean variance: rescaling an objective changes nothing.
        return mixture_score(z, leader * ratio, other / ratio, level)
    return z - penalty_of(kind, leader, other, pulls, pairs)


@kernel
def score_of(scoring: Scoring, obs: ObservationArrays, m: int, i: int, level: float, beyond: float) -> float:
    """Return the evidence of an arm's pair with the leader, whatever the family; its cost must be up to date.

    Where it is not above ``level``, any number that is not may come back, and where it is above ``beyond``, any that
    is.
    """
    z, best = obs.costs[m, i], obs.leaders[m]
    n_b, n_i = obs.counts[m, best], obs.counts[m, i]
    if n_b == 0.0 or n_i == 0.0:
        return z
    if scoring.kind != MIXTURE or obs.objectives.model[m] == NORMAL:
        ratio = obs.sd[m, i] / obs.sd[m, best]
        return score(scoring.kind, z, n_b, n_i, ratio, scoring.pulls, obs.costs.size, level)
    if obs.objectives.model[m] == UNIT:
        eps = obs.objectives.eps[m] / obs.objectives.width[m]
        return unit_score(n_b, position(obs, m, best), n_i, position(obs, m, i), eps)
    gap = gap_between(obs, m, best, i)
    return student_score(gap, Sample(n_b, obs.scatter[m, best]), Sample(n_i, obs.scatter[m, i]), level, beyond)


@kernel
def price_of(surcharges: Vector, one: int, other: int, initial: float) -> float:
    """Return what a pair pays: what the later of its arms does, or ``initial`` for two initial arms."""
    surcharge = max(surcharges[one], surcharges[other])
    return surcharge if surcharge > 0.0 else initial


@inner_kernel
def priced_evidence(scoring: Scoring, initial: float, obs: ObservationArrays, m: int, i: int, level: float) -> float:
    """Return the evidence of a pair, less what it pays; any number that is not above the level if it is not."""
    b = obs.leaders[m]
    price = price_of(scoring.prices.surcharges, b, i, initial)
    evidence = obs.costs[m, i]
    if evidence > level + price:
        if obs.objectives.model[m] == NORMAL:
            ratio, n_b, n_i = obs.sd[m, i] / obs.sd[m, b], obs.counts[m, b], obs.counts[m, i]
            size = obs.costs.size
            evidence = score(scoring.kind, evidence, n_b, n_i, ratio, scoring.pulls, size, level + price)
        else:
            evidence = score_of(scoring, obs, m, i, level + price, math.inf)
    return evidence - price


@inner_kernel
def weakest_pair(
    scoring: Scoring, initial: float, obs: ObservationArrays, block: Integers, first: int, last: int, level: float
) -> float:
    """Return the smallest evidence of the pairs of objectives ``first`` to ``last - 1``, less what they pay.

    Any number that is not above the level comes back if one pair's is not. The pair that was found then last time
    (``block``: objective, leader, arm; changed in place) is tried first, before stale costs are renewed.
    """
    arms = obs.means.shape[1]
    objective, rival = max(block[0] - first, 0), max(block[2], 0)
    least = math.inf
    for turn in range(last - first):
        m = first + moved_to_front(turn, objective)
        b = obs.leaders[m]
        if obs.stale[m] and rival != b and obs.counts[m, rival] > 0.0 and obs.counts[m, b] > 0.0:
            renew_pair(obs, m, b, rival)
        elif obs.stale[m]:
            renew_row(obs, m)
        for step in range(arms):
            i = moved_to_front(step, rival)
            if step == 1 and obs.stale[m]:
                renew_row(obs, m)
            if i != b and obs.active[i]:
                least = min(least, priced_evidence(scoring, initial, obs, m, i, level))
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
def exact_evidence(scoring: Scoring, initial: float, obs: ObservationArrays, m: int) -> float:
    """Return the evidence of an objective's weakest pair, less what it pays."""
    if obs.stale[m]:
        renew_row(obs, m)
    least, b = math.inf, obs.leaders[m]
    for i in range(obs.means.shape[1]):
        if i != b and obs.active[i]:
            price = price_of(scoring.prices.surcharges, b, i, initial)
            least = min(least, score_of(scoring, obs, m, i, -math.inf, least + price) - price)
    return least


@kernel
def against_retired(scoring: Scoring, obs: ObservationArrays, m: int) -> float:
    """Return how clearly the leader beats the retired initial arms; minus infinity if one is ahead of it."""
    least, b = math.inf, obs.leaders[m]
    for k in range(len(scoring.prices.retired)):
        i = scoring.prices.retired[k]
        ahead = obs.means[m, i] > obs.means[m, b] or (obs.means[m, i] == obs.means[m, b] and i < b)
        if ahead or obs.counts[m, b] == 0.0:
            return -math.inf
        least = min(least, score_of(scoring, obs, m, i, -math.inf, least))
    return least
