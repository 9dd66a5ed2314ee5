"""The ways in which people hand rewards over: in batches of any order, metric by metric, with some missing.

Each plays one trial and returns the arm decided on per objective, -1 for none, and the number of pulls. Some keep to
the conditions of the guarantee; the controls break one, and must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mobai.engine import Engine
from mobai.engine.asks import Resolution
from mobai.lab.environment import Environment
from mobai.lab.trajectory import TrialSpec, coins
from mobai.problem import FloatArray
from mobai.problem.guardrail import NOBODY
from mobai.seeds import stream

_BATCH = 200
_LATE = 10
# How many standard errors a tenth of Gaussian tests exceed.
_ONE_LOOK = 1.2816

Answers = tuple[list[int], int]
ReportingScheme = Callable[[TrialSpec], Answers]


def sorted_batches(spec: TrialSpec) -> Answers:
    """Ask for a batch, and report it sorted by arm and value, as one moment."""
    engine, told = engine_of(spec), _batches(spec)
    while engine.told < spec.max_pulls and not engine.stopped():
        engine.tell_all([Resolution(number, rewards) for _, rewards, number in told(engine)])
    return answers_of(engine)


def sorted_rows(spec: TrialSpec) -> Answers:
    """Look after every row of the same sorted batches: the order of the rows decides. A control."""
    engine, told = engine_of(spec, order="told"), _batches(spec)
    while engine.told < spec.max_pulls and not engine.stopped():
        for _, rewards, number in told(engine):
            engine.tell(number, rewards)
    return answers_of(engine)


def late_metrics(spec: TrialSpec) -> Answers:
    """Tell the first metric at once and the others ten pulls later; the first predicts them."""
    engine, environment, rng = engine_of(spec), _correlated(spec), coins(spec.seed, spec.trial)
    waiting: list[tuple[int, list[float]]] = []
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        number, rewards = engine.ask(arm), environment(arm)
        missing = [math.nan] * (len(rewards) - 1)
        engine.tell_all([Resolution(number, [rewards[0], *missing])])
        waiting.append((number, rewards))
        if len(waiting) > _LATE:
            late, whole = waiting.pop(0)
            engine.tell_all([Resolution(late, [math.nan, *whole[1:]])])
        if engine.stopped():
            break
    return answers_of(engine)


def missing_by_a_sibling(spec: TrialSpec) -> Answers:
    """Report the second metric only if the first is positive. A control: the first predicts it, inversely for one."""
    engine, environment, rng = engine_of(spec), _correlated(spec), coins(spec.seed, spec.trial)
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        first, second = environment(arm)
        engine.tell(engine.ask(arm), [first, second if first > 0 else math.nan])
        if engine.stopped():
            break
    return answers_of(engine)


def refused_values(spec: TrialSpec) -> Answers:
    """Measure again until the value lies in a range that the family does not have. A control: it truncates."""
    engine, rng = engine_of(spec), coins(spec.seed, spec.trial)
    noise = stream(spec.seed, "refused", spec.trial)
    means, sd = spec.instance.means[:, 0], spec.instance.sd[:, 0]
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        reward = math.inf
        while reward > means[arm] + (0.5 if arm == 1 else 3.0) * sd[arm]:
            reward = float(noise.normal(means[arm], sd[arm]))
        engine.tell(engine.ask(arm), [reward])
        if engine.stopped():
            break
    return answers_of(engine)


def limits(spec: TrialSpec) -> Answers:
    """Look at guardrails after every pull; a false claim about one counts as a wrong answer."""
    return _claims(spec, Engine.limits)


def limits_peeked(spec: TrialSpec) -> Answers:
    """Claim what a test made for one look says, after every pull. A control."""
    return _claims(spec, _tested_once)


def differences(spec: TrialSpec) -> Answers:
    """Look at the differences to the baseline after every tenth pull; a true one that is left out counts as wrong."""
    return _compared(spec, _difference_ends)


def differences_peeked(spec: TrialSpec) -> Answers:
    """Do the same with intervals made for one look. A control."""
    return _compared(spec, _ends_for_one_look)


def contention(spec: TrialSpec) -> Answers:
    """Look at who may still be best after every tenth pull; a best arm that is out, or too tight a bound, is wrong."""
    return _contested(spec, _said_to_be_left)


def contention_peeked(spec: TrialSpec) -> Answers:
    """Put an arm out by a test made for one look. A control."""
    return _contested(spec, _left_for_one_look)


Statuses = tuple[tuple[int, ...], ...]
# Per objective: the arms left, and by how much the best of all can be above the leader.
Left = list[tuple[set[int], float]]
Ends = tuple[FloatArray, FloatArray]


def _claims(spec: TrialSpec, claims: Callable[[Engine], Statuses]) -> Answers:
    engine, environment = engine_of(spec, bars=False), Environment(spec.instance, spec.seed, spec.trial)
    keeps, tolerated = spec.instance.keeping_limits(), spec.instance.keeping_limits(tolerated=True)
    rng = coins(spec.seed, spec.trial)
    for _ in range(spec.max_pulls):
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), environment.pull(arm))
        for c, statuses in enumerate(claims(engine)):
            for i, status in enumerate(statuses):
                if (status == 1 and not tolerated[i, c]) or (status == 2 and keeps[i, c]):
                    return [NOBODY] * spec.instance.shape[1], engine.told
    return answers_of(engine)


def _tested_once(engine: Engine) -> Statuses:
    problem, observations = engine.problem, engine.observations
    found = []
    for guardrail in problem.guardrails:
        m = problem.metric_names.index(guardrail.metric)
        arrays, means = observations.arrays, observations.means[:, m] * problem.signs[m]
        error = np.sqrt(arrays.scatter[m] / np.maximum(arrays.counts[m] - 1, 1) / np.maximum(arrays.counts[m], 1))
        room = guardrail.sign * (means - float(guardrail.limit or 0.0))
        enough = (arrays.counts[m] >= 20) & (error > 0)
        kept, broken = room + guardrail.eps > 2 * error, -room > 2 * error
        found.append(tuple(np.where(enough & kept, 1, np.where(enough & broken, 2, 0)).tolist()))
    return tuple(found)


def _contested(spec: TrialSpec, left: Callable[[Engine], Left]) -> Answers:
    engine, environment = engine_of(spec), Environment(spec.instance, spec.seed, spec.trial)
    rng, means = coins(spec.seed, spec.trial), spec.instance.means * spec.instance.problem.signs
    for pull in range(spec.max_pulls):
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), environment.pull(arm))
        if pull % 10 == 9 and engine.observations.complete:
            for m, (arms, within) in enumerate(left(engine)):
                best, leader = means[:, m].max(), int(engine.observations.leaders[m])
                if means[sorted(arms), m].max(initial=-math.inf) < best or best - means[leader, m] > within:
                    return [NOBODY] * spec.instance.shape[1], engine.told
    return [-1] * spec.instance.shape[1], engine.told


def _said_to_be_left(engine: Engine) -> Left:
    names = engine.problem.arms
    found = ((one.left, one.within) for one in engine.contention())
    return [({names.index(arm) for arm in left}, math.inf if within is None else within) for left, within in found]


def _left_for_one_look(engine: Engine) -> Left:
    arrays, found = engine.observations.arrays, []
    for m in range(engine.problem.shape[1]):
        counts, leader = arrays.counts[m], int(engine.observations.leaders[m])
        variance = arrays.scatter[m] / np.maximum(counts - 1, 1) / counts
        behind = arrays.means[m, leader] - arrays.means[m] > _ONE_LOOK * np.sqrt(variance + variance[leader])
        out = behind & (counts >= 20) & (counts[leader] >= 20)
        found.append((set(np.flatnonzero(~out).tolist()), math.inf))
    return found


def _compared(spec: TrialSpec, ends: Callable[[Engine], Ends]) -> Answers:
    engine, environment = engine_of(spec), Environment(spec.instance, spec.seed, spec.trial)
    rng, means = coins(spec.seed, spec.trial), spec.instance.means
    base = spec.instance.arms.index(str(spec.instance.problem.baseline))
    for pull in range(spec.max_pulls):
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), environment.pull(arm))
        if pull % 10 == 9 and engine.observations.complete:
            lower, upper = ends(engine)
            truth = means - means[base]
            others = np.arange(len(means)) != base
            if ((lower > truth) | (upper < truth))[others].any():
                return [NOBODY] * spec.instance.shape[1], engine.told
    return [-1] * spec.instance.shape[1], engine.told


def _difference_ends(engine: Engine) -> Ends:
    found = engine.differences()
    assert found is not None
    return found.lower, found.upper


def _ends_for_one_look(engine: Engine) -> Ends:
    arrays, means = engine.observations.arrays, engine.observations.means
    variance = (arrays.scatter / np.maximum(arrays.counts - 1, 1) / arrays.counts).T
    base = engine.problem.arms.index(str(engine.problem.baseline))
    gap, error = means - means[base], 2 * np.sqrt(variance + variance[base])
    unknown = (arrays.counts.T < 20) | (arrays.counts.T[base] < 20)
    return np.where(unknown, -np.inf, gap - error), np.where(unknown, np.inf, gap + error)


def engine_of(spec: TrialSpec, *, bars: bool = True, order: str = "asked") -> Engine:
    """Return the engine of a trial."""
    x = spec.log_inv_deltas[0]
    return Engine(spec.instance.problem, spec.rule, spec.stoppings[0], log_inv_delta=x, bars_broken=bars, order=order)


def _batches(spec: TrialSpec) -> Callable[[Engine], list[tuple[int, list[float], int]]]:
    """Return a function that asks for a batch and returns its rows, with their numbers, sorted by arm and value."""
    environment, rng = Environment(spec.instance, spec.seed, spec.trial), coins(spec.seed, spec.trial)

    def rows(engine: Engine) -> list[tuple[int, list[float], int]]:
        found = []
        for _ in range(_BATCH):
            arm = engine.choose(rng)
            number = engine.ask(arm)
            found.append((arm, environment.pull(arm).tolist(), number))
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


def answers_of(engine: Engine) -> Answers:
    """Return what an engine has decided, and after how many pulls."""
    decisions = engine.verdict().decisions
    return [-1 if decision is None else decision.arm for decision in decisions], engine.told
