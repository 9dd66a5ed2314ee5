"""Two arms with Gaussian rewards of unknown variance: the t-test's martingales, tilted. Proofs: docs/guarantee.md.

An arm with n rewards, scatter v and a mean that is d better than a candidate mean (worse, for the rival) has, for the
width c, k = c / (n + c)::

    log E = 1/2 log k + log_bet(d),     log_bet(d) = log_ratio(d) + log 2 (1 - p + (2p - 1) T_n(t(d)))
    log_ratio(d) = n/2 log( (v + n d^2) / (v + k n d^2) ) = n/2 log(1 + t(d)^2 / n)

with T_n Student's distribution function and p the share that is bet on one side. Distances are measured from the
rival's mean: the candidate x is at distance x from it and gap - x from the leader's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import kernel

# Each width is a test of its own and pays for its share.
WIDTHS = (64.0, 4.0, 0.125)
WEIGHTS = (0.4, 0.3, 0.3)
LEAST_WIDTH = 0.125
TOLERANCE = 1e-7
MOST_CELLS = 4096
DEEPEST = 46
# How much is bet on the leader's being better and on the rival's being worse; the rest on the contrary.
SIDE = 0.95
# What no arm's log_bet is below, however far its mean is on the wrong side, with 1, 2, ... rewards; the last with more.
DIPS = (
    *(-0.2525, -0.3320, -0.3685, -0.3895, -0.4025, -0.4120, -0.4190, -0.4240),
    *(-0.4280, -0.4315, -0.4345, -0.4365, -0.4385, -0.4400, -0.4415, -0.4925),
)


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
def meeting_point(gap: float, best: Sample, rival: Sample) -> float:
    """Return where the two arms meet when the variances are taken for known."""
    spread_b, spread_i = best.scatter / (best.size * best.size), rival.scatter / (rival.size * rival.size)
    return gap * spread_i / (spread_b + spread_i) if spread_b + spread_i > 0.0 else 0.5 * gap


@kernel
def student_cost(gap: float, best: Sample, rival: Sample) -> tuple[float, float]:
    """Return a transport cost for sampling, and the leader's share of it; no evidence is above it by 2 log 2 or more.

    The smallest of three candidates: either mean, and where the two meet.
    """
    k_b, k_i = LEAST_WIDTH / (best.size + LEAST_WIDTH), LEAST_WIDTH / (rival.size + LEAST_WIDTH)
    middle = meeting_point(gap, best, rival)
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
def log_tail(t: float, degrees: float) -> float:
    """Return the logarithm of half the probability that Student's t is further from zero than t.

    By the continued fraction of the incomplete beta function, on the side where it converges quickly.
    """
    a, x = 0.5 * degrees, degrees / (degrees + t * t)
    if t == 0.0:
        return math.log(0.5)
    front = math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5) + a * math.log(x)
    front += math.log(abs(t)) - 0.5 * math.log(degrees + t * t)
    if x * (a + 2.5) < a + 1.0:
        return math.log(0.5) + front + math.log(beta_fraction(a, 0.5, x) / a)
    return math.log(0.5) + math.log1p(-math.exp(front) * beta_fraction(0.5, a, 1.0 - x) / 0.5)


@kernel
def beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for step in range(1, 10_000):
        even = step * (b - step) * x / ((a + 2.0 * step - 1.0) * (a + 2.0 * step))
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        value *= d * c
        odd = -(a + step) * (a + b + step) * x / ((a + 2.0 * step) * (a + 2.0 * step + 1.0))
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        value *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return value


@kernel
def log_side(d: float, arm: Sample, k: float) -> float:
    """Return ``log 2 (1 - p + (2p - 1) T_n(t(d)))``, d >= 0: what betting more on one side than on the other gains."""
    if d == 0.0:
        return 0.0
    n = arm.size
    t = n * math.sqrt((1.0 - k) / (arm.scatter / (d * d) + k * n))
    return math.log(2.0 * (SIDE - (2.0 * SIDE - 1.0) * math.exp(log_tail(t, n))))


@kernel
def log_bet(d: float, arm: Sample, k: float) -> float:
    """Return an arm's log E but for ``1/2 log k``, d >= 0. It rises with d."""
    return log_ratio(d, arm, k) + log_side(d, arm, k)


@kernel
def one_sided(d: float, arm: Sample) -> float:
    """Return the log-wealth of one arm's bets that its mean is on one side of a number at distance d > 0.

    An average over the widths, in the filtration of the arm alone.
    """
    top, total = -math.inf, 0.0
    for w in range(len(WIDTHS)):
        k = WIDTHS[w] / (arm.size + WIDTHS[w])
        value = math.log(WEIGHTS[w]) + 0.5 * math.log(k) + log_bet(d, arm, k)
        if value > top:
            top, total = value, total * math.exp(top - value) + 1.0
        else:
            total += math.exp(value - top)
    return top + math.log(total)


@kernel
def student_score(gap: float, best: Sample, rival: Sample, rivals: float, level: float, beyond: float) -> float:
    """Return the evidence of the pair, in nats that may be compared with other families'.

    The two martingales are independent. So the best arm loses to one of its ``rivals`` when the logarithm of their
    product exceeds log(rivals) + z, with a probability of at most (1 + z) exp(-z). Where the evidence is not above
    ``level``, any number that is not may come back, and where it is above ``beyond``, any that is.
    """
    most, middle = -math.inf, meeting_point(gap, best, rival)
    for w in range(len(WIDTHS)):
        c, share = WIDTHS[w], math.log(WEIGHTS[w])
        price = 0.5 * math.log1p(best.size / c) + 0.5 * math.log1p(rival.size / c)
        floor, enough = at_least(level - share, rivals) + price, product_of(beyond - share, rivals) + price
        # Betting on one side gains log 2 at most.
        k_b, k_i = c / (best.size + c), c / (rival.size + c)
        most_there = log_ratio(gap - middle, best, k_b) + log_ratio(middle, rival, k_i) + 2.0 * math.log(2.0)
        if most_there <= floor:
            most = max(most, min(evidence_of(most_there - price, rivals) + share, level))
            continue
        product = smallest_sum(gap, best, rival, c, floor, enough) - price
        most = max(most, evidence_of(product, rivals) + share)
        if most > beyond:
            break
    return most


@kernel
def evidence_of(product: float, rivals: float) -> float:
    """Return the evidence that the logarithm of a product of two independent martingales is worth."""
    z = product - math.log(rivals)
    return product - math.log1p(z) if z > 0.0 else product


@kernel
def at_least(evidence: float, rivals: float) -> float:
    """Return a product's logarithm that is worth no more than this evidence."""
    x = evidence - math.log(rivals)
    return evidence + math.log1p(x) if x > 0.0 else evidence


@kernel
def product_of(evidence: float, rivals: float) -> float:
    """Return a product's logarithm such that anything larger is worth more than this evidence.

    For x > 0, ``log(1 + z)`` is less than ``sqrt(x) + 1`` at ``z = x + sqrt(x) + 1``.
    """
    x = evidence - math.log(rivals)
    return evidence + math.sqrt(x) + 1.0 if x > 0.0 else evidence


@kernel
def smallest_sum(gap: float, best: Sample, rival: Sample, c: float, level: float, enough: float) -> float:
    """Return a lower bound of the sum of both arms' log_bet over all candidates, at width c.

    Beyond a mean the other arm's is at least what it is there, and the arm's own no lower than it ever is. As soon as
    some candidate is not above ``level``, its value is returned; where the bound is above ``enough``, it is left there.
    """
    k_b, k_i = c / (best.size + c), c / (rival.size + c)
    middle = meeting_point(gap, best, rival)
    beyond = min(log_bet(gap, best, k_b) + dip(rival.size), log_bet(gap, rival, k_i) + dip(best.size))
    first = min(log_bet(gap - middle, best, k_b) + log_bet(middle, rival, k_i), beyond)
    return first if first <= level else min(between_means(gap, best, rival, k_b, k_i, level, enough), beyond)


@kernel
def dip(size: float) -> float:
    """Return a lower bound on log_bet for a number of rewards."""
    return DIPS[min(int(size), len(DIPS)) - 1]


@kernel
def between_means(
    gap: float, best: Sample, rival: Sample, k_b: float, k_i: float, level: float, enough: float
) -> float:
    """Return a lower bound, within the tolerance, of the sum over 0 <= x <= gap; or any that is not above the level.

    Branch and bound over cells on which each log_ratio is convex or concave: there the tangent in the middle, or the
    chord, is below it. The rest of log_bet is concave: its chord is below it.
    """
    turn_i = min(inflection(rival, k_i), gap)
    turn_b = max(gap - inflection(best, k_b), 0.0)
    least = min(log_bet(gap, best, k_b), log_bet(gap, rival, k_i))
    bound, cells = least, 0
    for stretch in range(3):
        # Between the two turns first: there the minimum is likeliest.
        start = min(turn_i, turn_b) if stretch == 0 else 0.0 if stretch == 1 else max(turn_i, turn_b)
        end = max(turn_i, turn_b) if stretch == 0 else min(turn_i, turn_b) if stretch == 1 else gap
        if start == end:
            continue
        # Cell number ``place`` of the stretch cut into 2^depth; they are visited from left to right.
        depth, place = 0, 0
        while depth >= 0 and least > level:
            width = (end - start) / (1 << depth)
            low, high = start + place * width, start + (place + 1) * width
            x = 0.5 * (low + high)
            least = min(least, log_bet(gap - x, best, k_b) + log_bet(x, rival, k_i))
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
    """Return a line that log_bet is nowhere below between two distances, by its values there."""
    side_first, side_last = log_side(first, arm, k), log_side(last, arm, k)
    if not convex:
        return log_ratio(first, arm, k) + side_first, log_ratio(last, arm, k) + side_last
    height, rise = log_ratio(middle, arm, k), slope(middle, arm, k)
    return height + rise * (first - middle) + side_first, height + rise * (last - middle) + side_last
