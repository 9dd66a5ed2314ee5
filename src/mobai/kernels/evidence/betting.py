"""An arm with rewards in a known range: bets against a mean, by its histogram. Proofs: docs/guarantee.md.

Rewards are scaled to between 0 and 1 and spread over the two nearest of J + 1 even points g_0 = 0, ..., g_J = 1. A bet
that the mean is above m multiplies its stake by ``1 - u + u g / m``; the wealth is averaged over the shares u.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.programs.dense import Matrix, Vector

Histograms = npt.NDArray[np.float64]  # objective, arm, point

SHARES = tuple(0.98 * 2.0**-q for q in range(20))
_SUM = sum(math.exp(-q / 10) for q in range(20))
LOG_WEIGHTS = tuple(math.log(0.97 / _SUM) - q / 10 for q in range(20))
LOG_ABSTAINED = math.log(0.03)
# What is left of a stake by a reward at the end that is bet against.
LOG_LEFT = tuple(math.log(1.0 + u * -1.0) for u in SHARES)
# Means are tried no closer than this to the ends of the range.
MARGIN = 1e-12


@kernel
def log_wealth(
    bins: Histograms, worst: Matrix, m: int, arm: int, last: int, mean: float, above: bool
) -> tuple[float, float]:
    """Return the log-wealth of an arm's bets that its mean is above (or below) a number, and its slope there.

    ``worst`` counts rewards that are taken for the worst that they can be.
    """
    at, against = (mean, 0) if above else (1.0 - mean, last)
    per_point = 1.0 / (last * at)
    top, total, rise = LOG_ABSTAINED, 1.0, 0.0
    for q in range(len(SHARES)):
        u, slope = SHARES[q], 0.0
        value = LOG_WEIGHTS[q] + (bins[m, arm, against] + worst[m, arm]) * LOG_LEFT[q]
        for j in range(1 if above else 0, last + 1 if above else last):
            count = bins[m, arm, j]
            if count > 0.0:
                # The distance of the point from the end that is bet against.
                ratio = per_point * (j if above else last - j)
                factor = 1.0 + u * (ratio - 1.0)
                value += count * math.log(factor)
                slope -= count * ratio / factor
        slope *= u / at
        if value > top:
            shrink = math.exp(top - value)
            top, total, rise = value, total * shrink + 1.0, rise * shrink + slope
        else:
            share = math.exp(value - top)
            total, rise = total + share, rise + share * slope
    return top + math.log(total), rise / total if above else -rise / total


@entry
def mean_bounds(
    histograms: Histograms,
    worst: Matrix,
    m: int,
    last: int,
    counts: Vector,
    levels: Vector,
    known: Matrix,
    lower: Vector,
    upper: Vector,
) -> None:
    """Fill in where the log-wealth of bets on both sides of each arm's mean stays below its level, between 0 and 1.

    ``known`` has the counts and levels that the bounds were last filled in for: where both are the same, so are they.
    """
    for arm in range(len(levels)):
        if known[0, arm] == counts[arm] and known[1, arm] == levels[arm]:
            continue
        known[0, arm], known[1, arm] = counts[arm], levels[arm]
        count, total, squares = 0.0, 0.0, 0.0
        for j in range(last + 1):
            point = j / last
            count += histograms[m, arm, j]
            total += histograms[m, arm, j] * point
            squares += histograms[m, arm, j] * point * point
        lower[arm], upper[arm] = 0.0, 1.0
        if count > 0.0:
            mean = total / count
            spread = math.sqrt((max(squares - total * mean, 0.0) + 0.25) / (count + 1.0))
            reach = spread * math.sqrt(2.0 * levels[arm] / count)
            lower[arm] = crossing(histograms, worst, m, arm, last, mean, -reach, levels[arm])
            upper[arm] = crossing(histograms, worst, m, arm, last, mean, reach, levels[arm])


@kernel
def crossing(
    bins: Histograms, worst: Matrix, m: int, arm: int, last: int, mean: float, reach: float, level: float
) -> float:
    """Return where the log-wealth of both sides crosses the level on one side of the mean, or the end of the range.

    It is below 0 at the mean, and convex in the logarithm of the distance from that end, in which it is nearly straight
    where rewards are few: Newton's method comes from outside, so that its points are never inside.
    """
    end = 0.0 if reach < 0.0 else 1.0
    edge = abs(end - MARGIN)
    x = min(max(mean + reach, MARGIN), 1.0 - MARGIN)
    for _ in range(100):
        above, fall = log_wealth(bins, worst, m, arm, last, x, True)
        below, rise = log_wealth(bins, worst, m, arm, last, x, False)
        top = max(above, below)
        one, two = 0.5 * math.exp(above - top), 0.5 * math.exp(below - top)
        value, slope = top + math.log(one + two), (one * fall + two * rise) / (one + two)
        if x == edge and value <= level:
            return end
        distance = abs(x - end)
        steepness = abs(slope) * distance
        outwards = slope * reach <= 0.0  # beyond the minimum
        distance *= 0.5 if outwards else math.exp(min((value - level) / steepness, 50.0))
        moved = min(max(abs(end - distance), MARGIN), 1.0 - MARGIN)
        near = 1e-9 * min(x, 1.0 - x)
        if abs(moved - x) <= near:
            # Where rounding has it inside, as much further out as it can lack.
            return x if value >= level else x + math.copysign(near, reach)
        x = moved
    return x
