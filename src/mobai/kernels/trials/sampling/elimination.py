"""Successive elimination's choice and trial. Definition: mobai.rules.sampling.successive_elimination."""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import entry, kernel, record
from mobai.kernels.programs.dense import Integers
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.trials.trial import Ladder, TrialArrays, begin, draw


@record
class Survivors(NamedTuple):
    """Who is still in for the current objective, and what has been decided."""

    start: Integers  # of each arm: its rewards when the current objective began
    rounds: Integers  # one number: rounds that were complete at the last look
    alive: Integers  # of each arm: 1 if it is still in
    answers: Integers  # of each objective: the arm, -1 if it is undecided
    decided: Integers  # of each objective: the pull, -1 if it is undecided


@entry
def play(trial: TrialArrays, log_inv_delta: float, as_printed: bool, survivors: Survivors) -> int:
    """Pull round by round, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

    Ends early when everything is decided or a block of rewards is used up. Survivors and trial are changed in place.
    """
    obs, arm, before = trial.obs, -1, begin(trial)
    for k in range(trial.pulls + 1):
        eliminate(obs, before + k, log_inv_delta, as_printed, survivors)
        if climb_out(trial.ladder, obs, survivors) or k == trial.pulls:
            break
        arm = next_in_round(obs.asked, survivors)
        if not draw(trial.blocks, obs, arm):
            break
    return arm


@entry
def eliminate(obs: ObservationArrays, pulls: int, log_inv_delta: float, as_printed: bool, survivors: Survivors) -> None:
    """At the end of a round, drop arms that are too far behind in the current objective; survivors in place."""
    m, alive = current(survivors.answers), survivors.alive
    if m < 0:
        return
    complete = fewest_turns(obs, m, survivors)
    if complete <= survivors.rounds[0]:
        return
    survivors.rounds[0] = complete
    best = -1
    for i in range(len(alive)):
        if alive[i] and (best < 0 or obs.means[m, i] > obs.means[m, best]):
            best = i
    left = 0
    for i in range(len(alive)):
        if alive[i] and i != best:
            reach = radius(obs, m, i, pulls, log_inv_delta, as_printed)
            reach += radius(obs, m, best, pulls, log_inv_delta, as_printed)
            if obs.means[m, best] - obs.means[m, i] > reach:
                alive[i] = 0
        left += alive[i]
    if left == 1:
        survivors.answers[m], survivors.decided[m] = best, pulls
        for i in range(len(alive)):
            survivors.start[i], alive[i] = int(obs.counts[m, i]), 1
        survivors.rounds[0] = 0


@kernel
def current(answers: Integers) -> int:
    """Return the first undecided objective, or -1."""
    for m in range(len(answers)):
        if answers[m] < 0:
            return m
    return -1


@kernel
def fewest_turns(obs: ObservationArrays, m: int, survivors: Survivors) -> int:
    """Return how many rewards every arm still in has had since the objective began, at least."""
    fewest = -1
    for i in range(len(survivors.alive)):
        turns = int(obs.counts[m, i]) - survivors.start[i]
        if survivors.alive[i] and (fewest < 0 or turns < fewest):
            fewest = turns
    return fewest


@kernel
def next_in_round(asked: Integers, survivors: Survivors) -> int:
    """Return the arm still in with the fewest turns, the first in a tie."""
    arm, start = -1, survivors.start
    for i in range(len(start)):
        if survivors.alive[i] and (arm < 0 or asked[i] - start[i] < asked[arm] - start[arm]):
            arm = i
    return arm


@kernel
def radius(obs: ObservationArrays, m: int, i: int, pulls: int, log_inv_delta: float, as_printed: bool) -> float:
    """Return ``sd sqrt(2 log(4 M K n^2 / delta) / n)``; n counts the arm's own pulls, or as printed all."""
    n = float(pulls) if as_printed else obs.counts[m, i]
    return obs.sd[m, i] * math.sqrt(2.0 * (math.log(4.0 * obs.means.size * n * n) + log_inv_delta) / n)


@kernel
def climb_out(ladder: Ladder, obs: ObservationArrays, survivors: Survivors) -> bool:
    """Enter what is decided in the ladder, if there is one (its levels are one delta); whether all is decided."""
    for s in range(len(ladder.kinds)):
        for m in range(len(survivors.answers)):
            if survivors.answers[m] >= 0 and ladder.rungs[s, m] == 0:
                ladder.rungs[s, m] = ladder.levels.shape[1]
                for rung in range(ladder.levels.shape[1]):
                    ladder.decided[s, m, rung], ladder.answers[s, m, rung] = survivors.decided[m], survivors.answers[m]
        if current(survivors.answers) < 0 and ladder.finished[s] == 0:
            ladder.finished[s] = ladder.levels.shape[1]
            for rung in range(ladder.levels.shape[1]):
                for i in range(len(obs.asked)):
                    ladder.asked[s, rung, i] = obs.asked[i]
    return len(ladder.kinds) > 0 and current(survivors.answers) < 0
