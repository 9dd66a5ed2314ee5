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
from mobai.problem import Bounded, Design, FloatArray, Instance, Objective, Problem, Wins
from mobai.problem.family import Family
from mobai.research.audit.reporting_schemes import Answers, ReportingScheme
from mobai.rules.stopping import Paired
from mobai.rules.stopping.comparison import Comparison
from mobai.seeds import stream

WORKERS = 32
_ITEMS = 400
_NOTHING = 1e-7
_BENCHMARK = 120
# Nine times of ten arm 0 is a little better, else much worse: on average nothing.
_OFTEN, _LITTLE, _MUCH = 0.9, 0.05, -0.45
Draw = Callable[[np.random.Generator], FloatArray]


def tie() -> Instance:
    """Return two arms with the same mean, scores between 0 and 1."""
    return Instance([[0.5], [0.5 + _NOTHING]], objectives=[Objective("score", "max", Bounded(0, 1))])


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


def on_items_in_a_pool(spec: TrialSpec) -> Answers:
    """Let 32 workers measure, bad results taking long; each arm is read up to the first item that is still to come."""
    return _in_a_pool(spec, lambda index, _: index)


def on_items_as_they_come(spec: TrialSpec) -> Answers:
    """Pair results in the order in which they are ready. A control: the good ones are ready first."""
    return _in_a_pool(spec, lambda _, done: done)


def missing_at_random(spec: TrialSpec) -> Answers:
    """Lose a fifth of the results, mostly bad ones: each counts as the worst there could be."""

    def draw(rng: np.random.Generator) -> FloatArray:
        values = skewed(rng)
        return np.where(rng.random(2) < np.where(values < 0.3, 0.8, 0.1), WORST, values)

    return _in_order(spec, _comparison(spec, Design("stream")), draw)


def wins_of_equals(spec: TrialSpec) -> Answers:
    """Count which of two equal arms is better on more items."""
    seen = _comparison(spec, Design("stream"), Wins())
    return _in_order(spec, seen, lambda rng: rng.normal(size=2) * math.exp(2 * rng.normal()))


def in_rounds(spec: TrialSpec) -> Answers:
    """Compare two equal arms in rounds while the level drifts, jumps, and reacts to what earlier rounds brought."""
    level, rng = 0.0, stream(spec.seed, "rounds", spec.trial)
    seen = _comparison(spec, Design("rounds"))
    for j in range(_ITEMS):
        level = 0.9 * level + 0.1 * rng.normal()
        wave = 0.5 + 0.2 * math.sin(j / 15) + 0.1 * level
        values = np.clip(wave + 0.05 * rng.normal(size=2), 0, 1)[rng.permutation(2)]
        level -= 0.2 * (values[0] - values[1])
        if _told(seen, j, values):
            break
    return _answers(seen)


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
    yield "items, a benchmark to its end", on_a_benchmark, True
    yield "items, 32 workers, slow ones bad", on_items_in_a_pool, True
    yield "items, paired as they are ready", on_items_as_they_come, False
    yield "items, bad results missing", missing_at_random, True
    yield "wins of two equals", wins_of_equals, True
    yield "rounds, a level that drifts", in_rounds, True
    yield "rounds, carried over inside", carried_over_in_rounds, False


def _comparison(spec: TrialSpec, design: Design, family: Family | None = None) -> Comparison:
    problem = Problem(2, [Objective("score", "max", family or Bounded(0, 1))], design=design)
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


def _in_a_pool(spec: TrialSpec, place: Callable[[int, int], int]) -> Answers:
    seen, rng = _comparison(spec, Design("stream")), stream(spec.seed, "pool", spec.trial)
    running: list[tuple[float, int, int, float]] = []
    done, now = [0, 0], 0.0
    for n in range(2 * _ITEMS):
        j, arm = divmod(n, 2)
        if arm == 0:
            values = skewed(rng)
        value = float(values[arm])
        heapq.heappush(running, (now + (20.0 if value < 0.3 else 1.0) * (1 + 0.1 * rng.random()), j, arm, value))
        if len(running) < WORKERS:
            continue
        now, index, ready, brought = heapq.heappop(running)
        seen.tell(place(index, done[ready]), ready, [brought])
        done[ready] += 1
        if seen.look(n) and seen.decided[0] is not None:
            break
    return _answers(seen)
