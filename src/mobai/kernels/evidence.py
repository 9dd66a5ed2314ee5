"""The evidence of pairs: their transport cost Z, and what each threshold's score makes of it.

Arrays are objective by arm.

Only plain arithmetic, no reordering: a trial in one compiled loop and one that comes back to Python after every pull
must see the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.compiled import entry, inner_kernel, kernel
from mobai.kernels.dense import Integers, Matrix, Vector
from mobai.kernels.seen import (
    NORMAL,
    UNIT,
    KnownNoise,
    Rewards,
    Seen,
    Tables,
    estimate_noise,
    gap_between,
    model_of,
    share,
)
from mobai.kernels.student import student_cost, student_score
from mobai.kernels.unit import unit_cost, unit_score

# The thresholds of mobai.theory.thresholds.
MIXTURE, KAUFMANN_KOOLEN, THEORY, EMPIRICAL = 0, 1, 2, 3
WIDTHS = (1 / 8, 1.0, 8.0, 64.0, 512.0, 4096.0, 32768.0)


@inner_kernel
def renew_row(seen: Seen, m: int, best: int) -> None:
    """Find Z of all pairs of an objective: the likelihood lost when the leader is not the better one; in place.

    Infinite for the leader itself.
    """
    if model_of(seen.rewards, m) == NORMAL:
        # The loop of every trial: no call in it carries the whole of what was seen.
        top, doubt = seen.means[m, best] + seen.rewards.eps[m], seen.spread[m, best]
        for i in range(seen.means.shape[1]):
            gap = top - seen.means[m, i]
            seen.pairs[m, i] = gap * gap / (2.0 * (doubt + seen.spread[m, i]))
    else:
        for i in range(seen.means.shape[1]):
            if i != best:
                seen.pairs[m, i] = other_cost(seen, m, best, i)
    seen.pairs[m, best] = math.inf


@inner_kernel
def renew_pair(seen: Seen, m: int, best: int, i: int) -> None:
    """Find Z of one pair again; both arms have rewards."""
    if model_of(seen.rewards, m) == NORMAL:
        gap = seen.means[m, best] + seen.rewards.eps[m] - seen.means[m, i]
        seen.pairs[m, i] = gap * gap / (2.0 * (seen.spread[m, best] + seen.spread[m, i]))
    else:
        seen.pairs[m, i] = other_cost(seen, m, best, i)


@kernel
def other_cost(seen: Seen, m: int, best: int, i: int) -> float:
    """Z of one pair whose noise is estimated."""
    n_b, n_i = max(seen.counts[m, best], 1.0), max(seen.counts[m, i], 1.0)
    if model_of(seen.rewards, m) == UNIT:
        return unit_cost(n_b, share(seen, m, best), n_i, share(seen, m, i), seen.rewards.eps[m] / seen.rewards.width[m])
    gap = gap_between(seen, m, best, i)
    return student_cost(gap, n_b, seen.scatter[m, best], n_i, seen.scatter[m, i])[0]


@entry
def take_in(seen: Seen, tables: Tables, waiting: bool) -> None:
    """Lay an experiment's tables out as what was seen; in place."""
    # A kernel of its own: an entry that other kernels call with a constant is compiled once more for it.
    lay(seen, tables, waiting)


@kernel
def lay(seen: Seen, tables: Tables, waiting: bool) -> None:
    """Lay an experiment's tables out as what was seen; in place.

    With ``waiting``, answers still owed count as if they had come and were like the others.
    """
    any_open = tables.open.any()
    for m in range(len(seen.leaders)):
        seen.open[m] = tables.open[m] or not any_open
        for i in range(len(seen.asked)):
            pulls = tables.pulls[i, m]
            count = max(pulls, 1)
            seen.counts[m, i] = pulls + (tables.asked[i] - tables.answered[i] if waiting else 0)
            seen.sums[m, i] = tables.sums[i, m]
            seen.means[m, i] = tables.sums[i, m] / count if pulls > 0 else -math.inf
            seen.scatter[m, i] = tables.scatter[i, m] * (seen.counts[m, i] / count)
            seen.sd[m, i] = tables.sd[i, m]
    for i in range(len(seen.asked)):
        seen.asked[i] = tables.asked[i]
    renew(seen)


@entry
def renew(seen: Seen) -> None:
    """Find noise, leaders and the statistics of all pairs from counts, means and scatter; in place."""
    for m in range(len(seen.leaders)):
        best = 0
        for i in range(seen.means.shape[1]):
            estimate_noise(seen, m, i)
            if seen.means[m, i] > seen.means[m, best]:
                best = i
        seen.leaders[m] = best
        renew_row(seen, m, best)
        for i in range(seen.means.shape[1]):
            # Nothing is known of a pair without rewards.
            if i != best and (seen.counts[m, i] == 0.0 or seen.counts[m, best] == 0.0):
                seen.pairs[m, i] = 0.0


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
    """One width's log E, a line in Z."""
    return z / (1.0 + width * u) - 0.5 * math.log((1.0 + leader / width) * (1.0 + other / width))


@entry
def penalty_of(kind: int, leader: float, other: float, pulls: float, pairs: int) -> float:
    """What the thresholds of the form ``Z - penalty`` take off."""
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
    """The evidence of a pair of known noise; ``ratio`` is the other arm's sd over the leader's. Never more than Z.

    Where it is not above the level, any number between the two may come back.
    """
    if kind == MIXTURE:
        # Counts in units of the pair's geometric mean variance: rescaling an objective changes nothing.
        return mixture_score(z, leader * ratio, other / ratio, level)
    return z - penalty_of(kind, leader, other, pulls, pairs)


@kernel
def score_of(kind: int, seen: Seen, m: int, i: int, pulls: float, level: float) -> float:
    """The evidence of an arm's pair with the leader, whatever the family."""
    z, best = seen.pairs[m, i], seen.leaders[m]
    n_b, n_i = seen.counts[m, best], seen.counts[m, i]
    if i == best or n_b == 0.0 or n_i == 0.0:
        return z
    if kind != MIXTURE or model_of(seen.rewards, m) == NORMAL:
        return score(kind, z, n_b, n_i, seen.sd[m, i] / seen.sd[m, best], pulls, seen.pairs.size, level)
    if model_of(seen.rewards, m) == UNIT:
        eps = seen.rewards.eps[m] / seen.rewards.width[m]
        return unit_score(n_b, share(seen, m, best), n_i, share(seen, m, i), eps)
    gap = gap_between(seen, m, best, i)
    return student_score(gap, n_b, seen.scatter[m, best], n_i, seen.scatter[m, i], level)


@entry
def fill_scores(kind: int, seen: Seen, pulls: float, scores: Matrix) -> None:
    """Fill in the evidence of all pairs."""
    for m in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            scores[m, i] = score_of(kind, seen, m, i, pulls, -math.inf)


@entry
def weigh(
    kind: int, rewards: Rewards | KnownNoise, tables: Tables, told: int, leaders: Integers, evidence: Vector
) -> None:
    """Fill in the leader of every objective, and the evidence of its weakest pair.

    The layout in between stays here: to make room for it from outside takes longer than everything else.
    """
    seen = blank(rewards, len(leaders), len(tables.asked))
    lay(seen, tables, False)
    for m in range(len(leaders)):
        leaders[m], evidence[m] = seen.leaders[m], math.inf
        for i in range(len(tables.asked)):
            evidence[m] = min(evidence[m], score_of(kind, seen, m, i, float(told), -math.inf))


@kernel
def blank(rewards: Rewards | KnownNoise, objectives: int, arms: int) -> Seen:
    """Make room for what was seen."""
    table = np.empty((7, objectives, arms))
    asked, leaders, wanted = np.empty(arms, np.int64), np.empty(objectives, np.int64), np.empty(objectives, np.int64)
    return Seen(rewards, asked, table[0], table[1], table[2], table[3], table[4], table[5], leaders, table[6], wanted)
