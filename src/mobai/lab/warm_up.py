"""Compile ahead of time, once, what several processes will use."""

from __future__ import annotations

import math
import subprocess
import sys

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
    if is_cold() and cache_directory() is not None:
        other = [sys.executable, "-c", "from mobai.lab.warm_up import compile_trials; compile_trials()"]
        with subprocess.Popen(other, stdin=subprocess.DEVNULL):
            _compile_engine()
    compile_trials()
    _compile_engine()
    for rule in _rules():
        warm_up(rule)
        _step_by_step(rule)


def compile_trials() -> None:
    """Compile the programs that rules solve, and the trials of all rules."""
    instance = Instance(_MEANS)
    lower_bound(instance)
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
