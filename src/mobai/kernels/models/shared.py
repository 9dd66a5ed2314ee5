"""One unknown standard deviation for all arms of an objective: known-noise evidence at a bound for it.

The bound depends on the level that evidence is compared with (:func:`noise_bound`), and has a share of what delta
leaves to the objective: what the evidence at the bound is worth is less by its price.
"""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.normal import normal_score, one_bet
from mobai.kernels.evidence.variance import OPENING_SHARE, SHARE_OF_DELTA, Prediction, chi_square_quantile, later_bound
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.models.normal import half_width_in_sd
from mobai.kernels.programs.dense import Vector
from mobai.kernels.stats.observations import (
    AT_ONCE,
    BEGUN,
    COUNT,
    OVER,
    PAIR,
    SCATTER,
    SUM,
    UNKNOWN,
    UNSEEN,
    ObservationArrays,
    count_of,
)

PRICE = -math.log(1.0 - SHARE_OF_DELTA)


@kernel
def pair_score(
    obs: ObservationArrays, m: int, b: int, i: int, shift: float, noise: float, level: float, beyond: float
) -> float:
    """Return the evidence of a pair, given a bound for the standard deviation."""
    gap = (obs.means[m, b] - obs.means[m, i] + shift) / noise
    return normal_score(gap, obs.counts[m, b], obs.counts[m, i], level + PRICE, beyond + PRICE) - PRICE


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, apart: float, noise: float) -> float:
    """Return the evidence that an arm's mean is on its side of a null mean, given a bound for the deviation."""
    return one_bet(obs.counts[m, i], apart / noise) - PRICE


@kernel
def renew_noise(obs: ObservationArrays, m: int) -> None:
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
        renew_noise(obs, m)
    elif some:
        obs.opening[m] = BEGUN


@kernel
def noise_bound(obs: ObservationArrays, m: int, level: float) -> float:
    """Return the bound for the standard deviation that evidence at a level uses; infinite if there is none."""
    arms = obs.initial[0]
    base = math.log(max(arms - 1, 1))
    # Pairs at the level share what is left to the objective, delta_m = (K - 1) exp(-level).
    log_inv = -math.log(SHARE_OF_DELTA) + max(level - base, 0.0)
    seen = prediction(obs, m)
    # What rounding leaves of equal rewards is no scatter.
    rounding = rounding_of(obs, m)
    if obs.opening[m] < OVER or not seen.rate > (1.0 + seen.shape) * rounding * rounding:
        return math.inf
    opening, later = log_inv - math.log(OPENING_SHARE), log_inv - math.log(1.0 - OPENING_SHARE)
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
    """Return the bound of the variance from the opening; it fails with probability exp(-log_inv).

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


@entry
def noise_bound_of(obs: ObservationArrays, m: int, level: float) -> float:
    """Return the bound for the standard deviation, to Python."""
    return noise_bound(obs, m, level)


def half_width(obs: ObservationArrays, m: int, levels: Vector, level: float) -> Vector:
    """Return how far every arm's true mean can be from its empirical one; the noise is bounded at ``level``."""
    bound: float = noise_bound_of(obs, m, level)
    return bound * half_width_in_sd(obs.counts[m], levels)


def make_up_opening(obs: ObservationArrays, m: int) -> None:
    """Make up an opening of two rewards per arm that have the means and the scatter there are; in place."""
    counts = obs.counts[m]
    variance = obs.scatter[m] / np.maximum(counts, 1.0)
    early = np.clip(counts, 1.0, 2.0)
    obs.early[m, :, COUNT], obs.early[m, :, SUM] = early, np.where(counts > 0, obs.means[m] * early, 0)
    obs.early[m, :, SCATTER], obs.early[m, :, PAIR] = (early - 1.0) * variance, variance
    obs.opening[m] = OVER if (early == 2.0).all() and variance.any() else BEGUN
