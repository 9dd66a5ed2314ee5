"""What every compiled trial is made of: the simulated world, and the ladder of levels to cross.

A sampling rule's entry is a loop over ``climb``, its own choice, and ``draw``. Arrays are objective by arm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.compiled import inner_kernel, kernel
from mobai.kernels.dense import Integers, Matrix, Vector
from mobai.kernels.evidence import renew_pair, renew_row, score, score_of
from mobai.kernels.seen import NORMAL, Seen, estimate_noise, model_of

Cube = npt.NDArray[np.float64]
IntCube = npt.NDArray[np.int64]


class World(NamedTuple):
    """A block of rewards for every arm: its n-th pull gets the n-th row, whichever rule asks."""

    rewards: Cube  # arm, row, objective; oriented
    used: Integers  # rows of each arm's block that are used up


class Ladder(NamedTuple):
    """The levels of several stopping rules (rows), ascending, and what has been decided at each.

    A sticky rule has a line an objective, the others one line for all. ``rungs`` counts the levels a line has
    crossed, ``blocks`` the pair that last kept it from crossing the next (objective, leader, arm; -1 for none).
    """

    kinds: Integers
    sticky: Integers  # 1 for rules that decide every objective at its own time
    levels: Matrix
    rungs: Integers
    blocks: IntCube
    decided: IntCube  # rule, objective, level: the pull
    answers: IntCube  # the same: the arm
    finished: Integers  # of each rule: levels at which everything is decided
    asked: IntCube  # rule, level, arm: how often each arm had been pulled by then
    focus: bool  # whether objectives decided everywhere are sampled for no more


@inner_kernel
def draw(world: World, seen: Seen, arm: int) -> bool:
    """Pull an arm; False when the last row of its block is used (and nothing is pulled when it was before)."""
    row, rows = world.used[arm], world.rewards.shape[1]
    if row == rows:
        return False
    world.used[arm] = row + 1
    seen.asked[arm] += 1
    for m in range(len(seen.leaders)):
        reward, before = world.rewards[arm, row, m], seen.means[m, arm]
        seen.counts[m, arm] += 1.0
        seen.sums[m, arm] += reward
        seen.means[m, arm] = seen.sums[m, arm] / seen.counts[m, arm]
        seen.scatter[m, arm] += (reward - before) * (reward - seen.means[m, arm])
        if model_of(seen.rewards, m) == NORMAL:
            seen.spread[m, arm] = seen.sd[m, arm] * seen.sd[m, arm] / seen.counts[m, arm]
        else:
            estimate_noise(seen, m, arm)
        renew_pairs(seen, m, arm)
    return row + 1 < rows


@inner_kernel
def renew_pairs(seen: Seen, m: int, arm: int) -> None:
    """Bring leader and statistics of an objective up to date after one arm's mean has changed."""
    best = seen.leaders[m]
    if arm == best:
        for i in range(seen.means.shape[1]):
            if seen.means[m, i] > seen.means[m, best] or (seen.means[m, i] == seen.means[m, best] and i < best):
                best = i
    elif seen.means[m, arm] > seen.means[m, best] or (seen.means[m, arm] == seen.means[m, best] and arm < best):
        best = arm
    if best == seen.leaders[m] and arm != best:
        renew_pair(seen, m, best, arm)
        return
    seen.leaders[m] = best
    renew_row(seen, m, best)


@inner_kernel
def climb(ladder: Ladder, seen: Seen, arm: int, pulls: int) -> bool:
    """Look at the evidence after the pull of an arm (-1: of any); whether there was something to decide and all is."""
    done = len(ladder.kinds) > 0
    for s in range(len(ladder.kinds)):
        sticky = ladder.sticky[s] > 0
        lines = len(seen.leaders) if sticky else 1
        lowest = ladder.levels.shape[1]
        for line in range(lines):
            if ladder.rungs[s, line] < ladder.levels.shape[1]:
                leader, rival = ladder.blocks[s, line, 1], ladder.blocks[s, line, 2]
                # The pair that blocked a line is as it was unless one of its arms was pulled.
                if not sticky or leader != seen.leaders[line] or arm in (leader, rival) or arm < 0:
                    climb_line(ladder, seen, s, line, sticky, pulls)
            lowest = min(lowest, ladder.rungs[s, line])
        while ladder.finished[s] < lowest:
            for i in range(len(seen.asked)):
                ladder.asked[s, ladder.finished[s], i] = seen.asked[i]
            ladder.finished[s] += 1
        done = done and lowest == ladder.levels.shape[1]
    if ladder.focus:
        close_decided(ladder, seen)
    return done


@kernel
def close_decided(ladder: Ladder, seen: Seen) -> None:
    """Mark the objectives that every stopping rule has decided at every level."""
    for m in range(len(seen.leaders)):
        decided = len(ladder.kinds) > 0
        for s in range(len(ladder.kinds)):
            line = m if ladder.sticky[s] else 0
            decided = decided and ladder.rungs[s, line] == ladder.levels.shape[1]
        if decided:
            seen.open[m] = 0


@inner_kernel
def climb_line(ladder: Ladder, seen: Seen, s: int, line: int, sticky: bool, pulls: int) -> None:
    """Cross every level below the evidence of one line, that of its weakest pair."""
    first, last = (line, line + 1) if sticky else (0, len(seen.leaders))
    evidence = weakest(ladder, seen, s, line, first, last, float(pulls))
    while ladder.rungs[s, line] < ladder.levels.shape[1]:
        rung = ladder.rungs[s, line]
        if not evidence > ladder.levels[s, rung]:
            break
        for m in range(first, last):
            ladder.decided[s, m, rung] = pulls
            ladder.answers[s, m, rung] = seen.leaders[m]
        ladder.rungs[s, line] += 1
        ladder.blocks[s, line, 1] = -1


@inner_kernel
def weakest(ladder: Ladder, seen: Seen, s: int, line: int, first: int, last: int, pulls: float) -> float:
    """The smallest evidence of the pairs of some objectives, or any that is not above the next level.

    No score exceeds Z, so scores are evaluated only where Z is above the level; the pair that blocked last time is
    tried first.
    """
    arms, level = len(seen.asked), ladder.levels[s, ladder.rungs[s, line]]
    block, rival = max(ladder.blocks[s, line, 0] - first, 0), max(ladder.blocks[s, line, 2], 0)
    least = np.inf
    for turn in range(last - first):
        m = first + turn_of(turn, block)
        b, known = seen.leaders[m], model_of(seen.rewards, m) == NORMAL
        for step in range(arms):
            i = turn_of(step, rival)
            evidence = seen.pairs[m, i]
            if level < evidence < np.inf:
                if known:
                    ratio, n_b, n_i = seen.sd[m, i] / seen.sd[m, b], seen.counts[m, b], seen.counts[m, i]
                    evidence = score(ladder.kinds[s], evidence, n_b, n_i, ratio, pulls, seen.pairs.size, level)
                else:
                    evidence = score_of(ladder.kinds[s], seen, m, i, pulls, level)
            least = min(least, evidence)
            if least <= level:
                ladder.blocks[s, line, 0], ladder.blocks[s, line, 1], ladder.blocks[s, line, 2] = m, b, i
                return least
    return least


@kernel
def turn_of(step: int, first: int) -> int:
    """Count 0, 1, 2, ... with one number brought to the front."""
    if step == 0:
        return first
    return step - 1 if step <= first else step


@kernel
def total(asked: Integers) -> int:
    """How many pulls have been asked for."""
    count = 0
    for i in range(len(asked)):
        count += asked[i]
    return count


@kernel
def first_largest(values: Vector) -> int:
    """The place of the largest number, the first in a tie."""
    place = 0
    for i in range(1, len(values)):
        if values[i] > values[place]:
            place = i
    return place


@kernel
def least_asked(asked: Integers) -> int:
    """The least asked arm, the first in a tie."""
    place = 0
    for i in range(1, len(asked)):
        if asked[i] < asked[place]:
            place = i
    return place
