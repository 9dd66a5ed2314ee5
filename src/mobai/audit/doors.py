"""The ways in which people hand rewards over: in batches of any order, metric by metric, with some missing.

Each plays one trial and returns the arm decided on per objective, -1 for none, and the number of pulls. Some keep to
the conditions of the guarantee; the controls break one, and must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mobai.engine import Engine
from mobai.engine.engine import Told
from mobai.lab.environment import Environment
from mobai.lab.trajectory import TrialSpec, coins
from mobai.seeds import stream

_BATCH = 200
_LATE = 10

Answers = tuple[list[int], int]
Door = Callable[[TrialSpec], Answers]


def sorted_batches(spec: TrialSpec) -> Answers:
    """Ask for a batch, and report it sorted by arm and value, as one moment."""
    engine, told = _engine(spec), _batches(spec)
    while engine.told < spec.max_pulls and not engine.stopped():
        engine.tell_all([Told(arm, rewards, True, rewards) for arm, rewards in told(engine)])
    return _answers(engine)


def sorted_rows(spec: TrialSpec) -> Answers:
    """Look after every row of the same sorted batches: the order of the rows decides. A control."""
    engine, told = _engine(spec), _batches(spec)
    while engine.told < spec.max_pulls and not engine.stopped():
        for arm, rewards in told(engine):
            engine.tell(arm, rewards)
    return _answers(engine)


def late_metrics(spec: TrialSpec) -> Answers:
    """Tell the first metric at once and the others ten pulls later; the first predicts them."""
    engine, environment, rng = _engine(spec), _correlated(spec), coins(spec.seed, spec.trial)
    waiting: list[tuple[int, list[float]]] = []
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        engine.ask(arm)
        rewards = environment(arm)
        missing = [math.nan] * (len(rewards) - 1)
        engine.tell_all([Told(arm, [rewards[0], *missing], True, None)])
        waiting.append((arm, rewards))
        if len(waiting) > _LATE:
            late, whole = waiting.pop(0)
            engine.tell_all([Told(late, [math.nan, *whole[1:]], False, whole)])
        if engine.stopped():
            break
    return _answers(engine)


def missing_by_a_sibling(spec: TrialSpec) -> Answers:
    """Report the second metric only if the first is positive. A control: the first predicts it, inversely for one."""
    engine, environment, rng = _engine(spec), _correlated(spec), coins(spec.seed, spec.trial)
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        engine.ask(arm)
        first, second = environment(arm)
        engine.tell(arm, [first, second if first > 0 else math.nan])
        if engine.stopped():
            break
    return _answers(engine)


def refused_values(spec: TrialSpec) -> Answers:
    """Measure again until the value lies in a range that the family does not have. A control: it truncates."""
    engine, rng = _engine(spec), coins(spec.seed, spec.trial)
    noise = stream(spec.seed, "refused", spec.trial)
    means, sd = spec.instance.means[:, 0], spec.instance.sd[:, 0]
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        engine.ask(arm)
        reward = math.inf
        while reward > means[arm] + (0.5 if arm == 1 else 3.0) * sd[arm]:
            reward = float(noise.normal(means[arm], sd[arm]))
        engine.tell(arm, [reward])
        if engine.stopped():
            break
    return _answers(engine)


def _engine(spec: TrialSpec) -> Engine:
    return Engine(spec.instance.problem, spec.rule, spec.stoppings[0], log_inv_delta=spec.log_inv_deltas[0])


def _batches(spec: TrialSpec) -> Callable[[Engine], list[tuple[int, list[float]]]]:
    """Return a function that asks for a batch and returns its rows, sorted by arm and value."""
    environment, rng = Environment(spec.instance, spec.seed, spec.trial), coins(spec.seed, spec.trial)

    def rows(engine: Engine) -> list[tuple[int, list[float]]]:
        found = []
        for _ in range(_BATCH):
            arm = engine.choose(rng)
            engine.ask(arm)
            found.append((arm, environment.pull(arm).tolist()))
        return sorted(found)

    return rows


def _correlated(spec: TrialSpec) -> Callable[[int], list[float]]:
    """Return a function that draws Gaussian rewards of an arm, of correlation 0.9, for odd arms -0.9."""
    noise = stream(spec.seed, "correlated", spec.trial)
    means, sd = spec.instance.means, spec.instance.sd

    def draw(arm: int) -> list[float]:
        first = noise.standard_normal()
        sign = -1 if arm % 2 else 1
        others = 0.9 * sign * first + math.sqrt(1 - 0.81) * noise.standard_normal(means.shape[1] - 1)
        rewards: list[float] = (means[arm] + sd[arm] * np.array([first, *others])).tolist()
        return rewards

    return draw


def _answers(engine: Engine) -> Answers:
    decisions = engine.verdict().decisions
    return [-1 if decision is None else decision.arm for decision in decisions], engine.told
