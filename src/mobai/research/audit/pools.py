"""Measurements that take as long as their value: by a pool of workers, told when they are over, or given up.

One arm is usually fast and sometimes very slow, the other always in between and a little better on average. Whoever
reads times as they come, or leaves out what takes too long, sees the fast ones first, or alone.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from mobai.engine.asks import LEFT_OUT, WORST, Resolution
from mobai.lab.trajectory import TrialSpec, coins
from mobai.problem import Bounded, Instance, Objective
from mobai.research.audit.reporting_schemes import Answers, answers_of, engine_of
from mobai.seeds import stream

WORKERS = 32
_FAST, _SLOW, _SHARE = 0.1, 4.85, 0.2
_TIMEOUT = 2.0


def times() -> Instance:
    """Return the two arms: their mean times, which should be small, between 0 and 8."""
    usually_fast = (1 - _SHARE) * _FAST + _SHARE * _SLOW
    return Instance(
        [[usually_fast], [1.0]], np.full((2, 1), math.nan), objectives=[Objective("t", "min", Bounded(0, 8))]
    )


def in_a_pool(spec: TrialSpec) -> Answers:
    """Tell every time when it is over; evidence reads them in the order of asking."""
    return _play(spec, "asked", math.inf, LEFT_OUT)


def in_a_pool_as_told(spec: TrialSpec) -> Answers:
    """Read them in the order in which they were over. A control."""
    return _play(spec, "told", math.inf, LEFT_OUT)


def given_up_as_the_worst(spec: TrialSpec) -> Answers:
    """Drop what takes too long: it counts as the worst there could be."""
    return _play(spec, "asked", _TIMEOUT, WORST)


def given_up_and_left_out(spec: TrialSpec) -> Answers:
    """Leave out what takes too long. A control: it is left out because of its value."""
    return _play(spec, "asked", _TIMEOUT, LEFT_OUT)


def _play(spec: TrialSpec, order: str, timeout: float, stand_in: float) -> Answers:
    engine, rng, noise = engine_of(spec, order=order), coins(spec.seed, spec.trial), stream(spec.seed, "t", spec.trial)
    running: list[tuple[float, int, float]] = []
    now = 0.0
    for asked in range(spec.max_pulls):
        arm = engine.choose(rng)
        slow = _SLOW if noise.random() < _SHARE else _FAST
        value = slow if arm == 0 else float(np.clip(noise.normal(1.0, 0.1), 0.0, 8.0))
        number, taken = engine.ask(arm), min(value, timeout)
        heapq.heappush(running, (now + taken, number, stand_in if value > timeout else value))
        if asked < WORKERS:
            continue
        now, number, told = heapq.heappop(running)
        engine.tell_all([Resolution(number, [told])])
        if engine.stopped():
            break
    return answers_of(engine)
