"""TopTwo's choice and trial. Definition: mobai.rules.sampling.top_two."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Vector
from mobai.kernels.seen import STUDENT, UNIT, Seen, gap_between, model_of, share
from mobai.kernels.student import student_cost
from mobai.kernels.trial import Ladder, World, climb, draw, total
from mobai.kernels.unit import unit_parts


@entry
def play(seen: Seen, world: World, ladder: Ladder, coins: Vector, pulls: int) -> int:
    """Choose and pull, so often or until everything is decided or a block of noise is used up; gives the last arm."""
    arm, before = -1, total(seen.asked)
    logs = np.empty(len(seen.asked))
    for i in range(len(logs)):
        logs[i] = math.log(seen.asked[i])
    for k in range(pulls + 1):
        if climb(ladder, seen, arm, before + k) or k == pulls:
            break
        arm = choose(seen, logs, coins[k])
        more = draw(world, seen, arm)
        logs[arm] = math.log(seen.asked[arm])
        if not more:
            break
    return arm


@kernel
def choose(seen: Seen, logs: Vector, coin: float) -> int:
    """Find the most doubtful pair and toss the coin between its arms."""
    objectives, arms = seen.pairs.shape
    least, m, challenger = np.inf, 0, 1 if seen.leaders[0] == 0 else 0
    for k in range(objectives):
        if seen.open[k]:
            for i in range(arms):
                cost = seen.pairs[k, i] + logs[i]
                if cost < least:
                    least, m, challenger = cost, k, i
    leader = seen.leaders[m]
    own, other = pull_towards(seen, m, leader, challenger)
    return leader if coin * (own + other) < own else challenger


@kernel
def pull_towards(seen: Seen, m: int, best: int, i: int) -> tuple[float, float]:
    """What the leader and its challenger contribute to their transport cost, up to a factor.

    Where nothing separates them, and for Gaussian rewards always, that is the variance of their means.
    """
    n_b, n_i = seen.counts[m, best], seen.counts[m, i]
    if model_of(seen.rewards, m) == STUDENT:
        gap = gap_between(seen, m, best, i)
        leaders = student_cost(gap, n_b, seen.scatter[m, best], n_i, seen.scatter[m, i])[1]
        return leaders, 1.0 - leaders
    if model_of(seen.rewards, m) == UNIT and seen.pairs[m, i] > 0.0:
        own, other = share(seen, m, best), share(seen, m, i)
        return unit_parts(n_b, own, n_i, other, seen.rewards.eps[m] / seen.rewards.width[m])
    return seen.spread[m, best], seen.spread[m, i]
