"""How many more measurements arms on the same things take, if what they bring goes on as it has."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.paired import SCALE, SCATTER, SHARES
from mobai.kernels.stats.observations import BASELINE, KEPT, METRIC, SIDE, LimitState
from mobai.problem import FloatArray
from mobai.rules.stopping.comparison import Comparison
from mobai.theory.forecast import Remaining

# Indices before a forecast is made, and nats that evidence may be taken to be behind.
_FEWEST = 5
_BEHIND = 2.5


def remaining_on_items(seen: Comparison) -> Remaining | None:
    """Return how many more measurements every objective and arm takes; None before there is anything to go by."""
    objectives, arms = seen.out.shape
    more = np.zeros((objectives, arms))
    for m in range(objectives):
        if seen.decided[m] is None and not seen.open_for(m).any():
            more[m] = math.inf
        elif seen.decided[m] is None:
            if (seen.until[seen.open_arms(), m] < _FEWEST).any():
                return None
            more[m] = np.maximum(_for_rivals(seen, m), _for_limits(seen, m))
    if seen.size:
        left = seen.size - seen.until[:, :objectives].T
        more = np.where(left > 0, np.minimum(more, left), np.where(more > 0, math.inf, 0.0))
    per_arm = more.max(axis=0)
    return Remaining(float(per_arm.sum()), more.sum(axis=1), per_arm)


def _for_rivals(seen: Comparison, m: int) -> FloatArray:
    """Return at how many more indices every arm is measured until the leader beats all who are left."""
    more, bets = np.zeros(seen.out.shape[1]), seen.bets
    leader, layer = int(seen.leaders()[m]), 0 if seen.is_wins[m] else len(seen.bets.margins) - 1
    rivals = [i for i in np.flatnonzero(seen.open_for(m)).tolist() if i != leader]
    for i in rivals:
        differences, _ = seen.differences(m, leader, i)
        read, sd = int(bets.read[layer, m, leader, i]), float(seen.measures.sd[m, leader] + seen.measures.sd[m, i])
        growth = _growth(seen, m, differences, float(bets.margins[layer, m]), sd)
        least = max(float(seen.measures.least[m]) - read, 0.0)
        more[i] = max(_indices(seen, float(bets.now[layer, m, leader, i]), growth), least)
    more[leader] = max(more[rivals], default=0.0)
    return more


def _for_limits(seen: Comparison, m: int) -> FloatArray:
    """Return the same until the leader is known to keep its limits."""
    limits, more, leader = seen.limits, np.zeros(seen.out.shape[1]), int(seen.leaders()[m])
    for c in np.flatnonzero(limits.statuses()[:, leader] == LimitState.OPEN).tolist():
        base, metric = int(limits.what[c, BASELINE]), int(limits.what[c, METRIC])
        if base == leader:
            continue
        sd = float(seen.measures.sd[metric, leader] + (seen.measures.sd[metric, base] if base >= 0 else 0.0))
        values = _towards_limit(seen, c, leader)
        growth = _growth(seen, metric, values, float(limits.claims.margins[KEPT, c]), sd)
        more[leader] = max(more[leader], _indices(seen, float(limits.claims.now[KEPT, c, leader, 0]), growth))
    return more


def _towards_limit(seen: Comparison, c: int, arm: int) -> FloatArray:
    """Return what the claim that an arm keeps a limit bets on, index by index."""
    m, side, base = (int(seen.limits.what[c, part]) for part in (METRIC, SIDE, BASELINE))
    if base >= 0:
        return seen.differences(m, *((arm, base) if side > 0 else (base, arm)))[0]
    low, high = float(seen.measures.low[m]), float(seen.measures.low[m] + seen.measures.width[m])
    if side > 0:
        return seen.rewards(m, arm, low)[0] - high
    return low - seen.rewards(m, arm, high)[0]


def _growth(seen: Comparison, m: int, values: FloatArray, margin: float, sd: float) -> float:
    """Return by how many nats the evidence for a claim grows with every index, as values have been."""
    gains, kind = values + margin, int(seen.measures.kinds[m])
    mean = float(gains.mean()) if len(gains) else 0.0
    if not mean > 0:
        return 0.0
    if kind == SCALE:
        return mean**2 / (2 * sd**2)
    if kind == SCATTER:
        variance = float(gains.var())
        return 0.5 * math.log1p(mean**2 / variance) if variance > 0 else math.inf
    gains = gains / (float(seen.measures.width[m]) - margin)
    stake = min(float(gains.mean() / (gains @ gains / len(gains))), SHARES[0])
    return max(float(np.log1p(stake * gains).mean()), 0.0)


def _indices(seen: Comparison, now: float, growth: float) -> float:
    """Return how many more indices it takes until a claim reaches the level; of a finite benchmark, all at most."""
    if growth > 0:
        return max(seen.level - max(now, -_BEHIND), 0.0) / growth
    return float(seen.size) or math.inf
