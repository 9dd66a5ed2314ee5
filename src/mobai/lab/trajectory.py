"""One trial as a whole: one trajectory of a sampling rule, read by every stopping rule at every delta.

``run_compiled`` and ``run_stepwise`` give the same record, bit for bit; the second takes rules in plain Python, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mobai.kernels.trial import Ladder, World
from mobai.lab.environment import ROWS, Environment, Rewards
from mobai.lab.seeds import stream
from mobai.policy import Policy
from mobai.problem import FloatArray, Instance, IntArray, Tally
from mobai.rules.sampling.base import CompiledRule, Game, SamplingRule
from mobai.rules.stopping import GLR, Elimination, StoppingRule, Watch
from mobai.theory.thresholds import find_threshold

# Pulls between two visits to Python, where Ctrl-C is heard.
_AT_A_TIME = 1024


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What each stopping rule decided at each level, the levels in ascending order of log(1/delta).

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


class Setting(NamedTuple):
    """What determines a trajectory: an instance, a sampling rule and who reads it, at which log(1/delta), ascending.

    With ``focus``, sampling works only for objectives that are not decided yet: by the first stopping rule, at the only
    level.
    """

    instance: Instance
    rule: SamplingRule
    stoppings: Sequence[StoppingRule]
    levels: Sequence[float]
    seed: int = 0
    trial: int = 0
    max_pulls: int = 10_000_000
    focus: bool = False


def run_trajectory(setting: Setting) -> Trajectory:
    """Run a rule until every stopping rule has stopped at the last level.

    In compiled code where both are ours, else pull by pull.
    """
    known = all(type(stopping) in (GLR, Elimination) for stopping in setting.stoppings)
    if isinstance(setting.rule, CompiledRule) and known and setting.max_pulls >= setting.instance.shape[0]:
        return run_compiled(setting, setting.rule)
    return run_stepwise(setting)


def coins(seed: int, trial: int) -> np.random.Generator:
    """Give the random numbers of the rules' own choices, the same for every rule."""
    return stream(seed, "rule", "trial", trial)


def run_compiled(setting: Setting, rule: CompiledRule) -> Trajectory:
    """Run all pulls after the opening in compiled code, coming back only for more random numbers."""
    instance, _, stoppings, levels, seed, trial, max_pulls, focus = setting
    rewards, rng = Rewards(instance, seed, trial), coins(seed, trial)
    world, blocks = _new_world(instance, rewards), np.zeros(instance.shape[0], np.int64)
    seen, memory = rule.see(instance.problem, _open(instance, world)), rule.init(instance.problem)
    ladder = _new_ladder(instance, stoppings, levels, focus)
    pulls, tosses = instance.shape[0], rng.random(_AT_A_TIME)
    while True:
        rule.play(memory, Game(seen, world, ladder, tosses, min(len(tosses), max_pulls - pulls)))
        now = int(seen.asked.sum())
        if now == max_pulls or (ladder.finished == len(levels)).all():
            break
        tosses = tosses[now - pulls :] if now - pulls < len(tosses) else rng.random(_AT_A_TIME)
        pulls = now
        for arm in np.flatnonzero(world.used == ROWS).tolist():
            blocks[arm] += 1
            world.rewards[arm], world.used[arm] = rewards.block(arm, int(blocks[arm])) * instance.problem.signs, 0
    # The last pull may have used up its block, and is looked at now.
    rule.play(memory, Game(seen, world, ladder, tosses, 0))
    for s, finished in enumerate(ladder.finished.tolist()):
        ladder.asked[s, finished:] = seen.asked
    return Trajectory(ladder.decided, ladder.answers, ladder.asked, seen.leaders, seen.means.T.copy(), now)


def run_stepwise(setting: Setting) -> Trajectory:
    """Ask and tell pull by pull, as a live experiment does."""
    instance, rule, stoppings, levels, seed, trial, max_pulls, focus = setting
    problem = instance.problem
    near = levels[0] if focus else None
    session = Policy(rule, stoppings[0]).start(problem, coins(seed, trial), focus=near)
    world, watches = Environment(instance, seed, trial), [stopping.start(problem) for stopping in stoppings]
    shape = (len(stoppings), problem.shape[1], len(levels))
    decided, answers = np.full(shape, -1), np.full(shape, -1)
    asked = np.zeros((len(stoppings), len(levels), problem.shape[0]), np.int64)
    open_levels = [list(range(len(levels))) for _ in stoppings]
    while any(open_levels) and session.tally.told < max_pulls:
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        for s, watch in enumerate(watches):
            watch.look(session.tally)
            asked[s, open_levels[s]] = session.tally.asked
            while open_levels[s] and _note(watch, levels, open_levels[s][0], decided[s], answers[s]):
                open_levels[s].pop(0)
    for s, watch in enumerate(watches):
        for d in open_levels[s]:
            _note(watch, levels, d, decided[s], answers[s])
    return Trajectory(decided, answers, asked, watches[0].leaders, session.tally.means, session.tally.told)


def _note(watch: Watch, levels: Sequence[float], d: int, decided: IntArray, answers: IntArray) -> bool:
    """Write down what is decided at a level; whether that is everything."""
    decisions = watch.decisions(levels[d])
    for m, decision in enumerate(decisions):
        if decision is not None:
            answers[m, d], decided[m, d] = decision
    return None not in decisions


def _new_world(instance: Instance, rewards: Rewards) -> World:
    arms = instance.shape[0]
    first = np.array([rewards.block(arm, 0) for arm in range(arms)]) * instance.problem.signs
    return World(first, np.zeros(arms, np.int64))


def _open(instance: Instance, world: World) -> Tally:
    """Pull every arm once."""
    tally = Tally(instance.problem)
    for arm in range(instance.shape[0]):
        tally.ask(arm)
        tally.tell(arm, world.rewards[arm, 0])
    world.used[:] = 1
    return tally


def _new_ladder(instance: Instance, stoppings: Sequence[StoppingRule], levels: Sequence[float], focus: bool) -> Ladder:
    rules, (arms, objectives), rungs = len(stoppings), instance.shape, len(levels)
    kinds = [find_threshold(stopping.threshold).kind if isinstance(stopping, GLR) else 0 for stopping in stoppings]
    heights: FloatArray = np.array([[stopping.level(instance.problem, x) for x in levels] for stopping in stoppings])
    return Ladder(
        kinds=np.array(kinds, np.int64),
        sticky=np.array([isinstance(stopping, GLR) and stopping.sticky for stopping in stoppings], np.int64),
        levels=heights,
        rungs=np.zeros((rules, objectives), np.int64),
        blocks=np.full((rules, objectives, 3), -1),
        decided=np.full((rules, objectives, rungs), -1),
        answers=np.full((rules, objectives, rungs), -1),
        finished=np.zeros(rules, np.int64),
        asked=np.zeros((rules, rungs, arms), np.int64),
        focus=focus,
    )
