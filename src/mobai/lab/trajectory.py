"""One trial as a whole: one trajectory of a sampling rule, read by every stopping rule at every delta.

``run_compiled`` and ``run_stepwise`` give the same record, bit for bit; the second takes rules in plain Python, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mobai.engine import Engine
from mobai.kernels.trials.trial import Ladder, RewardBlocks, TrialArrays
from mobai.lab.environment import ROWS, Environment, Rewards
from mobai.problem import FloatArray, Instance, IntArray
from mobai.rules.sampling.base import CompiledRule, SamplingRule
from mobai.rules.stopping import Laddered, Monitor, StoppingRule
from mobai.seeds import stream
from mobai.theory.observations import Observations, absolute_means
from mobai.theory.thresholds import no_prices

# Pulls between two visits to Python, where Ctrl-C is heard.
_AT_A_TIME = 1024


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What each stopping rule decided at each log(1/delta), ascending.

    Attributes
    ----------
    decided, answers
        The pull and the arm of every decision, by stopping rule, objective and level; -1 where there is none.
    asked
        How often each arm had been pulled when a stopping rule stopped at a level, or at the end. By rule, level, arm.
    leaders, means
        The empirical best arms and the (oriented) empirical means at the end. Shapes (M,) and (K, M).
    pulls
        How long the trajectory is.
    """

    decided: IntArray
    answers: IntArray
    asked: IntArray
    leaders: IntArray
    means: FloatArray
    pulls: int


class TrialSpec(NamedTuple):
    """What determines a trajectory: an instance, a sampling rule and who reads it, at which log(1/delta), ascending.

    With ``focus``, sampling works only for objectives that are not decided yet: by the first stopping rule, at the only
    level.
    """

    instance: Instance
    rule: SamplingRule
    stoppings: Sequence[StoppingRule]
    log_inv_deltas: Sequence[float]
    seed: int = 0
    trial: int = 0
    max_pulls: int = 10_000_000
    focus: bool = False


def run_trajectory(spec: TrialSpec) -> Trajectory:
    """Run a rule until every stopping rule has stopped at the last level.

    In compiled code where that is possible, else pull by pull.
    """
    rule = spec.rule
    plain = not spec.instance.problem.guardrails and spec.max_pulls >= spec.instance.shape[0]
    if plain and isinstance(rule, CompiledRule) and rule.can_follow(spec.stoppings):
        return run_compiled(spec, rule)
    return run_stepwise(spec)


def coins(seed: int, trial: int) -> np.random.Generator:
    """Return the random numbers of the rules' own choices, the same for every rule."""
    return stream(seed, "rule", "trial", trial)


def run_compiled(spec: TrialSpec, rule: CompiledRule) -> Trajectory:
    """Run all pulls in compiled code, coming back only for more random numbers."""
    instance, _, stoppings, log_inv_deltas, seed, trial, max_pulls, focus = spec
    rewards, rng = Rewards(instance, seed, trial), coins(seed, trial)
    blocks, used_up = _first_blocks(instance, rewards), np.zeros(instance.shape[0], np.int64)
    observed, memory = Observations(instance.problem).arrays, rule.init(instance.problem)
    ladder = _new_ladder(instance, stoppings, log_inv_deltas, focus)
    pulls, tosses = instance.shape[0], rng.random(_AT_A_TIME)
    while True:
        rule.play(memory, TrialArrays(observed, blocks, ladder, tosses, min(len(tosses), max_pulls - pulls)))
        now = int(observed.asked.sum())
        if now == max_pulls or (ladder.finished == len(log_inv_deltas)).all():
            break
        tosses = tosses[now - pulls :] if now - pulls < len(tosses) else rng.random(_AT_A_TIME)
        pulls = now
        for arm in np.flatnonzero(blocks.used == ROWS).tolist():
            used_up[arm] += 1
            blocks.rewards[arm], blocks.used[arm] = rewards.block(arm, int(used_up[arm])) * instance.problem.signs, 0
    # The last pull may have used up its block, and is looked at now.
    rule.play(memory, TrialArrays(observed, blocks, ladder, tosses, 0))
    for s, finished in enumerate(ladder.finished.tolist()):
        ladder.asked[s, finished:] = observed.asked
    return Trajectory(ladder.decided, ladder.answers, ladder.asked, observed.leaders, absolute_means(observed), now)


def run_stepwise(spec: TrialSpec) -> Trajectory:
    """Ask and tell pull by pull, as a live experiment does."""
    instance, rule, stoppings, log_inv_deltas, seed, trial, max_pulls, focus = spec
    problem, rng, environment = instance.problem, coins(seed, trial), Environment(instance, seed, trial)
    engine = Engine(problem, rule, stoppings[0], focus_log_inv_delta=log_inv_deltas[0] if focus else None)
    monitors = [stopping.start(problem) for stopping in stoppings]
    shape = (len(stoppings), problem.shape[1], len(log_inv_deltas))
    decided, answers = np.full(shape, -1), np.full(shape, -1)
    asked = np.zeros((len(stoppings), len(log_inv_deltas), problem.shape[0]), np.int64)
    still_open = [list(range(len(log_inv_deltas))) for _ in stoppings]
    while any(still_open) and engine.told < max_pulls:
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), environment.pull(arm))
        for s, monitor in enumerate(monitors):
            monitor.look(engine.observations)
            asked[s, still_open[s]] = engine.observations.asked
            while still_open[s] and _note(monitor, log_inv_deltas, still_open[s][0], decided[s], answers[s]):
                still_open[s].pop(0)
    for s, monitor in enumerate(monitors):
        for d in still_open[s]:
            _note(monitor, log_inv_deltas, d, decided[s], answers[s])
    observed = engine.observations
    return Trajectory(decided, answers, asked, observed.leaders, observed.means, engine.told)


def _note(monitor: Monitor, log_inv_deltas: Sequence[float], d: int, decided: IntArray, answers: IntArray) -> bool:
    """Write down what is decided at a level; whether that is everything."""
    decisions = monitor.decisions(log_inv_deltas[d])
    for m, decision in enumerate(decisions):
        if decision is not None:
            answers[m, d], decided[m, d] = decision.arm, decision.pull
    return None not in decisions


def _first_blocks(instance: Instance, rewards: Rewards) -> RewardBlocks:
    arms = instance.shape[0]
    first = np.array([rewards.block(arm, 0) for arm in range(arms)]) * instance.problem.signs
    return RewardBlocks(first, np.zeros(arms, np.int64))


def _new_ladder(
    instance: Instance, stoppings: Sequence[StoppingRule], log_inv_deltas: Sequence[float], focus: bool
) -> Ladder:
    rules, (arms, objectives), rungs = len(stoppings), instance.shape, len(log_inv_deltas)
    levels: FloatArray = np.array(
        [[stopping.level(instance.problem, x) for x in log_inv_deltas] for stopping in stoppings]
    )
    return Ladder(
        kinds=np.array([one.kind if isinstance(one, Laddered) else 0 for one in stoppings], np.int64),
        sticky=np.array([isinstance(one, Laddered) and one.sticky for one in stoppings], np.int64),
        levels=levels,
        prices=no_prices(arms),
        rungs=np.zeros((rules, objectives), np.int64),
        blocks=np.full((rules, objectives, 3), -1),
        decided=np.full((rules, objectives, rungs), -1),
        answers=np.full((rules, objectives, rungs), -1),
        finished=np.zeros(rules, np.int64),
        asked=np.zeros((rules, rungs, arms), np.int64),
        focus=focus,
    )
