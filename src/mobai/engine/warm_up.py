"""What happens before an experiment begins: its kernels are compiled, and a rule of one's own is tried."""

from __future__ import annotations

import logging
import sys
from functools import cache, lru_cache

import numpy as np

from mobai.engine.asks import Resolution
from mobai.engine.engine import Engine
from mobai.engine.evidence import WORTH_COMPILING
from mobai.engine.explain import explain
from mobai.engine.paired import PairedEngine
from mobai.errors import InputError
from mobai.kernels import interpreted
from mobai.kernels.evidence.limits import look_at_limits
from mobai.kernels.jit.cache import is_cold
from mobai.problem import Design, Problem
from mobai.rules.sampling.base import CompiledRule, SamplingRule
from mobai.rules.sampling.race import Race
from mobai.rules.sampling.uniform import Uniform
from mobai.rules.stopping import GLR, Paired

_log = logging.getLogger(__name__)
_RATIO = "above/below:bounded=0..1/0..1"


def kernels_are_cold() -> bool:
    """Whether kernels have to be compiled, which takes most of a minute."""
    return not interpreted() and is_cold()


@cache
def announce_compiling() -> None:
    """Tell whoever watches, or reads the log, that the first use on a machine takes a while."""
    if sys.stderr is not None and kernels_are_cold():
        sys.stderr.write("mobai: compiling, once on this machine: that takes about 40 s (`mobai warm` does it ahead)\n")


def warm_up(rule: SamplingRule) -> None:
    """Compile, or load from the cache, every kernel that an experiment with this rule calls."""
    if interpreted():
        return
    if isinstance(rule, CompiledRule):
        _play(rule)
    elif isinstance(rule, Race):
        warm_up_races()


@lru_cache(maxsize=64)
def _play(rule: SamplingRule) -> None:
    """Run a toy experiment to its first choice after the opening."""
    _log.info("loading or compiling the kernels of %s", rule.name)
    objectives = ["one:gaussian=1", "two:shared-variance", "three:bernoulli", "four:p50:bounded=0..9:bins=4", _RATIO]
    for guardrails in ([], ["three:at-most=0.5:eps=0.1"]):
        problem = Problem(2, objectives, guardrails=guardrails, baseline="arm 0")
        engine = Engine(problem, rule, GLR(reserve=0.1), log_inv_delta=1e-3, rare=0.02, follows_health=True)
        rng = np.random.default_rng(0)
        for step in range(16):
            arm = engine.choose(rng) if step == 2 else step % 2
            third = float(bool(guardrails) or step % 3 == 0)
            engine.tell(engine.ask(arm), [float(step), float(step), third, float(step), float(step)])
        engine.verdict(contention=True)
        engine.intervals()
        engine.forecast()
        engine.differences()
        explain(engine, 1e-3, rng)
        look_at_limits(engine.observations.arrays)


@cache
def warm_up_races() -> None:
    """Compile, or load from the cache, every kernel that experiments on items and in rounds call."""
    metrics, limits = ["a:bernoulli", "b:gaussian=1", "c:unknown-variance"], ["d:bernoulli:at-most=0.5"]
    problem = Problem(2, metrics, baseline="arm 0", design=Design("stream"), guardrails=limits)
    engine, rng = PairedEngine(problem, Paired(), log_inv_delta=1.0, ahead=None), np.random.default_rng(0)
    for step in range(8):
        engine.tell(engine.ask(engine.choose(rng)), [float(step % 2), float(step), float(step), 0.0])
    engine.verdict(contention=True)
    engine.intervals()
    engine.standings()


def warm_up_following() -> None:
    """Compile, or load from the cache, what reads long journals."""
    problem = Problem(2, ["one:bernoulli"])
    engine = Engine(problem, Uniform(), GLR(reserve=0.1), log_inv_delta=1.0, follows_health=True)
    for _ in range(WORTH_COMPILING):
        engine.hear([Resolution(engine.ask(0), [1.0])])
    engine.catch_up()


def check_rule(rule: SamplingRule, problem: Problem) -> None:
    """Try a rule of somebody's own on made-up rewards; InputError, in one line, if it cannot choose."""
    if type(rule).__module__.startswith("mobai."):
        return
    low, width = problem.ranges
    rng = np.random.default_rng(0)
    try:
        engine = Engine(problem, rule, GLR(), log_inv_delta=1.0)
        for step in range(problem.shape[0] + 8):
            arm = engine.choose(rng)
            if not isinstance(engine.memory, tuple) or not all(isinstance(x, np.ndarray) for x in engine.memory):
                raise InputError(
                    "rule", f"the memory of {rule.name} must be a tuple of arrays, () for none, not {engine.memory!r}"
                )
            engine.tell(engine.ask(arm), (low + (step % 2) * width) * problem.signs)
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError("rule", f"{rule.name} failed: {type(error).__name__}: {reason}") from error
