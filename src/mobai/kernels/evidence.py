"""The evidence of pairs: the GLR statistic Z, and what each threshold's score makes of it. Arrays are objective by arm.

Only plain arithmetic, no reordering: a trial in one compiled loop and one that comes back to Python after every pull
must see the same bits.
"""

from __future__ import annotations

import math

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers, Matrix

# The thresholds of mobai.theory.thresholds; those up to LAST_STICKY decide every objective at its own time.
MIXTURE, KAUFMANN_KOOLEN, THEORY, EMPIRICAL = 0, 1, 2, 3
LAST_STICKY = KAUFMANN_KOOLEN
WIDTHS = (1 / 8, 1.0, 8.0, 64.0, 512.0, 4096.0, 32768.0)


@kernel
def statistic(means: Matrix, spread: Matrix, m: int, best: int, i: int) -> float:
    """Z of one pair: the squared gap over twice the variance of its estimate; infinite for the leader itself."""
    if i == best:
        return math.inf
    gap = means[m, best] - means[m, i]
    return gap * gap / (2.0 * (spread[m, best] + spread[m, i]))


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
    """The evidence of a pair with the statistic z and these counts; ``ratio`` is the other arm's sd over the leader's.

    Where it is not above the level, any number between the two may come back.
    """
    if z == math.inf:
        return z
    leader, other = max(leader, 1.0), max(other, 1.0)
    if kind == MIXTURE:
        # Counts in units of the pair's geometric mean variance: rescaling an objective changes nothing.
        return mixture_score(z, leader * ratio, other / ratio, level)
    return z - penalty_of(kind, leader, other, pulls, pairs)


@entry
def fill_scores(
    kind: int, pairs: Matrix, counts: Matrix, sd: Matrix, leaders: Integers, pulls: float, scores: Matrix
) -> None:
    """Fill in the evidence of all pairs."""
    for m in range(pairs.shape[0]):
        b = leaders[m]
        for i in range(pairs.shape[1]):
            ratio = sd[m, i] / sd[m, b]
            scores[m, i] = score(kind, pairs[m, i], counts[m, b], counts[m, i], ratio, pulls, pairs.size, -math.inf)
