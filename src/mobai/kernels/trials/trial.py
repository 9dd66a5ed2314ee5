"""What every compiled trial is made of: the rewards to come, and the ladder of levels to cross.

A sampling rule's entry is a loop over ``climb``, its own choice, and ``draw``. Arrays are objective by arm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence.costs import renew_arm
from mobai.kernels.evidence.scores import Prices, Scoring, weakest_pair
from mobai.kernels.jit.compiled import inner_kernel, kernel, record
from mobai.kernels.models.dispatch import shares_noise
from mobai.kernels.programs.dense import Cube, Integers, Matrix, Vector
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.stats.updates import add_reward, end_moment

IntCube = npt.NDArray[np.int64]


@record
class RewardBlocks(NamedTuple):
    """A block of rewards for every arm: its n-th pull gets the n-th row, whichever rule asks."""

    rewards: Cube  # arm, row, objective; oriented
    used: Integers  # rows of each arm's block that are used up


@record
class Ladder(NamedTuple):
    """The levels of several stopping rules (rows), ascending, and what has been decided at each.

    A sticky rule climbs objective by objective, the others with all objectives at once. ``rungs`` counts the levels
    that were crossed, ``blocks`` has the pair that last kept the next from being crossed (objective, leader, arm; -1
    for none).
    """

    kinds: Integers
    sticky: Integers  # 1 for rules that decide every objective at its own time
    levels: Matrix
    prices: Prices
    rungs: Integers
    blocks: IntCube
    decided: IntCube  # rule, objective, level: the pull
    answers: IntCube  # the same: the arm
    finished: Integers  # of each rule: levels at which everything is decided
    asked: IntCube  # rule, level, arm: how often each arm had been pulled by then
    focus: bool  # whether objectives decided everywhere are sampled for no more


@record
class TrialArrays(NamedTuple):
    """What a compiled trial works on; everything but the coins is changed in place."""

    obs: ObservationArrays
    blocks: RewardBlocks
    ladder: Ladder
    coins: Vector  # a random number between 0 and 1 for each pull
    pulls: int  # how many to make


@kernel
def begin(trial: TrialArrays) -> int:
    """Pull every arm once, in one moment, if that was not done; return how many pulls have been asked for."""
    obs, asked = trial.obs, total(trial.obs.asked)
    if asked > 0:
        return asked
    for arm in range(len(obs.asked)):
        trial.blocks.used[arm] += 1
        obs.asked[arm] += 1
        obs.answered[arm] += 1
        for m in range(len(obs.leaders)):
            add_reward(obs, m, arm, trial.blocks.rewards[arm, 0, m])
            renew_arm(obs, m, arm)
    end_moment(obs)
    return len(obs.asked)


@inner_kernel
def draw(blocks: RewardBlocks, obs: ObservationArrays, arm: int) -> bool:
    """Pull an arm; False when the last row of its block is used (and nothing is pulled when it was before)."""
    row, rows = blocks.used[arm], blocks.rewards.shape[1]
    if row == rows:
        return False
    blocks.used[arm] = row + 1
    obs.asked[arm] += 1
    obs.answered[arm] += 1
    for m in range(len(obs.leaders)):
        add_reward(obs, m, arm, blocks.rewards[arm, row, m])
        renew_arm(obs, m, arm)
    end_moment(obs)
    return row + 1 < rows


@inner_kernel
def climb(ladder: Ladder, obs: ObservationArrays, arm: int, pulls: int) -> bool:
    """Look at the evidence after the pull of an arm (-1: of any); whether there was something to decide and all is."""
    done = len(ladder.kinds) > 0
    for s in range(len(ladder.kinds)):
        sticky = ladder.sticky[s] > 0
        groups = len(obs.leaders) if sticky else 1
        lowest = ladder.levels.shape[1]
        for group in range(groups):
            if ladder.rungs[s, group] < ladder.levels.shape[1]:
                leader, rival = ladder.blocks[s, group, 1], ladder.blocks[s, group, 2]
                # The pair that blocked the way is as it was unless one of its arms was pulled, or noise is shared.
                same = sticky and leader == obs.leaders[group] and not shares_noise(obs, group)
                if not same or arm in (leader, rival) or arm < 0:
                    climb_on(ladder, obs, s, group, sticky, pulls)
            lowest = min(lowest, ladder.rungs[s, group])
        while ladder.finished[s] < lowest:
            for i in range(len(obs.asked)):
                ladder.asked[s, ladder.finished[s], i] = obs.asked[i]
            ladder.finished[s] += 1
        done = done and lowest == ladder.levels.shape[1]
    if ladder.focus:
        close_decided(ladder, obs)
    return done


@kernel
def close_decided(ladder: Ladder, obs: ObservationArrays) -> None:
    """Mark the objectives that every stopping rule has decided at every level."""
    for m in range(len(obs.leaders)):
        decided = len(ladder.kinds) > 0
        for s in range(len(ladder.kinds)):
            group = m if ladder.sticky[s] else 0
            decided = decided and ladder.rungs[s, group] == ladder.levels.shape[1]
        if decided:
            obs.undecided[m] = 0


@inner_kernel
def climb_on(ladder: Ladder, obs: ObservationArrays, s: int, group: int, sticky: bool, pulls: int) -> None:
    """Cross every level below the evidence of one objective, or of all at once."""
    first, last = (group, group + 1) if sticky else (0, len(obs.leaders))
    scoring = Scoring(ladder.kinds[s], ladder.prices, float(pulls))
    while ladder.rungs[s, group] < ladder.levels.shape[1]:
        rung = ladder.rungs[s, group]
        level = ladder.levels[s, rung]
        if not weakest_pair(scoring, False, obs, ladder.blocks[s, group], first, last, level) > level:
            break
        for m in range(first, last):
            ladder.decided[s, m, rung] = pulls
            ladder.answers[s, m, rung] = obs.leaders[m]
        ladder.rungs[s, group] += 1
        ladder.blocks[s, group, 1] = -1


@kernel
def total(asked: Integers) -> int:
    """Return how many pulls have been asked for."""
    count = 0
    for i in range(len(asked)):
        count += asked[i]
    return count


@kernel
def first_largest(values: Vector) -> int:
    """Return the place of the largest number, the first in a tie."""
    place = 0
    for i in range(1, len(values)):
        if values[i] > values[place]:
            place = i
    return place


@kernel
def least_asked(asked: Integers) -> int:
    """Return the least asked arm, the first in a tie."""
    place = 0
    for i in range(1, len(asked)):
        if asked[i] < asked[place]:
            place = i
    return place
