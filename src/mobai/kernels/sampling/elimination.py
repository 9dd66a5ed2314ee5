"""Successive elimination's choice and trial. Definition: mobai.rules.sampling.successive_elimination."""

from __future__ import annotations

import math

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers
from mobai.kernels.seen import Seen
from mobai.kernels.trial import Ladder, World, draw, total


@entry
def play(
    seen: Seen,
    world: World,
    ladder: Ladder,
    pulls: int,
    log_inv_delta: float,
    as_printed: bool,
    start: Integers,
    rounds: Integers,
    alive: Integers,
    answers: Integers,
    decided: Integers,
) -> int:
    """Pull round by round, so often or until everything is decided or a block of noise is used up."""
    arm, before = -1, total(seen.asked)
    for k in range(pulls + 1):
        eliminate(seen, before + k, log_inv_delta, as_printed, start, rounds, alive, answers, decided)
        if climb_out(ladder, seen, answers, decided) or k == pulls:
            break
        arm = next_in_round(seen.asked, start, alive)
        if not draw(world, seen, arm):
            break
    return arm


@entry
def eliminate(
    seen: Seen,
    pulls: int,
    log_inv_delta: float,
    as_printed: bool,
    start: Integers,
    rounds: Integers,
    alive: Integers,
    answers: Integers,
    decided: Integers,
) -> None:
    """At the end of a round, drop arms that are too far behind in the current objective, in place.

    ``start`` holds the rewards of each arm when the current objective began, ``rounds`` how many rounds were complete
    at the last look, ``alive`` is 1 for arms still in; ``answers`` and ``decided`` (arm and pull) are -1 where nothing
    is decided yet.
    """
    m = current(answers)
    if m < 0:
        return
    complete = fewest_turns(seen, m, start, alive)
    if complete <= rounds[0]:
        return
    rounds[0] = complete
    best = -1
    for i in range(len(alive)):
        if alive[i] and (best < 0 or seen.means[m, i] > seen.means[m, best]):
            best = i
    left = 0
    for i in range(len(alive)):
        if alive[i] and i != best:
            reach = radius(seen, m, i, pulls, log_inv_delta, as_printed)
            reach += radius(seen, m, best, pulls, log_inv_delta, as_printed)
            if seen.means[m, best] - seen.means[m, i] > reach:
                alive[i] = 0
        left += alive[i]
    if left == 1:
        answers[m], decided[m] = best, pulls
        for i in range(len(alive)):
            start[i], alive[i] = int(seen.counts[m, i]), 1
        rounds[0] = 0


@kernel
def current(answers: Integers) -> int:
    """The first undecided objective, or -1."""
    for m in range(len(answers)):
        if answers[m] < 0:
            return m
    return -1


@kernel
def fewest_turns(seen: Seen, m: int, start: Integers, alive: Integers) -> int:
    """How many rewards every arm still in has had since the objective began, at least."""
    fewest = -1
    for i in range(len(alive)):
        turns = int(seen.counts[m, i]) - start[i]
        if alive[i] and (fewest < 0 or turns < fewest):
            fewest = turns
    return fewest


@kernel
def next_in_round(asked: Integers, start: Integers, alive: Integers) -> int:
    """The arm still in with the fewest turns, the first in a tie."""
    arm = -1
    for i in range(len(alive)):
        if alive[i] and (arm < 0 or asked[i] - start[i] < asked[arm] - start[arm]):
            arm = i
    return arm


@kernel
def radius(seen: Seen, m: int, i: int, pulls: int, log_inv_delta: float, as_printed: bool) -> float:
    """``sd sqrt(2 log(4 M K n^2 / delta) / n)``; n is the arm's own number of pulls, or as printed that of all."""
    n = float(pulls) if as_printed else seen.counts[m, i]
    return seen.sd[m, i] * math.sqrt(2.0 * (math.log(4.0 * seen.means.size * n * n) + log_inv_delta) / n)


@kernel
def climb_out(ladder: Ladder, seen: Seen, answers: Integers, decided: Integers) -> bool:
    """Enter what is decided in the ladder, if there is one (its levels are one delta); whether all is decided."""
    for s in range(len(ladder.kinds)):
        for m in range(len(answers)):
            if answers[m] >= 0 and ladder.rungs[s, m] == 0:
                ladder.rungs[s, m] = ladder.levels.shape[1]
                for rung in range(ladder.levels.shape[1]):
                    ladder.decided[s, m, rung], ladder.answers[s, m, rung] = decided[m], answers[m]
        if current(answers) < 0 and ladder.finished[s] == 0:
            ladder.finished[s] = ladder.levels.shape[1]
            for rung in range(ladder.levels.shape[1]):
                for i in range(len(seen.asked)):
                    ladder.asked[s, rung, i] = seen.asked[i]
    return len(ladder.kinds) > 0 and current(answers) < 0
