"""Arms compared on the same things, where that is likeliest to go wrong: ties, slow results, drift, what is missing.

Arm 1 is better by nothing that could be seen, so that to decide for arm 0 is wrong. Controls do what the theorem does
not cover, and must be caught.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

import numpy as np

from mobai.kernels.evidence.paired import WORST
from mobai.lab.trajectory import TrialSpec
from mobai.problem import (
    Bernoulli,
    Bounded,
    Design,
    FloatArray,
    Gaussian,
    Instance,
    Objective,
    Problem,
    UnknownVariance,
    Wins,
)
from mobai.problem.families import Family
from mobai.research.audit.reporting_schemes import Answers, ReportingScheme, answers_of, engine_of
from mobai.rules.stopping import Paired
from mobai.rules.stopping.comparison import Comparison
from mobai.seeds import stream

_ITEMS = 400
_NOTHING = 1e-7
_BENCHMARK = 120
# Nine times of ten arm 0 is a little better, else much worse: on average nothing.
_OFTEN, _LITTLE, _MUCH = 0.9, 0.05, -0.45
# How far the attacker's own rule lets one arm run ahead of the other.
_AHEAD = 16
# What rounds scatter around their level, and how far that drifts: 1.5 times as much.
_NOISE, _DRIFT = 0.1, 0.15
# By how much the better arm is better where averages are compared under drift, and pulls in half a day.
_GAP, _HALF_DAY = 0.05, 12
Draw = Callable[[np.random.Generator], FloatArray]
# From the round, the level before, by how much the first arm was better in the last round, and noise: the next level.
Drift = Callable[[int, float, float, float], float]

DRIFTS: dict[str, Drift] = {
    "a sine": lambda j, *_: _DRIFT * math.sqrt(2) * math.sin(j / 15),
    "a ramp": lambda j, *_: _DRIFT * math.sqrt(12) * (j / _ITEMS - 0.5),
    "weekdays": lambda j, *_: _DRIFT * 2 * (j // 10 % 7 >= 5),
    "throttling": lambda j, *_: -_DRIFT * 2 * (j % 60 >= 40),
    "autocorrelated": lambda _, level, __, noise: 0.95 * level + 0.3 * _DRIFT * noise,
    "reacting to earlier rounds": lambda _, level, ahead, __: float(np.clip(level - ahead, -2 * _DRIFT, 2 * _DRIFT)),
}


def tie() -> Instance:
    """Return two arms with the same mean, scores between 0 and 1."""
    return Instance([[0.5], [0.5 + _NOTHING]], objectives=[Objective("score", "max", Bounded(0, 1))])


def ahead() -> Instance:
    """Return two arms of which one is better by half of a standard deviation, for averages under drift."""
    return Instance([[0.0], [_GAP]], _NOISE, objectives=[Objective("score", "max", Gaussian(_NOISE))])


def skewed(rng: np.random.Generator) -> FloatArray:
    """Return what both arms bring on an item: arm 0 is often a little better, and now and then much worse."""
    return np.array([0.5 + (_LITTLE if rng.random() < _OFTEN else _MUCH), 0.5])


def on_items(spec: TrialSpec) -> Answers:
    """Measure both arms on one item after the other."""
    return _in_order(spec, _comparison(spec, Design("stream")), skewed)


def on_a_benchmark(spec: TrialSpec) -> Answers:
    """Measure both arms on a fixed table in a random order, to its end."""
    rng = stream(spec.seed, "benchmark", spec.trial)
    table = np.array([skewed(rng) for _ in range(_BENCHMARK)])
    table[:, 0] -= table[:, 0].mean() - 0.5 + _NOTHING  # a tie, but for nothing
    seen, rows = _comparison(spec, Design("items", _BENCHMARK), Bounded(-1, 1)), iter(rng.permutation(table).tolist())
    return _in_order(spec, seen, lambda _: np.array(next(rows)), _BENCHMARK)


def just_outside_eps(spec: TrialSpec) -> Answers:
    """Let arm 1 be better by a little more than eps: to call arm 0 the best within eps is wrong."""
    eps = 0.01

    def draw(rng: np.random.Generator) -> FloatArray:
        return np.asarray(skewed(rng) - np.array([eps + _NOTHING, 0.0]))

    return _in_order(spec, _comparison(spec, Design("stream"), eps=eps), draw)


def of_a_family(design: Design, family: Family, draw: Draw) -> ReportingScheme:
    """Return a door that measures both arms on one item after the other, or round after round."""
    return lambda spec: _in_order(spec, _comparison(spec, design, family), draw)


def in_a_pool(workers: int) -> ReportingScheme:
    """Let workers measure, bad results taking long; each arm is read up to the first item that is still to come."""
    return lambda spec: _in_a_pool(spec, workers, lambda index, _: index)


def on_items_as_they_come(spec: TrialSpec) -> Answers:
    """Pair results in the order in which they are ready. A control: the good ones are ready first."""
    return _in_a_pool(spec, 32, lambda _, done: done)


def by_a_rule_of_its_own(spec: TrialSpec) -> Answers:
    """Measure whoever looks worse, up to 16 items ahead of the other: to go on for as long as it pays."""
    seen, rng = _comparison(spec, Design("stream")), stream(spec.seed, "items", spec.trial)
    rows = np.array([skewed(rng) for _ in range(_ITEMS)])
    until, totals = [0, 0], [0.0, 0.0]
    while min(until) < _ITEMS:
        arm = int(totals[1] < totals[0])
        if until[arm] - until[1 - arm] >= _AHEAD or until[arm] == _ITEMS:
            arm = 1 - arm
        index = until[arm]
        seen.tell(index, arm, [float(rows[index, arm])])
        until[arm], totals[arm] = index + 1, totals[arm] + float(rows[index, arm]) - 0.5
        if seen.look(index) and seen.decided[0] is not None:
            break
    return _answers(seen)


def missing_at_random(spec: TrialSpec) -> Answers:
    """Lose a fifth of the results, mostly bad ones: each counts as the worst there could be."""

    def draw(rng: np.random.Generator) -> FloatArray:
        values = skewed(rng)
        return np.where(rng.random(2) < np.where(values < 0.3, 0.8, 0.1), WORST, values)

    return _in_order(spec, _comparison(spec, Design("stream")), draw)


def in_rounds(drift: Drift) -> ReportingScheme:
    """Return a door that compares two equal arms in rounds while the level of both drifts."""

    def door(spec: TrialSpec) -> Answers:
        seen, rng, level, ahead = _comparison(spec, Design("rounds")), stream(spec.seed, "rounds", spec.trial), 0.0, 0.0
        for j in range(_ITEMS):
            level = drift(j, level, ahead, rng.normal())
            values = np.clip(0.5 + level + _NOISE * rng.normal(size=2), 0, 1)[rng.permutation(2)]
            ahead = float(values[0] - values[1])
            if _told(seen, j, values):
                break
        return _answers(seen)

    return door


def averages_by_day_and_night(spec: TrialSpec) -> Answers:
    """Compare averages of arm 0, measured by day, and of arm 1, by night. A control: who is measured when counts."""
    engine, noise = engine_of(spec), stream(spec.seed, "drift", spec.trial)
    for pull in range(spec.max_pulls):
        half_day, hour = divmod(pull, _HALF_DAY)
        arm = half_day % 2
        level = _DRIFT * math.sin(math.pi * hour / _HALF_DAY) * (1 - 2 * arm)
        engine.tell(engine.ask(arm), [level + _GAP * arm + _NOISE * noise.normal()])
        if engine.stopped():
            break
    return answers_of(engine)


def carried_over_in_rounds(spec: TrialSpec) -> Answers:
    """Let whoever comes after arm 0 find less. A control: what a member brings depends on who came before."""
    seen, rng = _comparison(spec, Design("rounds")), stream(spec.seed, "rounds", spec.trial)
    for j in range(_ITEMS):
        values = np.clip(0.5 + 0.1 * rng.normal(size=2), 0, 1)
        if rng.random() < 0.5:  # arm 0 first
            values[1] = max(values[1] - 0.2, 0.0)
        if _told(seen, j, values):
            break
    return _answers(seen)


def lines() -> Iterator[tuple[str, ReportingScheme, bool]]:
    """Yield every line: its name, how it is played, and whether it is claimed to be valid."""
    yield "items, a stream", on_items, True
    yield "items, just outside eps", just_outside_eps, True
    for name, family, draw in _FAMILIES:
        yield f"items, {name}", of_a_family(Design("stream"), family, draw), True
    yield "items, a benchmark to its end", on_a_benchmark, True
    for workers in (8, 64):
        yield f"items, {workers} workers, slow ones bad", in_a_pool(workers), True
    yield "items, paired as they are ready", on_items_as_they_come, False
    yield "items, ahead with whoever looks worse", by_a_rule_of_its_own, True
    yield "items, bad results missing", missing_at_random, True
    yield "wins of two equals", of_a_family(Design("stream"), Wins(), _heavy_tails), True
    for name, drift in DRIFTS.items():
        yield f"rounds, {name}", in_rounds(drift), True
    yield "rounds, gaussian", of_a_family(Design("rounds"), Gaussian(1.0), _gaussian), True
    yield "rounds, carried over inside", carried_over_in_rounds, False


def _gaussian(rng: np.random.Generator) -> FloatArray:
    """Draw an item that is hard for both, and what two arms of the same mean bring on it."""
    return np.asarray(0.6 * rng.normal() + 0.8 * rng.normal(size=2))


def _coins(rng: np.random.Generator) -> FloatArray:
    """Draw failures and successes: arm 0 succeeds only where arm 1 fails."""
    heads = float(rng.random() < 0.5)
    return np.array([heads, 1.0 - heads])


def _heavy_tails(rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.normal(size=2) * math.exp(2 * rng.normal()))


_FAMILIES: tuple[tuple[str, Family, Draw], ...] = (
    ("successes that exclude each other", Bernoulli(), _coins),
    ("gaussian", Gaussian(1.0), _gaussian),
    ("unknown variance", UnknownVariance(), _gaussian),
)


def _comparison(spec: TrialSpec, design: Design, family: Family | None = None, eps: float = 0.0) -> Comparison:
    problem = Problem(2, [Objective("score", "max", family or Bounded(0, 1), eps)], design=design)
    return Comparison(problem, Paired().level(problem, spec.log_inv_deltas[0]))


def _told(seen: Comparison, index: int, values: FloatArray) -> bool:
    """Tell what both arms brought at an index; return whether that decides it."""
    for arm, value in enumerate(values.tolist()):
        seen.tell(index, arm, [value])
    return seen.look(index) and seen.decided[0] is not None


def _answers(seen: Comparison) -> Answers:
    return [-1 if one is None else one.arm for one in seen.decided], int(seen.until.sum())


def _in_order(spec: TrialSpec, seen: Comparison, draw: Draw, items: int = _ITEMS) -> Answers:
    rng = stream(spec.seed, "items", spec.trial)
    for j in range(items):
        if _told(seen, j, draw(rng)):
            break
    return _answers(seen)


def _in_a_pool(spec: TrialSpec, workers: int, place: Callable[[int, int], int]) -> Answers:
    seen, rng = _comparison(spec, Design("stream")), stream(spec.seed, "pool", spec.trial)
    running: list[tuple[float, int, int, float]] = []
    done, now = [0, 0], 0.0
    for n in range(2 * _ITEMS):
        j, arm = divmod(n, 2)
        if arm == 0:
            values = skewed(rng)
        value = float(values[arm])
        heapq.heappush(running, (now + (20.0 if value < 0.3 else 1.0) * (1 + 0.1 * rng.random()), j, arm, value))
        if len(running) < workers:
            continue
        now, index, ready, brought = heapq.heappop(running)
        seen.tell(place(index, done[ready]), ready, [brought])
        done[ready] += 1
        if seen.look(n) and seen.decided[0] is not None:
            break
    return _answers(seen)
