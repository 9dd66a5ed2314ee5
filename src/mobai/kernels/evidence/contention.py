"""Who may still be best: arms that are out, and by how much those left can differ. Proofs: docs/guarantee.md."""

from __future__ import annotations

import math

from mobai.kernels.evidence.limits import applies, room, shifted_score
from mobai.kernels.evidence.scores import Scoring, price_of, stands_alone
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.models.dispatch import claim_score, noise_at, pair_score
from mobai.kernels.programs.dense import Integers, Matrix
from mobai.kernels.stats.observations import (
    BASELINE,
    LIMIT,
    METRIC,
    SIDE,
    ObservationArrays,
    breaks_limits,
)

# How near the bound of a difference is to where the evidence reaches the level, relative to the two arms' spread.
NEAR = 0.01
MOST_STEPS = 60


@kernel
def keeps_strictly(obs: ObservationArrays, i: int, level: float) -> bool:
    """Whether an arm keeps every limit itself, without its tolerance, with evidence above a level."""
    for c in range(obs.limits.what.shape[0]):
        m, side, base = obs.limits.what[c, METRIC], obs.limits.what[c, SIDE], obs.limits.what[c, BASELINE]
        if i == base:
            continue
        apart, noise = room(obs, c, i), noise_at(obs, m, level)
        if not applies(obs, c, i) or not apart > 0.0:
            return False
        if base >= 0:
            better, worse = (i, base) if side > 0 else (base, i)
            found = pair_score(obs, m, better, worse, obs.limits.terms[c, LIMIT], noise, 1.0, level, level)
        else:
            null = obs.limits.terms[c, LIMIT] - obs.objectives.offset[m]
            found = claim_score(obs, m, i, null, apart, side > 0, noise)
        if not found > level:
            return False
    return True


@kernel
def is_beaten(
    scoring: Scoring, obs: ObservationArrays, m: int, b: int, i: int, every_pair: bool, level: float, least: float
) -> bool:
    """Whether an arm is behind another, without any indifference zone, with evidence above what the pair must reach.

    Where extremes could hide, arms with fewer than ``least`` rewards must be behind with twice that.
    """
    if obs.counts[m, b] == 0.0 or obs.counts[m, i] == 0.0 or not obs.means[m, b] > obs.means[m, i]:
        return False
    needed = level + price_of(scoring.prices, obs, b, i, every_pair)
    if min(obs.counts[m, b], obs.counts[m, i]) < least:
        needed = 2.0 * needed
    # The transport cost is about what the evidence can be; with an indifference zone it is more.
    if obs.costs[m, i] <= needed and obs.leaders[m] == b:
        return False
    rivals = 1.0 if stands_alone(obs, b, i, every_pair) else float(obs.initial[0] - 1)
    return pair_score(obs, m, b, i, 0.0, noise_at(obs, m, needed), rivals, needed, needed) > needed


@entry
def find_out(scoring: Scoring, obs: ObservationArrays, level: float, least: float, m: int, out: Integers) -> None:
    """Fill in which arms are out of an objective: beaten by its leader, or breaking a limit.

    What every arm of the start was promised holds only while those of them that were retired are out, too; otherwise
    every pair pays. The costs of the objective must be up to date.
    """
    b = obs.leaders[m]
    may_rule_out = obs.active[b] > 0 and keeps_strictly(obs, b, level + scoring.prices.surcharges[b])
    every_pair = False
    for k in range(len(scoring.prices.retired)):
        i = scoring.prices.retired[k]
        beaten = may_rule_out and is_beaten(scoring, obs, m, b, i, False, level, least)
        every_pair = every_pair or not (beaten or is_broken(scoring, obs, i, level))
    for i in range(len(out)):
        beaten = i != b and may_rule_out and is_beaten(scoring, obs, m, b, i, every_pair, level, least)
        out[i] = 1 if beaten or is_broken(scoring, obs, i, level) else 0


@kernel
def is_broken(scoring: Scoring, obs: ObservationArrays, i: int, level: float) -> bool:
    """Whether an arm breaks some limit, with evidence above what it must reach."""
    return breaks_limits(obs, i) - scoring.prices.surcharges[i] > level


@entry
def bound_leads(scoring: Scoring, obs: ObservationArrays, level: float, m: int, rows: Integers, most: Matrix) -> None:
    """Fill in by how much each of these arms (column) can be above another (row) at most; infinite if unknown."""
    for r in range(len(rows)):
        for s in range(len(rows)):
            b, i = rows[r], rows[s]
            most[r, s] = 0.0
            if b != i:
                needed = level + price_of(scoring.prices, obs, b, i, len(scoring.prices.retired) > 0)
                most[r, s] = largest_lag(obs, m, b, i, noise_at(obs, m, needed), needed)


@kernel
def largest_lag(obs: ObservationArrays, m: int, b: int, i: int, noise: float, level: float) -> float:
    """Return a number that arm i's mean is above arm b's by no more than: where the evidence exceeds a level.

    The evidence of "b plus d is above i" rises with d, about as a square: its root is nearly straight.
    """
    if obs.counts[m, b] == 0.0 or obs.counts[m, i] == 0.0:
        return math.inf
    apart = obs.means[m, i] - obs.means[m, b]
    spread = math.sqrt(obs.spread[m, b] + obs.spread[m, i])
    step = spread if 0.0 < spread < math.inf else 1.0
    low, high = apart, apart + math.sqrt(2.0 * (level + 8.0)) * step
    for _ in range(MOST_STEPS):
        if shifted_score(obs, m, b, i, high, noise, level, level) > level:
            break
        low, high = high, apart + 2.0 * (high - apart)
    else:
        return math.inf
    while high - low > NEAR * step:
        middle = 0.5 * (low + high)
        if shifted_score(obs, m, b, i, middle, noise, level, level) > level:
            high = middle
        else:
            low = middle
    return high
