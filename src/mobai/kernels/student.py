"""Two arms with Gaussian rewards of unknown variance: the t-test's mixture martingales. Proofs: docs/guarantee.md.

An arm with n rewards, scatter v and a mean at distance d from a candidate mean has, for the width c, k = c / (n + c)::

    log E = log_ratio(d) - 1/2 log(1 + n/c),     log_ratio(d) = n/2 log( (v + n d^2) / (v + k n d^2) )

Distances are measured from the rival's mean: the candidate x is at distance x from it and gap - x from the leader's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.compiled import kernel

# Each width is a test of its own and pays for its share. The first settles most questions while rewards are few.
WIDTHS = (64.0, 1.0)
TOLERANCE = 1e-7
MOST_CELLS = 4096
DEEPEST = 46


class Sample(NamedTuple):
    """What the rewards of one arm say."""

    size: float  # how many there are
    scatter: float  # the sum of squares around their mean


@kernel
def log_ratio(d: float, arm: Sample, k: float) -> float:
    """Return what speaks against a mean at distance d."""
    square = arm.size * d * d
    if square == 0.0:
        return 0.0
    return 0.5 * arm.size * math.log((arm.scatter + square) / (arm.scatter + k * square))


@kernel
def slope(d: float, arm: Sample, k: float) -> float:
    """Return the derivative of log_ratio."""
    n, v = arm.size, arm.scatter
    square = n * d * d
    if square == 0.0:
        return 0.0
    return n * (square / (v + square)) * ((1.0 - k) * v / (v + k * square)) / d


@kernel
def inflection(arm: Sample, k: float) -> float:
    """Return where log_ratio turns from convex to concave."""
    q = 2.0 / (1.0 + k + math.sqrt((1.0 + k) ** 2 + 12.0 * k))
    return math.sqrt(q * arm.scatter / arm.size)


@kernel
def student_cost(gap: float, best: Sample, rival: Sample) -> tuple[float, float]:
    """Return a transport cost for sampling, no smaller than any width's evidence, and the leader's share of it.

    The smallest of three candidates: either mean, and where the two meet when the variances are taken for known.
    """
    k_b, k_i = 1.0 / (best.size + 1.0), 1.0 / (rival.size + 1.0)
    spread_b, spread_i = best.scatter / (best.size * best.size), rival.scatter / (rival.size * rival.size)
    middle = 0.5 * gap
    if spread_b + spread_i > 0.0:
        middle = gap * spread_i / (spread_b + spread_i)
    least, share = log_ratio(gap, best, k_b), 1.0
    other = log_ratio(gap, rival, k_i)
    if other < least:
        least, share = other, 0.0
    own, others = log_ratio(gap - middle, best, k_b), log_ratio(middle, rival, k_i)
    if own + others <= least:
        least = own + others
        share = own / least if least > 0.0 else rival.size / (best.size + rival.size)
    return least, share


@kernel
def student_score(gap: float, best: Sample, rival: Sample, level: float, beyond: float) -> float:
    """Return the evidence of the pair, in nats that may be compared with other families'.

    The two martingales are independent, so the logarithm of their product has the tail (1 + L) exp(-L). Where it is not
    above ``level``, any number that is not may come back, and where it is above ``beyond``, any that is.
    """
    most, enough = -math.inf, more_than(beyond)
    for c in WIDTHS:
        price = 0.5 * math.log1p(best.size / c) + 0.5 * math.log1p(rival.size / c)
        most = max(most, smallest_sum(gap, best, rival, c, level + price, enough + price) - price)
        if most > enough:
            break
    return (most - math.log1p(most) if most > 0.0 else most) - math.log(len(WIDTHS))


@kernel
def more_than(evidence: float) -> float:
    """Return an L such that the score of anything larger is more than this evidence.

    For x > 0, ``log(1 + L)`` is less than ``sqrt(x) + 1`` at ``L = x + sqrt(x) + 1``.
    """
    x = evidence + math.log(len(WIDTHS))
    return x + math.sqrt(x) + 1.0 if x > 0.0 else x


@kernel
def smallest_sum(gap: float, best: Sample, rival: Sample, c: float, level: float, enough: float) -> float:
    """Return a lower bound, within the tolerance, of the sum of both arms' log_ratio over 0 <= x <= gap, at width c.

    Branch and bound over cells on which each is convex or concave: there the tangent in the middle, or the chord,
    is below it. As soon as some x is not above ``level``, its value is returned; cells whose bound is above ``enough``
    are not divided.
    """
    k_b, k_i = c / (best.size + c), c / (rival.size + c)
    # Every x is at least half the gap away from one of the two means.
    at_least = min(log_ratio(0.5 * gap, best, k_b), log_ratio(0.5 * gap, rival, k_i))
    if at_least > enough:
        return at_least
    least = min(log_ratio(gap, best, k_b), log_ratio(gap, rival, k_i))
    turn_i = min(inflection(rival, k_i), gap)
    turn_b = max(gap - inflection(best, k_b), 0.0)
    bound, cells = math.inf, 0
    for stretch in range(3):
        # Between the two turns first: there the minimum is likeliest.
        start = min(turn_i, turn_b) if stretch == 0 else 0.0 if stretch == 1 else max(turn_i, turn_b)
        end = max(turn_i, turn_b) if stretch == 0 else min(turn_i, turn_b) if stretch == 1 else gap
        # Cell number ``place`` of the stretch cut into 2^depth; they are visited from left to right.
        depth, place = 0, 0
        while depth >= 0 and least > level:
            width = (end - start) / (1 << depth)
            low, high = start + place * width, start + (place + 1) * width
            x = 0.5 * (low + high)
            least = min(least, log_ratio(gap - x, best, k_b) + log_ratio(x, rival, k_i))
            floor_b = line_below(gap - low, gap - high, gap - x, turn_b < x, best, k_b)
            floor_i = line_below(low, high, x, x < turn_i, rival, k_i)
            floor = min(floor_b[0] + floor_i[0], floor_b[1] + floor_i[1])
            cells += 1
            if floor < min(least - TOLERANCE, enough) and depth < DEEPEST and cells < MOST_CELLS:
                depth, place = depth + 1, 2 * place
                continue
            bound = min(bound, floor)
            place += 1
            while depth > 0 and place % 2 == 0:
                depth, place = depth - 1, place // 2
            if depth == 0:
                depth = -1
    return min(least, bound)


@kernel
def line_below(first: float, last: float, middle: float, convex: bool, arm: Sample, k: float) -> tuple[float, float]:
    """Return a line that log_ratio is nowhere below between two distances, by its values there."""
    if not convex:
        return log_ratio(first, arm, k), log_ratio(last, arm, k)
    height, rise = log_ratio(middle, arm, k), slope(middle, arm, k)
    return height + rise * (first - middle), height + rise * (last - middle)
