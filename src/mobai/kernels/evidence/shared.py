"""One unknown standard deviation for all arms of an objective: an upper bound for it. Proofs: docs/guarantee.md.

Known-noise evidence at the bound is evidence. The bound is the smaller of two, which fail with a tenth and with the
rest of alpha: from the *opening*, the first two rewards of every arm of the start, and, at all times, from everything
that came after it, predicted from the opening.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.stats.observations import AT_ONCE, COUNT, OVER, PAIR, SCATTER, SUM, ObservationArrays

# Of what delta leaves to an objective, the share that the bound may fail with.
SHARE = 0.1
# And of that, the share of the bound from the opening.
OPENING = 0.1  # measured: half and half takes 1 to 2 % more pulls, nine tenths 3 to 8 %


class Prediction(NamedTuple):
    """What the rewards after the opening say about the variance, given those of the opening."""

    shape: float  # of the inverse gamma distribution that the opening leaves of the variance
    rate: float
    later: float  # how many rewards came later
    scatter: float  # by how much the scatter of the arms has grown
    around: float  # the scatter of the later rewards around their own means
    penalty: float  # for not knowing the means


@kernel
def noise_bound(obs: ObservationArrays, m: int, level: float) -> float:
    """Return the bound for the standard deviation that evidence at a level uses; infinite if there is none."""
    arms = obs.initial[0]
    base = math.log(max(arms - 1, 1))
    # Pairs at the level share what is left to the objective, delta_m = (K - 1) exp(-level).
    log_inv = -math.log(SHARE) + max(level - base, 0.0)
    seen = prediction(obs, m)
    # What rounding leaves of equal rewards is no scatter.
    rounding = rounding_of(obs, m)
    if obs.opening[m] < OVER or not seen.rate > (1.0 + seen.shape) * rounding * rounding:
        return math.inf
    opening, later = log_inv - math.log(OPENING), log_inv - math.log(1.0 - OPENING)
    return math.sqrt(min(opening_bound(obs, m, opening), later_bound(seen, later)))


@kernel
def prediction(obs: ObservationArrays, m: int) -> Prediction:
    """Sum up an objective's arms."""
    shape, rate, later, scatter, around, penalty = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(obs.counts.shape[1]):
        n, k = obs.counts[m, i], obs.early[m, i, COUNT]
        shape += 0.5 * (k - 1.0)
        rate += 0.5 * obs.early[m, i, SCATTER]
        if n > k:
            grown = obs.scatter[m, i] - obs.early[m, i, SCATTER]
            apart = (obs.sums[m, i] - obs.early[m, i, SUM]) / (n - k) - obs.early[m, i, SUM] / k
            later += n - k
            scatter += grown
            around += max(grown - k * (n - k) / n * apart * apart, 0.0)
            penalty += 0.5 * math.log(n / k)
    return Prediction(shape, rate, later, scatter, around, penalty)


@kernel
def opening_bound(obs: ObservationArrays, m: int, log_inv: float) -> float:
    """Return the bound of the variance from the opening of the arms of the start, exp(-log_inv) its error.

    From the first two rewards of each of them, whenever they came; or from all rewards, if they came in one moment.
    """
    squares, degrees = 0.0, 0.0
    for i in range(obs.initial[0]):
        if obs.opening[m] == AT_ONCE:
            squares += obs.early[m, i, SCATTER]
            degrees += obs.early[m, i, COUNT] - 1.0
        else:
            squares += obs.early[m, i, PAIR]
            degrees += 1.0
    # Pairs that are equal, because of rounding, bound nothing.
    some = rounding_of(obs, m)
    return squares / chi_square_quantile(degrees, log_inv) if degrees * some * some < squares < math.inf else math.inf


@kernel
def rounding_of(obs: ObservationArrays, m: int) -> float:
    """Return how far apart rounding can leave equal rewards of an objective."""
    return 4e-16 * abs(obs.objectives.offset[m])


@kernel
def chi_square_quantile(degrees: float, log_inv: float) -> float:
    """Return where the distribution function is exp(-log_inv), which must be a small probability; or less.

    Newton's method for its logarithm, a concave function of the logarithm of x, from the left: it never overshoots.
    """
    a = 0.5 * degrees
    y = (math.lgamma(a + 1.0) - log_inv) / a
    for _ in range(100):
        x, term, total, n = math.exp(y), 1.0, 1.0, 0.0
        while term > 1e-17 * total:
            n += 1.0
            term *= x / (a + n)
            total += term
        step = (-log_inv - (a * y - x - math.lgamma(a + 1.0) + math.log(total))) * total / a
        y += step
        if not step > 1e-13 * abs(y):
            break
    return 2.0 * math.exp(y)


@kernel
def later_bound(seen: Prediction, log_inv: float) -> float:
    """Return the bound of the variance from the rewards after the opening: where their likelihood ratio is too large.

    Newton's method from above, for a convex function of the logarithm of the variance: it never undershoots.
    """
    if seen.later == 0.0:
        return math.inf
    half = 0.5 * seen.later
    fixed = math.lgamma(seen.shape + half) - math.lgamma(seen.shape) + seen.shape * math.log(seen.rate)
    fixed -= (seen.shape + half) * math.log(seen.rate + 0.5 * seen.scatter) + seen.penalty
    y = (log_inv - fixed) / half
    for _ in range(100):
        pull = 0.5 * seen.around * math.exp(-y)
        step = (fixed + half * y + pull - log_inv) / (half - pull)
        if not 1e-14 * max(abs(y), 1.0) < step < math.inf:
            break
        y -= step
    return math.exp(y)


@entry
def noise_bound_of(obs: ObservationArrays, m: int, level: float) -> float:
    """Return the bound for the standard deviation, to Python."""
    return noise_bound(obs, m, level)
