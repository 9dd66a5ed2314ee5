"""TopTwo's choice and trial. Definition: mobai.rules.sampling.top_two."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.costs import refresh
from mobai.kernels.evidence.limits import easiest_to_break, hardest_to_keep
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.models.dispatch import contributions
from mobai.kernels.programs.dense import Integers, Vector
from mobai.kernels.stats.observations import BASELINE, METRIC, ObservationArrays, count_of, renew_costs
from mobai.kernels.trials.trial import TrialArrays, begin, climb, draw


@entry
def play(trial: TrialArrays) -> int:
    """Choose and pull, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

    Ends early when everything is decided or a block of rewards is used up. The trial is changed in place.
    """
    obs, arm, before = trial.obs, -1, begin(trial)
    logs = np.empty(len(obs.asked))
    for i in range(len(logs)):
        logs[i] = math.log(obs.asked[i])
    for k in range(trial.pulls + 1):
        if climb(trial.ladder, obs, arm, before + k) or k == trial.pulls:
            break
        arm = choose(obs, logs, trial.coins[k])
        more = draw(trial.blocks, obs, arm)
        logs[arm] = math.log(obs.asked[arm])
        if not more:
            break
    return arm


@kernel
def choose(obs: ObservationArrays, logs: Vector, coin: float) -> int:
    """Find the most doubtful pair and toss the coin between its arms."""
    refresh(obs)
    objectives, arms = obs.costs.shape
    least, m, challenger = np.inf, 0, 1 if obs.leaders[0] == 0 else 0
    for k in range(objectives):
        if obs.undecided[k]:
            for i in range(arms):
                cost = obs.costs[k, i] + logs[i]
                if cost < least:
                    least, m, challenger = cost, k, i
    renew_costs(obs)
    if obs.limits.what.shape[0] > 0:
        return choose_within_limits(obs, logs, coin)
    return one_of_pair(obs, m, challenger, coin)


@kernel
def one_of_pair(obs: ObservationArrays, m: int, challenger: int, coin: float) -> int:
    """Return the leader or its challenger, by the coin: the likelier, the more it contributes for what it costs."""
    leader = obs.leaders[m]
    own, other = contributions(obs, m, leader, challenger)
    own, other = own / obs.cost_of[leader], other / obs.cost_of[challenger]
    return leader if coin * (own + other) < own else challenger


@kernel
def most_doubtful(obs: ObservationArrays, logs: Vector) -> tuple[int, int, int]:
    """Return the most doubtful requirement: its objective, an arm, and a guardrail, -1 if it is a pair.

    The leader's limits, a rival's, or a pair: a rival is out of the way once the leader beats it or it breaks a limit,
    and whichever is nearer counts.
    """
    objectives, arms = obs.costs.shape
    least, m, i, which = np.inf, 0, 1 if obs.leaders[0] == 0 else 0, -1
    for k in range(objectives):
        if not obs.undecided[k]:
            continue
        leader = obs.leaders[k]
        cost, c = hardest_to_keep(obs, leader)
        if cost + logs[leader] < least:
            least, m, i, which = cost + logs[leader], k, leader, c
        for rival in range(arms):
            if rival != leader:
                broken, c = easiest_to_break(obs, rival)
                cost = max(obs.costs[k, rival], broken) + logs[rival]
                if cost < least:
                    least, m, i, which = cost, k, rival, c if broken > obs.costs[k, rival] else -1
    return m, i, which


@entry
def find_doubt(obs: ObservationArrays, logs: Vector, found: Integers) -> None:
    """Fill in the most doubtful requirement, for Python."""
    refresh(obs)
    found[0], found[1], found[2] = most_doubtful(obs, logs)


@kernel
def choose_within_limits(obs: ObservationArrays, logs: Vector, coin: float) -> int:
    """Choose an arm that serves the most doubtful requirement; one of two is chosen by a toss of the coin."""
    m, i, which = most_doubtful(obs, logs)
    if which < 0:
        return one_of_pair(obs, m, i, coin)
    base = obs.limits.what[which, BASELINE]
    return i if base < 0 else one_of_a_margin(obs, obs.limits.what[which, METRIC], i, base, coin)


@kernel
def one_of_a_margin(obs: ObservationArrays, m: int, i: int, base: int, coin: float) -> int:
    """Return an arm or its baseline, by the coin: the less is known about a mean, the likelier it is.

    The spread of one reward is not known, nor that of equal ones: then the arm with fewer rewards is chosen.
    """
    own, other = obs.spread[m, i], obs.spread[m, base]
    n, n_base = count_of(obs, m, i), count_of(obs, m, base)
    if min(n, n_base) < 2.0 or not (0.0 < own < math.inf and 0.0 < other < math.inf):
        return i if n <= n_base else base
    own, other = own / obs.cost_of[i], other / obs.cost_of[base]
    return i if coin * (own + other) < own else base
