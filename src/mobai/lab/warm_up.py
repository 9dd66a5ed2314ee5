"""Compile ahead of time, once, what several processes will use."""

from __future__ import annotations

import math

import numpy as np

from mobai.engine import Policy
from mobai.engine.warm_up import warm_up, warm_up_folding
from mobai.kernels import interpreted
from mobai.lab.trajectory import TrialSpec, run_trajectory
from mobai.problem import Instance
from mobai.rules.catalogue import SAMPLING, sampling_rule
from mobai.theory.forecast import forecast_samples
from mobai.theory.lower_bound import lower_bound
from mobai.theory.surrogate import surrogate_proportions
from mobai.theory.thresholds import threshold

_MEANS, _LEVEL = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]], -math.log(0.1)


def compile_kernels() -> None:
    """Compile every kernel, or load it from the cache: call it in a parent process before its workers start.

    Compiling takes most of a minute on a machine that has not done it before; the result is kept on disk.
    """
    if interpreted():
        return
    lower_bound(Instance(_MEANS))
    surrogate_proportions(Instance(_MEANS), [0.3, 0.3, 0.4])
    for name in ("mixture", "empirical"):
        threshold(name, _LEVEL, arms=2, objectives=1, pulls=1, leader_pulls=1, other_pulls=1)
    warm_up_folding()
    for name in SAMPLING:
        _play(Policy(sampling_rule(f"{name}:delta=0.1" if name == "successive-elimination" else name)))


def _play(policy: Policy) -> None:
    """Let a policy make its first pulls, in a compiled trial and step by step."""
    instance = Instance(_MEANS)
    run_trajectory(TrialSpec(instance, policy.sampling, [policy.stopping], [_LEVEL], max_pulls=4))
    session = policy.start(instance.problem)
    warm_up(policy.sampling)
    for _ in range(len(instance.arms) + 1):
        session.tell(session.ask(), [0.0, 0.0])
    session.verdict(0.1)
    forecast_samples(instance, np.full(len(instance.arms), 1 / len(instance.arms)), _LEVEL)
