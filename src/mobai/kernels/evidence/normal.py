"""Two arms of known noise: bets that the leader is above a common mean and its rival below. Proofs: docs/guarantee.md.

Counts and the gap are in units of the pair's geometric mean variance, so that rescaling an objective changes nothing.
"""

from __future__ import annotations

import math

from mobai.kernels.evidence.convex import answer, is_answered, learned, new_search, next_point
from mobai.kernels.jit.compiled import entry, kernel

# The precisions of the half-normal bets, and their weights.
WIDTHS = (0.25, 2.0, 16.0, 128.0, 1024.0, 8192.0, 65536.0)
WEIGHTS = (0.18, 0.27, 0.22, 0.13, 0.09, 0.06, 0.05)
_HALF = math.sqrt(0.5)
_ROOT = math.sqrt(2.0 / math.pi)


@kernel
def scaled_tail(t: float) -> float:
    """Return ``erfcx(-t / sqrt 2) = 2 Phi(t) exp(t^2 / 2)`` for t below -5, by a continued fraction."""
    a = -t
    fraction = a
    for k in range(20, 0, -1):
        fraction = a + k / fraction
    return _ROOT / fraction


@kernel
def pair_bet(x: float, gap: float, n_b: float, n_i: float) -> tuple[float, float]:
    """Return the logarithm of both arms' bets against a common mean at x, and its slope; the rival's mean is at 0."""
    top, total, rise = -math.inf, 0.0, 0.0
    for k in range(len(WIDTHS)):
        c = WIDTHS[k]
        scale_b, scale_i = n_b / math.sqrt(n_b + c), n_i / math.sqrt(n_i + c)
        t_b, t_i = (gap - x) * scale_b, x * scale_i
        value, tails = 0.0, WEIGHTS[k] / math.sqrt((1.0 + n_b / c) * (1.0 + n_i / c))
        if t_b > -5.0:
            tail = math.erfc(-_HALF * t_b)
            value += 0.5 * t_b * t_b
            odds_b = _ROOT * math.exp(-0.5 * t_b * t_b) / tail
        else:
            tail = scaled_tail(t_b)
            odds_b = _ROOT / tail
        tails *= tail
        if t_i > -5.0:
            tail = math.erfc(-_HALF * t_i)
            value += 0.5 * t_i * t_i
            odds_i = _ROOT * math.exp(-0.5 * t_i * t_i) / tail
        else:
            tail = scaled_tail(t_i)
            odds_i = _ROOT / tail
        value += math.log(tails * tail)
        slope = (t_i + odds_i) * scale_i - (t_b + odds_b) * scale_b
        if value > top:
            shrink = math.exp(top - value)
            top, total, rise = value, total * shrink + 1.0, rise * shrink + slope
        else:
            share = math.exp(value - top)
            total, rise = total + share, rise + share * slope
    return top + math.log(total), rise / total


@kernel
def one_bet(n: float, apart: float) -> float:
    """Return the log-wealth of one arm's bets that its mean is on one side of a number, given the distance in sd."""
    top, total = -math.inf, 0.0
    for k in range(len(WIDTHS)):
        c = WIDTHS[k]
        t = n * apart / math.sqrt(n + c)
        value = math.log(WEIGHTS[k]) - 0.5 * math.log1p(n / c)
        value += 0.5 * t * t + math.log(math.erfc(-_HALF * t)) if t > -5.0 else math.log(scaled_tail(t))
        if value > top:
            top, total = value, total * math.exp(top - value) + 1.0
        else:
            total += math.exp(value - top)
    return top + math.log(total)


@entry
def log_one_bet(n: float, apart: float) -> float:
    """Return :func:`one_bet`."""
    return one_bet(n, apart)


@kernel
def normal_score(gap: float, n_b: float, n_i: float, level: float, beyond: float) -> float:
    """Return the evidence of the pair: the smallest log-wealth of both bets over all common means.

    Where it is not above ``level``, any number that is not may come back, and where it is above ``beyond``, any that
    is.
    """
    search = new_search(-math.inf, math.inf, 1.0 / math.sqrt(n_b + n_i))
    x = gap * n_b / (n_b + n_i)
    while True:
        value, slope = pair_bet(x, gap, n_b, n_i)
        search = learned(search, x, value, slope, 0.0)
        if is_answered(search, level, beyond):
            return answer(search)
        x = next_point(search, 0.0)


@entry
def cost_needed(n_b: float, n_i: float, level: float) -> float:
    """Return the transport cost at which the evidence of a pair reaches a level; it is never less than the level."""
    low, high = level, 2.0 * level
    while not normal_score(gap_of(high, n_b, n_i), n_b, n_i, level, level) > level:
        low, high = high, 2.0 * high
    while high - low > 1e-14 * high:
        middle = 0.5 * (low + high)
        if normal_score(gap_of(middle, n_b, n_i), n_b, n_i, level, level) > level:
            high = middle
        else:
            low = middle
    return high


@kernel
def gap_of(cost: float, n_b: float, n_i: float) -> float:
    """Return the gap that has this transport cost."""
    return math.sqrt(2.0 * cost * (1.0 / n_b + 1.0 / n_i))
