"""The smallest value of a convex function of one number, bounded from below.

A tangent is nowhere above the function. So where the tangents of two points cross, one on either side of the minimum,
the function is nowhere below: that bound is what counts as evidence, and it is as close as asked for. The points do not
depend on what is asked, only where the search ends: a question ("is it above this?") never contradicts the answer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import inner_kernel

TOLERANCE = 1e-8
MOST_TURNS = 200


class Tangent(NamedTuple):
    """A point, the value of the function there, and its slope."""

    at: float
    value: float
    slope: float


class Search(NamedTuple):
    """How far the search has come.

    Attributes
    ----------
    low, high
        The tangents next to the minimum, on the left (falling) and on the right (rising); at -inf and inf before there
        are any.
    first, last
        The ends of the domain.
    step
        How far the next point lies from the last one while there is only one tangent.
    least, floor
        The smallest value found, and what no value is below.
    turns
        How many points were tried.
    """

    low: Tangent
    high: Tangent
    first: float
    last: float
    step: float
    least: float
    floor: float
    turns: int


@inner_kernel
def new_search(first: float, last: float, step: float) -> Search:
    """Begin a search between two ends, which may be infinite."""
    low, high = Tangent(-math.inf, math.inf, 0.0), Tangent(math.inf, math.inf, 0.0)
    return Search(low, high, first, last, step, math.inf, -math.inf, 0)


@inner_kernel
def learned(search: Search, x: float, value: float, slope: float, margin: float) -> Search:
    """Return the search after one more point.

    Points may be chosen up to ``margin`` from the ends of the domain, not beyond: there a tangent is extended.
    """
    low, high, first, last, step, least, floor, turns = search
    if slope < 0.0:
        low = Tangent(x, value, slope)
    else:
        high = Tangent(x, value, slope)
    least = min(least, value)
    if slope == 0.0:
        floor = max(floor, value)
    elif slope < 0.0 and x >= last - 2.0 * margin:
        floor = max(floor, value + slope * (last - x))
    elif slope > 0.0 and x <= first + 2.0 * margin:
        floor = max(floor, value + slope * (first - x))
    elif low.at > -math.inf and high.at < math.inf:
        across = (high.value - low.value - high.slope * (high.at - low.at)) / (low.slope - high.slope)
        floor = max(floor, low.value + low.slope * min(max(across, 0.0), high.at - low.at))
    return Search(low, high, first, last, 4.0 * step, least, floor, turns + 1)


@inner_kernel
def next_point(search: Search, margin: float) -> float:
    """Return where to look next: around the minimum of the cubic through both tangents, in the middle at times."""
    low, high = search.low, search.high
    if low.at == -math.inf:
        return max(high.at - search.step, search.first + margin)
    if high.at == math.inf:
        return min(low.at + search.step, search.last - margin)
    width = high.at - low.at
    bend = low.slope + high.slope - 3.0 * (high.value - low.value) / width
    root = math.sqrt(max(bend * bend - low.slope * high.slope, 0.0))
    share = (root + bend - low.slope) / (high.slope - low.slope + 2.0 * root)
    # Where one side is much closer to the minimum, as far beyond it: both tangents must be close to bound it well.
    if -10.0 * low.slope < high.slope:
        share *= 2.0
    elif 10.0 * high.slope < -low.slope:
        share = 2.0 * share - 1.0
    if not 0.0 < share < 1.0 or search.turns % 8 == 7:
        share = 0.5
    return low.at + share * width


@inner_kernel
def is_answered(search: Search, level: float, beyond: float) -> bool:
    """Whether the smallest value is not above ``level``, is above ``beyond``, or is known as well as it can be."""
    close = search.least - search.floor <= max(TOLERANCE, 1e-13 * abs(search.least))
    return search.least <= level or search.floor > beyond or close or search.turns >= MOST_TURNS


@inner_kernel
def answer(search: Search) -> float:
    """Return what no value is below."""
    return min(search.floor, search.least)
