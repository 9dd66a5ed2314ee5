"""The evidence of two arms with rewards in a known range: bets against a common mean. Proofs: docs/guarantee.md.

Rewards are scaled to between 0 and 1, and kept as histograms (:mod:`mobai.kernels.evidence.betting`). At a null mean m,
a bet of rate r that an arm's mean is above m multiplies its wealth by ``1 + r (X - m)``, and one that it is below by
``1 + r (m - X)``; rates are cut so that no bet loses more than 0.98 of its stake. One arm bets above m and the other
below: each pair of rates has a share of the stake, most of it where both rates are alike, since arms that are sampled
about equally often are best bet on at about the same rate.

The evidence is the smallest logarithm of the wealth over all m. In m, the logarithm of one bet's wealth is concave
where its rate is not cut, and convex where it is: on a short stretch it is above a chord, or above a tangent. So the
wealth of all bets is above a sum of exponentials of straight lines, whose logarithm is convex: its tangents bound it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import kernel, record
from mobai.kernels.programs.dense import Cube, Matrix, Vector

_EXPONENTS = range(-7, 14)
RATES = tuple(1.96 * 2.0**-q for q in _EXPONENTS)
_COUNT = len(RATES)
LARGEST_LOSS = 0.98
# How the stake is shared out: over rates, most of it around 1/4; over the rate of the other arm, given the first; and
# how much of it is bet on both arms independently, or not at all.
_RAW = [math.exp(-0.2 * abs(q - 3)) for q in _EXPONENTS]
ABSTAINED = 0.02
WEIGHTS = tuple((1.0 - ABSTAINED) * one / sum(_RAW) for one in _RAW)
_NEAR = (0.12, 0.22, 0.32, 0.22, 0.12)
REACH = 2
INDEPENDENT = 0.08
_TOTALS = [sum(_NEAR[d + REACH] for d in range(-REACH, REACH + 1) if 0 <= q + d < _COUNT) for q in range(_COUNT)]
SHARES = tuple(tuple(one / total for one in _NEAR) for total in _TOTALS)

# The columns of a point of the search: the log-wealths of bets above and below, and their slopes where rates are cut.
ABOVE, BELOW, ABOVE_SLOPE, BELOW_SLOPE = range(4)
# What is known of a point, beside: where it is, the bound of the stretch to the right of it, where to split that
# stretch, and which point comes next.
AT, BOUND, SPLIT, NEXT = range(4)
MOST_POINTS = 64
TOLERANCE = 1e-6


@record
class Workspace(NamedTuple):
    """Room for the points of a search, and for a stretch between two of them."""

    bets: Cube  # point, ABOVE to BELOW_SLOPE, rate
    points: Matrix  # point, AT to NEXT
    # Of bets above and below: their log-wealths at one end of a stretch, by how much they rise along it, and room.
    lines: Matrix


def new_workspace(points: int) -> Workspace:
    """Return room for a search; none if histograms have no points, and nothing is searched for."""
    most = MOST_POINTS if points else 0
    return Workspace(np.empty((most, 4, _COUNT)), np.empty((most, 4)), np.empty((6, _COUNT)))


@kernel
def coupled_score(
    bins: Cube,
    worst: Matrix,
    work: Workspace,
    m: int,
    b: int,
    i: int,
    last: int,
    eps: float,
    guess: float,
    level: float,
    beyond: float,
) -> float:
    """Return the evidence that the mean of b is above that of i less eps: the smallest log-wealth over null means.

    ``worst`` counts rewards that are taken for the worst that they can be. The search begins at ``guess``. Where the
    evidence is not above ``level``, any number that is not may come back, and where it is above ``beyond``, any that
    is.
    """
    points = work.points
    first, end = max(0.0, -eps), min(1.0, 1.0 - eps)
    place = min(max(guess, first), end)
    least = evaluate(bins, worst, work, m, b, i, last, eps, place, 0)
    if least <= level:
        return least
    count = 1
    points[0, NEXT], points[0, BOUND] = -1.0, math.inf
    if place > first:
        least = min(least, evaluate(bins, worst, work, m, b, i, last, eps, first, count))
        points[count, NEXT] = 0.0
        count += 1
    if place < end:
        least = min(least, evaluate(bins, worst, work, m, b, i, last, eps, end, count))
        points[0, NEXT], points[count, NEXT], points[count, BOUND] = float(count), -1.0, math.inf
        count += 1
    for point in range(count):
        if points[point, NEXT] >= 0.0:
            bound_stretch(work, point, eps)
    while least > level:
        weakest, bound = 0, math.inf
        for point in range(count):
            if points[point, BOUND] < bound:
                weakest, bound = point, points[point, BOUND]
        bound = min(bound, least)
        if bound > beyond or least - bound <= max(TOLERANCE, 1e-12 * abs(least)) or count == MOST_POINTS:
            return bound
        least = min(least, evaluate(bins, worst, work, m, b, i, last, eps, points[weakest, SPLIT], count))
        points[count, NEXT], points[weakest, NEXT] = points[weakest, NEXT], float(count)
        bound_stretch(work, weakest, eps)
        bound_stretch(work, count, eps)
        count += 1
    return least


@kernel
def evaluate(
    bins: Cube,
    worst: Matrix,
    work: Workspace,
    m: int,
    b: int,
    i: int,
    last: int,
    eps: float,
    at: float,
    point: int,
) -> float:
    """Fill in a point of the search, and return the log-wealth of all bets there."""
    bets = work.bets[point]
    bet_on(bins, worst, m, b, last, at, True, bets[ABOVE], bets[ABOVE_SLOPE])
    bet_on(bins, worst, m, i, last, at + eps, False, bets[BELOW], bets[BELOW_SLOPE])
    for q in range(len(RATES)):
        work.lines[0, q], work.lines[1, q] = bets[ABOVE, q], bets[BELOW, q]
        work.lines[2, q], work.lines[3, q] = 0.0, 0.0
    work.points[point, AT] = at
    return joined(work.lines)[0]


@kernel
def bet_on(
    bins: Cube, worst: Matrix, m: int, arm: int, last: int, mean: float, above: bool, wealth: Vector, slope: Vector
) -> None:
    """Fill in the log-wealth of an arm's bets against a mean, rate by rate, and its slope where the rate is cut."""
    room = mean if above else 1.0 - mean
    for q in range(len(RATES)):
        cut = RATES[q] * room > LARGEST_LOSS
        rate = LARGEST_LOSS / room if cut else RATES[q]
        total, steepness = 0.0, 0.0
        if worst[m, arm] > 0.0:
            total = worst[m, arm] * math.log(1.0 - rate * room)
        for j in range(last + 1):
            count = bins[m, arm, j]
            if count > 0.0:
                away = j / last - mean if above else mean - j / last
                total += count * math.log(1.0 + rate * away)
                if cut:
                    steepness += count * rate * (away + room) / (1.0 + rate * away)
        wealth[q] = total
        slope[q] = (-steepness if above else steepness) / room if cut else 0.0


@kernel
def bound_stretch(work: Workspace, point: int, eps: float) -> None:
    """Bound the log-wealth between a point and the next one from below, and say where to split the stretch; in place.

    The lines are convex in the share of the stretch, once they are added up: where the tangents at both ends cross, no
    value is lower.
    """
    right = int(work.points[point, NEXT])
    start, end = work.points[point, AT], work.points[right, AT]
    draw_lines(work, point, right, start, end, eps)
    value, slope = joined(work.lines)
    for q in range(len(RATES)):
        work.lines[0, q] += work.lines[2, q]
        work.lines[1, q] += work.lines[3, q]
    last_value, last_slope = joined(work.lines)
    if slope >= 0.0:
        bound, share = value, 0.5
    elif last_slope <= 0.0:
        bound, share = last_value, 0.5
    else:
        share = min(max((last_value - value - last_slope) / (slope - last_slope), 0.0), 1.0)
        bound = value + slope * share
    work.points[point, BOUND] = bound
    work.points[point, SPLIT] = start + min(max(share, 0.05), 0.95) * (end - start)


@kernel
def draw_lines(work: Workspace, left: int, right: int, start: float, end: float, eps: float) -> None:
    """Fill in straight lines that no bet's log-wealth is below between two points.

    The chord, where the rate is cut nowhere between them; the tangent at the end at which the wealth is smaller, where
    it is cut everywhere; else the smallest value. A bet above falls with the mean, and one below rises.
    """
    bets, lines, width = work.bets, work.lines, end - start
    for q in range(len(RATES)):
        least, most = bets[right, ABOVE, q], bets[right, ABOVE, q]
        if RATES[q] * end <= LARGEST_LOSS:
            most = bets[left, ABOVE, q]
        elif RATES[q] * start >= LARGEST_LOSS:
            most = least - bets[right, ABOVE_SLOPE, q] * width
        lines[0, q], lines[2, q] = most, least - most
        least = most = bets[left, BELOW, q]
        if RATES[q] * (1.0 - start - eps) <= LARGEST_LOSS:
            most = bets[right, BELOW, q]
        elif RATES[q] * (1.0 - end - eps) >= LARGEST_LOSS:
            most = least + bets[left, BELOW_SLOPE, q] * width
        lines[1, q], lines[3, q] = least, most - least


@kernel
def joined(lines: Matrix) -> tuple[float, float]:
    """Return the logarithm of the wealth of all bets, given those of each arm, and how it rises with them."""
    top_above, top_below = 0.0, 0.0
    for q in range(len(RATES)):
        top_above, top_below = max(top_above, lines[0, q]), max(top_below, lines[1, q])
    idle_above, idle_below = math.exp(-top_above), math.exp(-top_below)
    alike, rise = ABSTAINED * idle_above * idle_below, 0.0
    own, own_rise, other, other_rise = ABSTAINED * idle_above, 0.0, ABSTAINED * idle_below, 0.0
    for q in range(len(RATES)):
        above = WEIGHTS[q] * math.exp(lines[0, q] - top_above)
        below = WEIGHTS[q] * math.exp(lines[1, q] - top_below)
        own, own_rise = own + above, own_rise + above * lines[2, q]
        other, other_rise = other + below, other_rise + below * lines[3, q]
        lines[4, q], lines[5, q] = above, below / WEIGHTS[q]
    for q in range(len(RATES)):
        for d in range(-REACH, REACH + 1):
            r = q + d
            if 0 <= r < len(RATES):
                both = SHARES[q][d + REACH] * lines[4, q] * lines[5, r]
                alike, rise = alike + both, rise + both * (lines[2, q] + lines[3, r])
    wealth = (1.0 - INDEPENDENT) * alike + INDEPENDENT * own * other
    risen = (1.0 - INDEPENDENT) * rise + INDEPENDENT * (own_rise * other + own * other_rise)
    return top_above + top_below + math.log(wealth), risen / wealth
