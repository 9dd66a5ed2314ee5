"""Bets on differences: two arms compared on the same things, one index after the other. Proofs: docs/guarantee.md.

The claim that arm b is better than arm i, by more than minus a margin, is a bet on their differences D = X_b - X_i at
the indices 1, 2, ... of a common order. Its evidence is a function of these differences alone, whoever was measured
when; a supremum over indices is therefore as good as one value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence.normal import one_bet
from mobai.kernels.jit.compiled import entry, kernel, record
from mobai.kernels.programs.dense import Cube, Flags, Integers, IntMatrix, Matrix, Vector, fill

Grid = npt.NDArray[np.float64]  # layer, objective, better arm, worse arm
IntGrid = npt.NDArray[np.int64]
Wealth = npt.NDArray[np.float64]  # the same, and share

# What a gambler stakes of their wealth at every index, all with the same weight.
SHARES = tuple(0.97 * 1.9**-q for q in range(12))
# The precisions of a normal shift, in standard deviations of the differences, all with the same weight.
WIDTHS = (1.0, 8.0, 64.0, 512.0)
# How differences are weighed: by their size in a known range, by a known scale, by their own scatter, by their sign.
BETS, SCALE, SCATTER, SIGN = 0, 1, 2, 3
# What stands for a reward: it never comes, and the index is left out; it never comes, and counts as the worst.
LEFT_OUT, WORST = math.inf, -math.inf
# How far rounding moves a sum, per number of it and in sizes of the largest that it can be.
ROUNDING = 4e-16
# A smaller part of the range than that is not divided by.
_LEAST_ROOM = 1e-9
# How near bounds are to where the evidence reaches its level, in standard errors.
_NEAR = 0.02


@record
class Sheet(NamedTuple):
    """What was measured: oriented rewards by index, arm and metric, and up to which index nothing is missing."""

    values: Cube
    until: IntMatrix  # arm, metric


@record
class Measures(NamedTuple):
    """What is known of each metric: how differences are weighed, where rewards begin, the width of their range.

    Differences within ``band`` are no win. A decision takes ``least`` differences. ``sd`` is the scale of every arm.
    ``size`` has one number: of how many indices a finite benchmark consists, 0 if there is no end.
    """

    kinds: Integers
    low: Vector
    width: Vector
    band: Vector
    least: Vector
    sd: Matrix  # metric, arm
    size: Integers


@record
class Bets(NamedTuple):
    """What every claim has come to. A layer per margin: none, and the indifference zone.

    Of limits: a layer per kind of claim, guardrails in place of objectives, and nothing in place of the worse arm.
    """

    margins: Matrix  # layer, objective
    wealth: Wealth  # of every share, as a part of all
    scale: Grid  # the logarithm of all of it
    total: Grid  # of the differences, or their mean where their scatter counts
    scatter: Grid
    read: IntGrid  # up to which index
    used: IntGrid  # how many differences
    now: Grid  # the evidence at that index
    top: Grid  # the largest so far


def new_bets(margins: Matrix, arms: int, rivals: int) -> Bets:
    """Return bets on nothing yet."""
    shape = (*margins.shape, arms, rivals)
    counts = [np.zeros(shape, np.int64) for _ in range(2)]
    numbers = [np.zeros(shape) for _ in range(5)]
    wealth = np.full((*shape, len(SHARES)), 1.0 / len(SHARES))
    return Bets(margins, wealth, numbers[0], numbers[1], numbers[2], counts[0], counts[1], numbers[3], numbers[4])


@entry
def advance(sheet: Sheet, measures: Measures, bets: Bets, arm: int, closed: Flags, level: float) -> bool:
    """Read on in every claim about an arm, as far as nothing is missing; in place.

    What exceeds the level is read no further, nor what is claimed of arms that are ``closed`` in an objective. Return
    whether something exceeds it now.
    """
    found = False
    for layer in range(bets.margins.shape[0]):
        for m in range(bets.margins.shape[1]):
            for other in range(sheet.until.shape[0]):
                if other != arm:
                    if closed[m, other] == 0:
                        found = read_on(sheet, measures, bets, layer, m, arm, other, level) or found
                    if closed[m, arm] == 0:
                        found = read_on(sheet, measures, bets, layer, m, other, arm, level) or found
    return found


@kernel
def read_on(sheet: Sheet, measures: Measures, bets: Bets, layer: int, m: int, b: int, i: int, level: float) -> bool:
    """Read on in one claim, and return whether it exceeds the level now; in place."""
    until = min(sheet.until[b, m], sheet.until[i, m])
    j = bets.read[layer, m, b, i]
    if j >= until or bets.top[layer, m, b, i] > level:
        return False
    while j < until and not bets.top[layer, m, b, i] > level:
        found = difference(sheet.values, measures, j, m, b, i)
        if not math.isnan(found):
            take(measures, m, measures.sd[m, b] + measures.sd[m, i], bets, layer, m, b, i, j, found)
        j += 1
    bets.read[layer, m, b, i] = j
    return bets.top[layer, m, b, i] > level


@kernel
def difference(values: Cube, measures: Measures, j: int, m: int, b: int, i: int) -> float:
    """Return by how much b is better than i at an index, NaN where that is left out; what never came is the worst."""
    x, y, kind = values[j, b, m], values[j, i, m], measures.kinds[m]
    missing_x, missing_y = math.isinf(x), math.isinf(y)
    if (missing_x and x > 0.0) or (missing_y and y > 0.0):
        return math.nan
    if kind == SIGN:
        if missing_x or missing_y:
            return -1.0
        return 1.0 if x - y > measures.band[m] else -1.0 if y - x > measures.band[m] else 0.0
    low = measures.low[m]
    return (low if missing_x else x) - (low + measures.width[m] if missing_y else y)


@kernel
def take(
    measures: Measures,
    metric: int,
    sd: float,
    bets: Bets,
    layer: int,
    m: int,
    b: int,
    i: int,
    j: int,
    found: float,
) -> None:
    """Take one difference, in a metric and of a scale ``sd`` where that is known, into a claim; in place."""
    kind, margin = measures.kinds[metric], bets.margins[layer, m]
    bets.used[layer, m, b, i] += 1
    count = float(bets.used[layer, m, b, i])
    if kind == SCALE:
        bets.total[layer, m, b, i] += found
        apart = bets.total[layer, m, b, i] / count + margin
        evidence = one_bet(count, apart / sd) if apart > 0.0 else -math.inf
    elif kind == SCATTER:
        away = found - bets.total[layer, m, b, i]
        bets.total[layer, m, b, i] += away / count
        bets.scatter[layer, m, b, i] += away * (found - bets.total[layer, m, b, i])
        evidence = shift_evidence(count, bets.total[layer, m, b, i] + margin, bets.scatter[layer, m, b, i])
    else:
        evidence = stake(measures, metric, bets, layer, m, b, i, j, found)
    bets.now[layer, m, b, i] = evidence
    if count >= measures.least[metric] and evidence > bets.top[layer, m, b, i]:
        bets.top[layer, m, b, i] = evidence


@kernel
def stake(
    measures: Measures, metric: int, bets: Bets, layer: int, m: int, b: int, i: int, j: int, found: float
) -> float:
    """Let every share of the wealth bet on one difference; return the evidence; in place."""
    width, size = measures.width[metric], measures.size[0]
    margin = bets.margins[layer, m]
    gain = gain_of(found, bets.total[layer, m, b, i], margin, width, j, size)
    bets.total[layer, m, b, i] += found
    if size > 0 and is_refuted(bets.total[layer, m, b, i], margin, width, measures.low[metric], j, size):
        return math.inf
    wealth = bets.wealth[layer, m, b, i]
    bets.scale[layer, m, b, i] = grown(wealth, gain, bets.scale[layer, m, b, i])
    return bets.scale[layer, m, b, i]


@kernel
def grown(wealth: Vector, gain: float, scale: float) -> float:
    """Let every share bet; return the logarithm of all wealth, of which the shares are kept as parts; in place.

    ``scale`` is that logarithm before, and the parts add up to 1.
    """
    total = 0.0
    for q in range(len(SHARES)):
        wealth[q] *= 1.0 + SHARES[q] * gain
        total += wealth[q]
    share = 1.0 / total
    for q in range(len(SHARES)):
        wealth[q] *= share
    return scale + math.log(total)


@kernel
def gain_of(found: float, before: float, margin: float, width: float, j: int, size: int) -> float:
    """Return what a stake of everything gains: fair, or worse than fair, if b is not better by more than -margin.

    In a finite benchmark the differences that are left have a mean of at most what is left of the sum.
    """
    if size == 0:
        return (found + margin) / (width - margin)
    room = (-size * margin - before) / (size - j) + width
    return (found + width) / room - 1.0 if room > _LEAST_ROOM * width else 0.0


@kernel
def is_refuted(total: float, margin: float, width: float, low: float, j: int, size: int) -> bool:
    """Whether b is better by more than -margin in a finite benchmark whatever the differences left are."""
    rounding = ROUNDING * size * (abs(low) + width)
    return total - (size - j - 1) * width > -size * margin + rounding


@kernel
def shift_evidence(count: float, apart: float, scatter: float) -> float:
    """Return the evidence that Gaussian differences have a mean above 0, of unknown variance.

    ``apart`` is their mean, and ``scatter`` the sum of their squared distances from it.
    """
    if not apart > 0.0:
        return -math.inf
    square = count * apart * apart
    top, total = -math.inf, 0.0
    for c in WIDTHS:
        k = c / (count + c)
        value = 0.5 * math.log(k) + 0.5 * count * (math.log(scatter + square) - math.log(scatter + k * square))
        if value > top:
            top, total = value, total * math.exp(top - value) + 1.0
        else:
            total += math.exp(value - top)
    return top + math.log(total / len(WIDTHS))


@entry
def least_mean(values: Vector, indices: Integers, width: float, size: int, most: float, level: float) -> float:
    """Return a number that the mean of a sequence is above: the largest whose bets exceed a level at some index.

    No value is below ``-width``, and the mean is at most ``most``. The values are those at these ``indices`` of the
    order. The evidence falls as the number grows.
    """
    if len(values) == 0:
        return -width
    low, high, wealth, near = -width, most, np.empty(len(SHARES)), _NEAR * standard_error(values, width)
    while high - low > near:
        middle = 0.5 * (low + high)
        if is_above(wealth, values, indices, width, size, -middle, level):
            low = middle
        else:
            high = middle
    return low


@kernel
def standard_error(values: Vector, width: float) -> float:
    """Return how far the mean of some numbers is from what it estimates; never nothing, in a range of this width."""
    total, squares = 0.0, 0.0
    for value in values:
        total += value
        squares += value * value
    count = len(values)
    variance = max(squares / count - (total / count) ** 2, 0.0)
    return math.sqrt((variance + 1e-6 * width * width) / count)


@kernel
def is_above(
    wealth: Vector, values: Vector, indices: Integers, width: float, size: int, margin: float, level: float
) -> bool:
    """Whether bets that the mean of a sequence is above minus a margin exceed a level at some index."""
    fill(wealth, 1.0 / len(SHARES))
    total, scale = 0.0, 0.0
    for n in range(len(values)):
        gain = gain_of(values[n], total, margin, width, indices[n], size)
        total += values[n]
        if size > 0 and is_refuted(total, margin, width, 0.0, indices[n], size):
            return True
        scale = grown(wealth, gain, scale)
        if scale > level:
            return True
    return False


@entry
def log_shift_evidence(count: float, apart: float, scatter: float) -> float:
    """Return :func:`shift_evidence`."""
    return shift_evidence(count, apart, scatter)
