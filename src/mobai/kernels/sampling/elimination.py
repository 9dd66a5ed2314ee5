"""Successive elimination's choice and trial. Definition: mobai.rules.sampling.successive_elimination."""

from __future__ import annotations

import math

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers
from mobai.kernels.trial import Ladder, Seen, World, draw, total


@entry
def play(
    seen: Seen,
    world: World,
    ladder: Ladder,
    pulls: int,
    log_inv_delta: float,
    as_printed: bool,
    start: Integers,
    alive: Integers,
    answers: Integers,
    decided: Integers,
) -> int:
    """Pull round by round, so often or until everything is decided or a block of noise is used up."""
    arm, before = -1, total(seen.asked)
    for k in range(pulls + 1):
        eliminate(seen, before + k, log_inv_delta, as_printed, start, alive, answers, decided)
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
    alive: Integers,
    answers: Integers,
    decided: Integers,
) -> None:
    """At the end of a round, drop arms that are too far behind in the current objective, in place.

    ``start`` holds the pulls of each arm when the current objective began, ``alive`` is 1 for arms still in;
    ``answers`` and ``decided`` (arm and pull) are -1 where nothing is decided yet.
    """
    m = current(answers)
    if m < 0 or not round_is_over(seen.asked, start, alive):
        return
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
            start[i], alive[i] = seen.asked[i], 1


@kernel
def current(answers: Integers) -> int:
    """The first undecided objective, or -1."""
    for m in range(len(answers)):
        if answers[m] < 0:
            return m
    return -1


@kernel
def round_is_over(asked: Integers, start: Integers, alive: Integers) -> bool:
    """Whether every arm still in has had as many turns as any other, and at least one."""
    turn = -1
    for i in range(len(alive)):
        if alive[i]:
            if turn >= 0 and asked[i] - start[i] != turn:
                return False
            turn = asked[i] - start[i]
    return turn > 0


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
    """Enter what is decided in the ladder's only level, if there is one; whether everything is decided."""
    for s in range(len(ladder.kinds)):
        for m in range(len(answers)):
            if answers[m] >= 0 and ladder.rungs[s, m] == 0:
                ladder.rungs[s, m] = 1
                ladder.decided[s, m, 0], ladder.answers[s, m, 0] = decided[m], answers[m]
        if current(answers) < 0 and ladder.finished[s] == 0:
            ladder.finished[s] = 1
            for i in range(len(seen.asked)):
                ladder.asked[s, 0, i] = seen.asked[i]
    return len(ladder.kinds) > 0 and current(answers) < 0
