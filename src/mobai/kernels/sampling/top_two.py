"""TopTwo's choice and trial. Definition: mobai.rules.sampling.top_two."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Vector
from mobai.kernels.trial import Ladder, Seen, World, climb, draw, total


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
        for i in range(arms):
            cost = seen.pairs[k, i] + logs[i]
            if cost < least:
                least, m, challenger = cost, k, i
    leader = seen.leaders[m]
    doubt = seen.spread[m, leader]
    return leader if coin * (doubt + seen.spread[m, challenger]) < doubt else challenger
