"""Compile ahead of time, once, what several processes will use."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from mobai.engine import Policy
from mobai.engine.warm_up import warm_up, warm_up_following, warm_up_races
from mobai.kernels import interpreted
from mobai.kernels.jit.cache import cache_directory, is_cold
from mobai.lab.tables import TableInstance
from mobai.lab.trajectory import TrialSpec, run_trajectory
from mobai.problem import Instance
from mobai.rules.catalogue import SAMPLING, sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.uniform import Uniform
from mobai.theory.forecast import forecast_samples
from mobai.theory.lower_bound import lower_bound
from mobai.theory.surrogate import surrogate_proportions
from mobai.theory.thresholds import threshold

_MEANS, _LEVEL = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]], -math.log(0.1)


def compile_kernels() -> None:
    """Compile every kernel, or load it from the cache: call it in a parent process before its workers start.

    Compiling takes most of a minute on a machine that has not done it before, on two of its cores; the result is kept
    on disk.
    """
    if interpreted():
        return
    with meanwhile(compile_trials):
        _compile_engine()
    compile_trials()
    for rule in _rules():
        warm_up(rule)
        _step_by_step(rule)


@contextmanager
def meanwhile(compile_some: Callable[[], None]) -> Iterator[None]:
    """Let a function of this module compile in another process, if nothing has been compiled on this machine yet."""
    if interpreted() or not is_cold() or cache_directory() is None:
        yield
        return
    call = f"from {__name__} import {compile_some.__name__} as compile_some; compile_some()"
    # What it says of a Ctrl-C, or of its end, helps nobody: what it has not compiled is compiled here.
    nothing = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-c", call], stdin=nothing, stdout=nothing, stderr=nothing):
        yield


def compile_bounds() -> None:
    """Compile the program of the lower bound, which every summary of a simulation states."""
    lower_bound(Instance(_MEANS))


def compile_trials() -> None:
    """Compile the programs that rules solve, and the trials of all rules."""
    instance = Instance(_MEANS)
    compile_bounds()
    surrogate_proportions(instance, [0.3, 0.3, 0.4])
    for rule in _rules():
        run_trajectory(TrialSpec(instance, rule, [Policy(rule).stopping], [_LEVEL], max_pulls=4))


def _compile_engine() -> None:
    """Compile what an experiment calls, whatever its rule."""
    for name in ("mixture", "empirical"):
        threshold(name, _LEVEL, arms=2, objectives=1, pulls=1, leader_pulls=1, other_pulls=1)
    warm_up_following()
    warm_up_races()
    TableInstance(np.zeros((2, 2, 1)), ["a", "b"], ["x:bernoulli"]).race(trials=1)
    warm_up(Uniform())
    _step_by_step(Uniform())
    forecast_samples(Instance(_MEANS), np.full(len(_MEANS), 1 / len(_MEANS)), _LEVEL)


def _step_by_step(rule: SamplingRule) -> None:
    """Let a rule make its first pulls in a session."""
    session = Policy(rule).start(Instance(_MEANS).problem)
    for _ in range(len(_MEANS) + 1):
        session.tell(session.ask(), [0.0, 0.0])
    session.verdict(0.1)


def _rules() -> list[SamplingRule]:
    return [sampling_rule(f"{name}:delta=0.1" if name == "successive-elimination" else name) for name in SAMPLING]
