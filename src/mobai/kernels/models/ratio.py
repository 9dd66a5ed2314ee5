"""Rewards that are pairs of numbers, of which the ratio of the totals is compared. Proofs: docs/guarantee.md.

A reward holds a numerator Y and a denominator X, as shares of their largest values, in one number (:func:`unpacked`).
Of an arm with the ratio R = E Y / E X, a bet that R is above t multiplies its stake by ``1 - u X + u Y / t``, and one
that it is below by ``1 - u Y + u t X``: of mean 1 at most where it is not. Pairs are kept on an even grid, split over
the four points around them, which lowers the wealth, if anything.
"""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.betting import LOG_ABSTAINED, LOG_WEIGHTS, SHARES
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.programs.dense import Vector
from mobai.kernels.stats.observations import ObservationArrays, count_of

# In how many steps each of the two numbers of a pair is kept: both fit into the 52 bits of a float.
STEPS = 2**26 - 1
_BASE = float(2**26)
_LEAST, _MOST = 1e-9, 1e9
# The sums that are kept of every arm.
Y, X, YY, XY, XX = 0, 1, 2, 3, 4
_NEAR = 1e-6
# How large the residual of one reward is taken to be before there are any, as a share of the largest numerator.
_DOUBT = 0.25


@kernel
def unpacked(reward: float) -> tuple[float, float]:
    """Return numerator and denominator of a reward, oriented or not, as shares of their largest values."""
    number = abs(reward)
    above = math.floor(number / _BASE)
    return above / STEPS, (number - above * _BASE) / STEPS


@kernel
def add_pair(obs: ObservationArrays, m: int, arm: int, reward: float) -> None:
    """Enter a reward into sums and grid; in place."""
    y, x = unpacked(reward)
    sums = obs.ratios.sums[m, arm]
    sums[Y] += y
    sums[X] += x
    sums[YY] += y * y
    sums[XY] += x * y
    sums[XX] += x * x
    rows, columns = obs.ratios.points[m, 0], obs.ratios.points[m, 1]
    if obs.ratios.grid.shape[2] == 0:  # sampling reads none
        return
    j, k = min(int(y * rows), rows - 1), min(int(x * columns), columns - 1)
    above, right = y * rows - j, x * columns - k
    grid = obs.ratios.grid[m, arm]
    grid[j * (columns + 1) + k] += (1.0 - above) * (1.0 - right)
    grid[j * (columns + 1) + k + 1] += (1.0 - above) * right
    grid[(j + 1) * (columns + 1) + k] += above * (1.0 - right)
    grid[(j + 1) * (columns + 1) + k + 1] += above * right


@kernel
def estimate(obs: ObservationArrays, m: int, i: int) -> float:
    """Return an arm's empirical ratio, oriented."""
    sums = obs.ratios.sums[m, i]
    share = sums[Y] / sums[X] if sums[X] > 0.0 else 0.0
    return obs.ratios.sign[m] * share * obs.ratios.scale[m]


@kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Estimate the variance of an arm's ratio by that of Y - R X, and what a reward has of it; in place."""
    n, sums = obs.counts[m, i], obs.ratios.sums[m, i]
    share = sums[Y] / sums[X] if sums[X] > 0.0 else 0.0
    residual = sums[YY] - 2.0 * share * sums[XY] + share * share * sums[XX]
    variance = (max(residual, 0.0) + _DOUBT * _DOUBT) / (n + 1.0)
    below = (sums[X] + 0.5) / (n + 1.0)
    obs.sd[m, i] = math.sqrt(variance) / below * obs.ratios.scale[m]
    obs.spread[m, i] = obs.sd[m, i] * obs.sd[m, i] / max(count_of(obs, m, i), 1.0)


@kernel
def log_wealth(obs: ObservationArrays, m: int, i: int, t: float, above: bool) -> tuple[float, float]:
    """Return the log-wealth of bets that an arm's ratio is above (or below) t, and its slope in log t.

    The ratio of the largest values is the unit. A reward that never came counts as the worst there could be.
    """
    rows, columns = obs.ratios.points[m, 0], obs.ratios.points[m, 1]
    grid, worst = obs.ratios.grid[m, i], obs.worst[m, i]
    top, total, rise = LOG_ABSTAINED, 1.0, 0.0
    for q in range(len(SHARES)):
        u = SHARES[q]
        value, slope = LOG_WEIGHTS[q] + worst * math.log(1.0 - u), 0.0
        for j in range(rows + 1):
            for k in range(columns + 1):
                count = grid[j * (columns + 1) + k]
                if count > 0.0:
                    y, x = j / rows, k / columns
                    won = u * y / t if above else u * t * x
                    factor = 1.0 - u * (x if above else y) + won
                    value += count * math.log(factor)
                    slope += count * (-won if above else won) / factor
        if value > top:
            shrink = math.exp(top - value)
            top, total, rise = value, total * shrink + 1.0, rise * shrink + slope
        else:
            share = math.exp(value - top)
            total, rise = total + share, rise + share * slope
    return top + math.log(total), rise / total


@kernel
def both(obs: ObservationArrays, m: int, high: int, low: int, t: float, shift: float) -> tuple[float, float]:
    """Return the evidence that one arm is above t and another below t plus a shift, and its slope in log t."""
    one, fall = log_wealth(obs, m, high, t, True)
    other, rise = log_wealth(obs, m, low, t + shift, False)
    return one + other, fall + rise * t / (t + shift)


@kernel
def pair_score(obs: ObservationArrays, m: int, b: int, i: int, shift: float, level: float, beyond: float) -> float:
    """Return the evidence of a pair, moved by a shift that is not negative: a bound of its infimum over t.

    It is convex in log t, so that two tangents bound it.
    """
    if shift < 0.0:
        return -math.inf
    shift = shift / obs.ratios.scale[m]
    high, low = (b, i) if obs.ratios.sign[m] > 0.0 else (i, b)
    one, other = abs(obs.means[m, high]) / obs.ratios.scale[m], abs(obs.means[m, low]) / obs.ratios.scale[m]
    t = min(max(0.5 * (one + max(other - shift, 0.0)), _LEAST), _MOST)
    value, slope = both(obs, m, high, low, t, shift)
    least = value
    if value <= level:
        return value
    # On which side it falls, until it rises.
    step = 0.25 if slope < 0.0 else -0.25
    s, before, before_slope, before_value = math.log(t), math.log(t), slope, value
    for _ in range(60):
        s += step
        if not math.log(_LEAST) <= s <= math.log(_MOST):
            return -math.inf
        value, slope = both(obs, m, high, low, math.exp(s), shift)
        least = min(least, value)
        if least <= level:
            return least
        if slope * step >= 0.0:
            break
        before, before_value, before_slope = s, value, slope
        step *= 2.0
    else:
        return -math.inf
    ends = (before, before_value, before_slope, s, value, slope)
    if step < 0.0:
        ends = (s, value, slope, before, before_value, before_slope)
    left, left_value, left_slope, right, right_value, right_slope = ends
    bound = -math.inf
    for _ in range(60):
        if left_slope == 0.0 or right_slope == 0.0:
            return left_value if left_slope == 0.0 else right_value
        meet = (right_value - left_value + left_slope * left - right_slope * right) / (left_slope - right_slope)
        bound = min(left_value + left_slope * (meet - left), least)
        if bound > beyond or least - bound <= _NEAR * max(abs(least), 1.0):
            break
        middle = min(max(meet, left + 0.1 * (right - left)), right - 0.1 * (right - left))
        value, slope = both(obs, m, high, low, math.exp(middle), shift)
        least = min(least, value)
        if least <= level:
            return least
        if slope < 0.0:
            left, left_value, left_slope = middle, value, slope
        else:
            right, right_value, right_slope = middle, value, slope
    return bound


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, null: float, above: bool) -> float:
    """Return the evidence that an arm's oriented ratio is above (or below) a number."""
    natural = obs.ratios.sign[m] * null / obs.ratios.scale[m]
    if not natural > 0.0:
        return -math.inf
    return log_wealth(obs, m, i, natural, above == (obs.ratios.sign[m] > 0.0))[0]


@entry
def bound_ratios(obs: ObservationArrays, m: int, levels: Vector, lower: Vector, upper: Vector) -> None:
    """Fill in between which numbers every arm's true ratio lies: bets on both sides have half of the stake each."""
    for i in range(len(levels)):
        lower[i], upper[i], needed = 0.0, math.inf, levels[i] + math.log(2.0)
        if obs.counts[m, i] == 0.0:
            continue
        centre = min(max(abs(obs.means[m, i]) / obs.ratios.scale[m], _LEAST), _MOST)
        for above in (True, False):
            inside, outside = math.log(centre), math.log(_LEAST if above else _MOST)
            if not log_wealth(obs, m, i, math.exp(outside), above)[0] > needed:
                continue
            for _ in range(40):
                middle = 0.5 * (inside + outside)
                if log_wealth(obs, m, i, math.exp(middle), above)[0] > needed:
                    outside = middle
                else:
                    inside = middle
            if above:
                lower[i] = math.exp(outside) * obs.ratios.scale[m]
            else:
                upper[i] = math.exp(outside) * obs.ratios.scale[m]


def interval(obs: ObservationArrays, m: int, levels: Vector) -> tuple[Vector, Vector]:
    """Return between which numbers every arm's true ratio lies, oriented."""
    lower, upper = np.empty_like(levels), np.empty_like(levels)
    bound_ratios(obs, m, levels, lower, upper)
    return (lower, upper) if obs.ratios.sign[m] > 0 else (-upper, -lower)


def make_up_pairs(obs: ObservationArrays, m: int) -> None:
    """Make up pairs with the ratios and the scatter there are, all with one denominator; in place.

    Numerators are at the ends of their range, or at their mean.
    """
    rows, columns = obs.ratios.points[m].tolist()
    counts, x, scale = obs.counts[m], float(obs.ratios.middle[m]), float(obs.ratios.scale[m])
    mean = np.clip(np.abs(obs.means[m]) / scale * x, 0.0, 1.0)
    variance = obs.scatter[m] / np.maximum(counts, 1.0) * (x / scale) ** 2
    largest = mean * (1.0 - mean)
    extreme = np.divide(variance, largest, out=np.ones_like(mean), where=largest > 0).clip(0.0, 1.0)
    obs.ratios.sums[m] = obs.ratios.grid[m] = 0.0
    for y, share in (
        (np.zeros_like(mean), extreme * (1 - mean)),
        (np.ones_like(mean), extreme * mean),
        (mean, 1 - extreme),
    ):
        weights = counts * share
        for column, value in ((Y, y), (X, x), (YY, y * y), (XY, x * y), (XX, x * x)):
            obs.ratios.sums[m, :, column] += weights * value
        j, k = np.minimum((y * rows).astype(np.intp), rows - 1), min(int(x * columns), columns - 1)
        above, right = y * rows - j, x * columns - k
        for step, part in ((0, 1 - above), (1, above)):
            for side, half in ((0, 1 - right), (1, right)):
                place = (j + step) * (columns + 1) + k + side
                obs.ratios.grid[m, np.arange(len(counts)), place] += weights * part * half
