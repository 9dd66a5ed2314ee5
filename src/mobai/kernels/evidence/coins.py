"""Two arms with rewards in a known range: the likelihood of coins, and what it says of other rewards.

Rewards are scaled to between 0 and 1, and S of N are successes (fractions allowed). Proofs: docs/guarantee.md.
"""

from __future__ import annotations

import math

from mobai.kernels.jit.compiled import kernel

# A probability that has been rounded to zero, of something that was seen, is taken for this: the null keeps some
# likelihood, and the evidence stays finite.
LEAST = 1e-300


@kernel
def xlogy(x: float, y: float) -> float:
    """Return ``x log y``, 0 for x = 0."""
    return x * math.log(max(y, LEAST)) if x > 0.0 else 0.0


@kernel
def log_likelihood(count: float, mean: float, p: float) -> float:
    """Return the log-likelihood of a number of tosses with this mean, with a coin of probability p."""
    return xlogy(count * mean, p) + xlogy(count * (1.0 - mean), 1.0 - p)


@kernel
def meeting(count_b: float, mean_b: float, count_i: float, mean_i: float, eps: float) -> float:
    """Return where the likelihood of both arms is largest if i is better by eps: the probability of b.

    Its logarithm is concave along that line; for eps > 0 its derivative is bisected.
    """
    if eps == 0.0:
        return (count_b * mean_b + count_i * mean_i) / (count_b + count_i)
    low, high = 0.0, 1.0 - eps
    for _ in range(60):
        p = 0.5 * (low + high)
        slope = count_b * (mean_b - p) / (p * (1.0 - p))
        slope += count_i * (mean_i - p - eps) / ((p + eps) * (1.0 - p - eps))
        if slope > 0.0:
            low = p
        else:
            high = p
    return 0.5 * (low + high)


@kernel
def coin_parts(count_b: float, mean_b: float, count_i: float, mean_i: float, eps: float) -> tuple[float, float]:
    """Return what each arm's likelihood loses where i is better by eps: the closest point at which b is not best."""
    p = meeting(count_b, mean_b, count_i, mean_i, eps)
    own = log_likelihood(count_b, mean_b, mean_b) - log_likelihood(count_b, mean_b, p)
    other = log_likelihood(count_i, mean_i, mean_i) - log_likelihood(count_i, mean_i, min(p + eps, 1.0))
    return max(own, 0.0), max(other, 0.0)


@kernel
def reach_of(mean: float, variance: float) -> float:
    """Return where rewards that are not 0 lie, if they are at one place: of all with this mean and variance, the worst.

    Bets that the mean is above a number win least on these (a Chebyshev system: the logarithm's third derivative is
    positive), and as much as on coins with a side of that height.
    """
    return min((variance + mean * mean) / mean, 1.0) if mean > 0.0 else 1.0


@kernel
def spread_parts(
    count_b: float, mean_b: float, variance_b: float, count_i: float, mean_i: float, variance_i: float, eps: float
) -> tuple[float, float]:
    """Return by how much the best bets on each arm would have grown, where the two grow least together.

    Bets that b is above a mean and that i is below that mean plus eps, on rewards with these means and variances.
    """
    reach_b, reach_i = reach_of(mean_b, variance_b), reach_of(1.0 - mean_i, variance_i)
    own, other = mean_b / reach_b, (1.0 - mean_i) / reach_i
    low, high = max(mean_i - eps, 0.0), min(mean_b, 1.0 - eps)
    if not high > low:
        return 0.0, 0.0
    for _ in range(40):
        m = 0.5 * (low + high)
        p, q = m / reach_b, (1.0 - m - eps) / reach_i
        slope = count_i * (other - q) / (reach_i * q * (1.0 - q)) if 0.0 < q < 1.0 else 0.0
        slope -= count_b * (own - p) / (reach_b * p * (1.0 - p)) if 0.0 < p < 1.0 else 0.0
        if slope > 0.0:
            high = m
        else:
            low = m
    m = 0.5 * (low + high)
    p, q = m / reach_b, (1.0 - m - eps) / reach_i
    part_b = log_likelihood(count_b, own, own) - log_likelihood(count_b, own, p)
    part_i = log_likelihood(count_i, other, other) - log_likelihood(count_i, other, q)
    return max(part_b, 0.0), max(part_i, 0.0)
