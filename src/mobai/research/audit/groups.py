"""Ratios of totals, and segments of visitors, where nothing is to be found: arm 1 is better by nothing to be seen.

Controls compare what is not asked for, or spend delta in every segment.
"""

from __future__ import annotations

import math

import numpy as np

from mobai.engine import Engine
from mobai.lab.trajectory import TrialSpec, coins
from mobai.problem import Bounded, Objective, Problem, Ratio
from mobai.research.audit.reporting_schemes import Answers, answers_of
from mobai.rules.sampling.top_two import TopTwo
from mobai.rules.sampling.uniform import Uniform
from mobai.rules.stopping import GLR
from mobai.seeds import stream

_MOST_SESSIONS = 5
_NOTHING = 1e-6
_SEGMENTS, _VISITORS = 20, 120


def ratios(spec: TrialSpec) -> Answers:
    """Compare revenue per session of visitors of whom those with many sessions spend little in each of arm 0."""
    family = Ratio(0, 2 * _MOST_SESSIONS, 0, _MOST_SESSIONS)
    engine = _engine(Problem(2, [Objective("revenue/sessions", "max", family)]), spec, TopTwo())
    chance, rng = coins(spec.seed, spec.trial), stream(spec.seed, "visitors", spec.trial)
    for _ in range(spec.max_pulls):
        arm = engine.choose(chance)
        engine.tell(engine.ask(arm), [family.packed("revenue/sessions", *_visitor(rng, arm))])
        if engine.stopped():
            break
    return answers_of(engine)


def means_of_ratios(spec: TrialSpec) -> Answers:
    """Compare the means of revenue over sessions, visitor by visitor. A control: that is another number."""
    engine = _engine(Problem(2, [Objective("revenue per session", "max", Bounded(0, 2))]), spec, Uniform())
    chance, rng = coins(spec.seed, spec.trial), stream(spec.seed, "visitors", spec.trial)
    for _ in range(spec.max_pulls):
        arm = engine.choose(chance)
        revenue, sessions = _visitor(rng, arm)
        engine.tell(engine.ask(arm), [min(revenue / sessions, 2.0)])
        if engine.stopped():
            break
    return answers_of(engine)


def segments(spec: TrialSpec) -> Answers:
    """Decide in every segment with its part of delta."""
    return _in_segments(spec, math.log(_SEGMENTS))


def segments_with_all_of_delta(spec: TrialSpec) -> Answers:
    """Decide in every segment as if there were no other. A control: there are twenty chances to be wrong."""
    return _in_segments(spec, 0.0)


def _visitor(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    """Return revenue and sessions: 1 per session of either arm; of arm 0, those who come once spend most."""
    sessions = float(rng.integers(1, _MOST_SESSIONS + 1))
    tilt = 0.5 * (1 - arm)
    # E(tilt (3 - sessions) sessions) is made up for, so that both ratios are 1, but for nothing.
    per_session = 1.0 + tilt * (3.0 - sessions) / 2 + tilt * (11.0 / 3 - 3.0) / 2 + arm * _NOTHING
    return min(max(sessions * per_session * rng.uniform(0.9, 1.1), 0.0), 2.0 * _MOST_SESSIONS), sessions


def _in_segments(spec: TrialSpec, price: float) -> Answers:
    problem, pulls, answer = Problem(2, ["x:gaussian=1"]), 0, -1
    for segment in range(_SEGMENTS):
        engine = _engine(problem, spec, Uniform(), price)
        chance, rng = coins(spec.seed, spec.trial), stream(spec.seed, f"segment {segment}", spec.trial)
        for _ in range(_VISITORS):
            arm = engine.choose(chance)
            engine.tell(engine.ask(arm), [float(rng.normal()) + arm * _NOTHING])
            if engine.stopped():
                break
        pulls += engine.told
        answer = 0 if 0 in (answer, engine.winner(0)) else max(answer, engine.winner(0))
    return [answer], pulls


def _engine(problem: Problem, spec: TrialSpec, rule: TopTwo | Uniform, price: float = 0.0) -> Engine:
    return Engine(problem, rule, GLR("mixture"), log_inv_delta=spec.log_inv_deltas[0] + price)
