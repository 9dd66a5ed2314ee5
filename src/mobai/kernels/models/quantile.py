"""Rewards of which a quantile is compared: bets on coins whose chance is known. Proofs: docs/guarantee.md.

Of oriented rewards Y, more is better, and T is their quantile at a level p: P(Y < T) <= p <= P(Y <= T). A bet that T is
above y wins with a reward above y and loses with any other, one that T is below y wins with a reward below y. Rewards
are counted by the cell between two edges that they lie in, and rounded against the claim that is made.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from mobai.kernels.evidence.betting import LOG_ABSTAINED, LOG_LEFT, LOG_WEIGHTS, SHARES
from mobai.kernels.evidence.coins import log_likelihood
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.programs.dense import Vector
from mobai.kernels.stats.observations import ObservationArrays, count_of

# What there is to a candidate: evidence, or its transport cost.
EVIDENCE, COST = 0, 1
# Edges are compared with numbers that were computed with this much room, relative to their size.
_ROOM = 1e-12
_LARGEST_TERM = 40.0


@kernel
def first_edge_from(obs: ObservationArrays, m: int, value: float) -> int:
    """Return the first edge that is not below a value; one past the last if all are."""
    low, high = 0, obs.quantiles.last[m] + 1
    while low < high:
        middle = (low + high) // 2
        if obs.quantiles.edges[m, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_reward(obs: ObservationArrays, m: int, arm: int, reward: float) -> None:
    """Count a reward; beyond the range it counts as at its end; in place."""
    last = obs.quantiles.last[m]
    for k in range(min(first_edge_from(obs, m, reward), last), last + 1):
        obs.quantiles.reached[m, arm, k] += 1.0


@kernel
def value_at(obs: ObservationArrays, m: int, i: int, count: float, half: float) -> float:
    """Return the value that this many of an arm's rewards are below, with ``half`` a reward more at either end."""
    low, high = 0, obs.quantiles.last[m]
    while low < high:
        middle = (low + high) // 2
        if obs.quantiles.reached[m, i, middle] + half < count:
            low = middle + 1
        else:
            high = middle
    if obs.quantiles.edges[m, low] == -math.inf:
        low += 1
    begin, end = obs.quantiles.edges[m, max(low - 1, 0)], obs.quantiles.edges[m, low]
    if low == 0 or end == math.inf:  # beyond the last cell of a known width
        return begin
    if begin == -math.inf:
        return end
    before, upto = obs.quantiles.reached[m, i, low - 1] + half, obs.quantiles.reached[m, i, low] + half
    share = (count - before) / (upto - before) if upto > before else 1.0
    return begin + min(max(share, 0.0), 1.0) * (end - begin)


@kernel
def estimate(obs: ObservationArrays, m: int, i: int) -> float:
    """Return an arm's empirical quantile."""
    return value_at(obs, m, i, obs.quantiles.level[m] * obs.counts[m, i], 0.0)


@kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Estimate the variance of an arm's quantile by how far apart two nearby ones are, and what a reward has of it.

    As if there had been half a reward more at either end of the range; in place.
    """
    n, p = obs.counts[m, i], obs.quantiles.level[m]
    error = math.sqrt(p * (1.0 - p) / (n + 1.0))
    above = value_at(obs, m, i, min(p + error, 1.0) * (n + 1.0), 0.5)
    below = value_at(obs, m, i, max(p - error, 0.0) * (n + 1.0), 0.5)
    if not above > below:  # few rewards say nothing of such a quantile: it may be anywhere
        above, below = value_at(obs, m, i, n + 1.0, 0.5), value_at(obs, m, i, 0.0, 0.5)
    half = 0.5 * (above - below)
    obs.sd[m, i] = half * math.sqrt(max(n, 1.0))
    obs.spread[m, i] = half * half * max(n, 1.0) / max(count_of(obs, m, i), 1.0)


@kernel
def log_wealth(obs: ObservationArrays, m: int, lost: float, won: float, above: bool) -> float:
    """Return the log-wealth of bets that the quantile is above (or below) a number, given how many were lost and won.

    Of rewards at most it, a share of p at least is lost by bets that the quantile is above; of rewards that are not
    below it, a share of 1 - p by bets that it is below.
    """
    gains, top = 0 if above else len(SHARES), LOG_ABSTAINED
    for q in range(len(SHARES)):
        top = max(top, LOG_WEIGHTS[q] + lost * LOG_LEFT[q] + won * obs.quantiles.gains[m, gains + q])
    total = math.exp(LOG_ABSTAINED - top)
    for q in range(len(SHARES)):
        term = LOG_WEIGHTS[q] + lost * LOG_LEFT[q] + won * obs.quantiles.gains[m, gains + q] - top
        if term > -_LARGEST_TERM:
            total += math.exp(term)
    return top + math.log(total)


@kernel
def coin_cost(count: float, share: float, null: float) -> float:
    """Return the log-likelihood ratio of a coin that comes up with a share of its throws, against a chance."""
    return max(log_likelihood(count, share, share) - log_likelihood(count, share, null), 0.0)


@kernel
def part_above(obs: ObservationArrays, m: int, i: int, lost: float, kind: int) -> float:
    """Return what speaks for an arm's quantile being above a number that ``lost`` rewards are at most."""
    n, p = obs.counts[m, i], obs.quantiles.level[m]
    if kind == EVIDENCE:
        return log_wealth(obs, m, lost + obs.worst[m, i], n - lost, True)
    share = (lost + 0.5) / (n + 1.0)
    return coin_cost(count_of(obs, m, i), share, p) if share < p else 0.0


@kernel
def part_below(obs: ObservationArrays, m: int, i: int, won: float, kind: int) -> float:
    """Return what speaks for an arm's quantile being below a number that ``won`` rewards are below."""
    n, p = obs.counts[m, i], obs.quantiles.level[m]
    if kind == EVIDENCE:
        return log_wealth(obs, m, n - won + obs.worst[m, i], won, False)
    share = (won + 0.5) / (n + 1.0)
    return coin_cost(count_of(obs, m, i), share, p) if share > p else 0.0


@kernel
def above_part(obs: ObservationArrays, m: int, b: int, k: int, kind: int) -> float:
    """Return what speaks for an arm's quantile being above any number of a cell; it falls from cell to cell.

    Cell 0 is the first edge alone, cell k what is above edge k - 1, up to edge k.
    """
    return part_above(obs, m, b, obs.quantiles.reached[m, b, k], kind)


@kernel
def below_part(obs: ObservationArrays, m: int, i: int, k: int, shift: float, kind: int) -> float:
    """Return what speaks for an arm's quantile being below any number of a cell plus a shift; it rises."""
    edge = k - 1
    if shift != 0.0:
        # The last edge that all of the cell, moved, is above.
        moved = obs.quantiles.edges[m, max(k - 1, 0)] + shift
        edge = first_edge_from(obs, m, moved - _ROOM * (abs(moved) + abs(shift))) - 1
    return part_below(obs, m, i, obs.quantiles.reached[m, i, edge] if edge >= 0 else 0.0, kind)


@kernel
def first_cell_below(obs: ObservationArrays, m: int, b: int, start: int, most: float, kind: int) -> int:
    """Return the first cell from one on in which what speaks for "above" is less than a number; one past the last."""
    low, high = start, obs.quantiles.last[m] + 1
    while low < high:
        middle = (low + high) // 2
        if above_part(obs, m, b, middle, kind) < most:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def least_of_pair(
    obs: ObservationArrays, m: int, b: int, i: int, shift: float, kind: int, level: float, beyond: float
) -> tuple[float, float]:
    """Return what speaks for b plus a shift being above i: the least sum of two parts, over all numbers between.

    Where it is not above ``level``, any numbers that are not may come back, and where it is above ``beyond``, any that
    are. A cell can have a smaller sum than the least so far only where the falling part has made up for the rising one,
    so that most are passed over.
    """
    last = obs.quantiles.last[m]
    guess = 0.5 * (obs.means[m, b] + obs.means[m, i] - shift)
    k = min(first_edge_from(obs, m, guess), last)
    own, other = above_part(obs, m, b, k, kind), below_part(obs, m, i, k, shift, kind)
    if own + other <= level:
        return own, other
    k = 0
    while k <= last:
        rising = below_part(obs, m, i, k, shift, kind)
        k = first_cell_below(obs, m, b, k, min(own + other, beyond + 1.0) - rising, kind)
        if k > last:
            break
        falling, rising = above_part(obs, m, b, k, kind), below_part(obs, m, i, k, shift, kind)
        if falling + rising < own + other:
            own, other = falling, rising
            if own + other <= level:
                break
        k += 1
    return own, other


@kernel
def pair_score(obs: ObservationArrays, m: int, b: int, i: int, shift: float, level: float, beyond: float) -> float:
    """Return the evidence of a pair."""
    own, other = least_of_pair(obs, m, b, i, shift, EVIDENCE, level, beyond)
    return own + other


@kernel
def pair_costs(obs: ObservationArrays, m: int, best: int, i: int) -> tuple[float, float]:
    """Return what each arm contributes to the transport cost of a pair."""
    return least_of_pair(obs, m, best, i, obs.objectives.eps[m], COST, -math.inf, math.inf)


@kernel
def claim_part(obs: ObservationArrays, m: int, i: int, value: float, above: bool, kind: int) -> float:
    """Return what speaks for an arm's quantile being above (or below) a number."""
    room = _ROOM * abs(value)
    if above:
        k = min(first_edge_from(obs, m, value + room), obs.quantiles.last[m])
        return part_above(obs, m, i, obs.quantiles.reached[m, i, k], kind)
    k = first_edge_from(obs, m, value - room) - 1
    return part_below(obs, m, i, obs.quantiles.reached[m, i, k] if k >= 0 else 0.0, kind)


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, null: float, above: bool) -> float:
    """Return the evidence that an arm's quantile is above (or below) a number."""
    return claim_part(obs, m, i, null, above, EVIDENCE)


@kernel
def claim_cost(obs: ObservationArrays, m: int, i: int, apart: float, above: bool) -> float:
    """Return the cost of moving an arm's quantile, which is claimed to be above (or below) a number, to it."""
    return claim_part(obs, m, i, obs.means[m, i] + (-apart if above else apart), above, COST)


@entry
def bound_quantiles(obs: ObservationArrays, m: int, levels: Vector, lower: Vector, upper: Vector) -> None:
    """Fill in between which edges every arm's true quantile lies: bets on both sides have half of the stake each."""
    last = obs.quantiles.last[m]
    for i in range(len(levels)):
        needed, low, high = levels[i] + math.log(2.0), 0, last + 1
        while low < high:  # the first edge that the quantile is not proven to be above
            middle = (low + high) // 2
            if part_above(obs, m, i, obs.quantiles.reached[m, i, middle], EVIDENCE) > needed:
                low = middle + 1
            else:
                high = middle
        lower[i] = obs.quantiles.edges[m, max(low - 1, 0)]
        high = last + 1
        while low < high:  # the first edge from there that it is proven to be below
            middle = (low + high) // 2
            if below_part(obs, m, i, middle, 0.0, EVIDENCE) > needed:
                high = middle
            else:
                low = middle + 1
        upper[i] = obs.quantiles.edges[m, min(low, last)]


def interval(obs: ObservationArrays, m: int, levels: Vector) -> tuple[Vector, Vector]:
    """Return between which numbers every arm's true quantile lies."""
    lower, upper = np.empty_like(levels), np.empty_like(levels)
    bound_quantiles(obs, m, levels, lower, upper)
    return lower, upper


def make_up_counts(obs: ObservationArrays, m: int) -> None:
    """Make up Gaussian rewards with the quantiles and the scatter there are; in place."""
    from scipy.special import ndtr

    last, p = int(obs.quantiles.last[m]), float(obs.quantiles.level[m])
    edges, counts, at = obs.quantiles.edges[m, : last + 1], obs.counts[m], NormalDist().inv_cdf(p)
    noise = np.sqrt(obs.scatter[m] / np.maximum(counts, 1.0)) * NormalDist().pdf(at) / math.sqrt(p * (1.0 - p))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (edges - obs.means[m][:, None]) / noise[:, None]
    found = ndtr(np.where(np.isnan(apart), 0.0, apart) + at)
    found[:, last] = 1.0
    obs.quantiles.reached[m, :, : last + 1] = counts[:, None] * found
