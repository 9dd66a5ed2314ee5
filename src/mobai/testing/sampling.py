"""The conformance suite of sampling rules."""

from __future__ import annotations

import math
import pickle
from typing import cast

import numpy as np

from mobai.engine import Policy, Session
from mobai.errors import InputError
from mobai.lab.trajectory import TrialSpec, run_compiled, run_stepwise
from mobai.problem import Instance, Problem
from mobai.rules.sampling.base import CompiledRule, SamplingRule

# Uniform sampling takes some 200 pulls of this.
_MOST_WITH_LIMITS, _DELTA = 4_000, 0.1


def check_sampling_rule(rule: SamplingRule, pulls: int = 60) -> None:
    """Run a rule through what every sampling rule must satisfy; raises AssertionError with the reason otherwise.

    It opens with every arm once in order; asks only for arms that exist; is a function of problem, memory, observations
    and random generator alone and leaves all but the generator unchanged; keeps going with answers outstanding,
    with every reward equal, and with two arms or one objective. Its memory can be pickled. Where the best arm breaks a
    limit, it comes to an end, or refuses limits in a sentence. If it is compiled, whole trials are the same as choosing
    arm by arm.
    """
    assert isinstance(rule, SamplingRule), f"{rule!r} needs name, init and choose"
    for shape in ((2, 1), (3, 2), (4, 6)):
        problem = Problem(*shape, 1.0)
        _opens_with_every_arm(rule, problem)
        _repeats_itself(rule, problem, pulls)
        _leaves_its_inputs_alone(rule, problem)
        _bears_delays(rule, problem, pulls)
        _bears_ties(rule, problem, pulls)
    _ends_with_limits(rule)
    if isinstance(rule, CompiledRule):
        _plays_as_it_chooses(rule, pulls)


def _noise(problem: Problem) -> np.random.Generator:
    return np.random.default_rng([7, *problem.shape])


def _drive(session: Session, pulls: int, noise: np.random.Generator) -> list[int]:
    arms: list[int] = []
    for _ in range(pulls):
        arm = session.ask()
        session.tell(arm, noise.standard_normal(session.problem.shape[1]) + arm)
        arms.append(arm)
    return arms


def _opens_with_every_arm(rule: SamplingRule, problem: Problem) -> None:
    arms = _drive(Policy(rule).start(problem, seed=1), problem.shape[0], _noise(problem))
    assert arms == list(range(problem.shape[0])), f"{rule.name} must first ask for every arm once in order, not {arms}"


def _repeats_itself(rule: SamplingRule, problem: Problem, pulls: int) -> None:
    runs = [_drive(Policy(rule).start(problem, seed=1), pulls, _noise(problem)) for _ in range(2)]
    assert runs[0] == runs[1], f"{rule.name} must choose the same arms from the same seed and rewards"
    assert set(runs[0]) <= set(range(problem.shape[0])), f"{rule.name} asked for an arm that does not exist"


def _leaves_its_inputs_alone(rule: SamplingRule, problem: Problem) -> None:
    session = Policy(rule).start(problem, seed=1)
    _drive(session, 3 * problem.shape[0], _noise(problem))
    memory, observations = session.engine.memory, session.engine.sampling.observations
    before = pickle.dumps((memory, observations.state()))
    rule.choose(problem, memory, observations, np.random.default_rng(1))
    same = pickle.dumps((memory, observations.state())) == before
    assert same, f"{rule.name} must not change its memory or the observations in place"


def _bears_delays(rule: SamplingRule, problem: Problem, pulls: int) -> None:
    """Answers come in late, out of order, and the last ones never."""
    session, noise = Policy(rule).start(problem, seed=2), _noise(problem)
    open_asks: list[int] = []
    for step in range(pulls):
        open_asks.append(session.ask())
        if step >= 7:
            arm = open_asks.pop(step % len(open_asks))
            session.tell(arm, noise.standard_normal(problem.shape[1]))
    seen = session.engine.sampling.observations
    assert seen.asked.sum() == pulls, f"{rule.name} lost count with answers outstanding"
    told = np.bincount(open_asks, minlength=problem.shape[0]) + seen.pulls[:, 0]
    assert (told == seen.asked).all(), f"{rule.name} miscounted with answers outstanding"


def _bears_ties(rule: SamplingRule, problem: Problem, pulls: int) -> None:
    session = Policy(rule).start(problem, seed=3)
    for _ in range(pulls):
        session.tell(session.ask(), np.ones(problem.shape[1]))
    assert session.observations.told == pulls, f"{rule.name} must go on when all rewards are equal"


def _ends_with_limits(rule: SamplingRule) -> None:
    """Of four arms, the two that look best break a limit: a rule that looks at objectives alone starves the others."""
    means = np.array([[3.0, 1.0], [2.9, 1.0], [1.0, -1.0], [0.0, -1.0]])
    problem = Problem(4, ["gain:gaussian=1"], guardrails=["harm:gaussian=1:at-most=0"])
    try:
        session = Policy(rule).start(problem, seed=4)
    except InputError:
        return
    noise = np.random.default_rng(8)
    for _ in range(_MOST_WITH_LIMITS):
        if session.verdict(_DELTA).stopped:
            return
        arm = session.ask()
        session.tell(arm, means[arm] + noise.standard_normal(2))
    raise AssertionError(
        f"{rule.name} must come to an end where the best arms break a limit: go by observations.leaders, which keep "
        "them, or refuse limits with an InputError"
    )


def _plays_as_it_chooses(rule: CompiledRule, pulls: int) -> None:
    policy = Policy(cast(SamplingRule, rule))
    instance = Instance([[0.5, 0.0], [0.0, 0.3], [0.2, 0.1]])
    level = -math.log(getattr(rule, "delta", 0.1))
    setting = TrialSpec(instance, policy.sampling, [policy.stopping], [level], max_pulls=pulls)
    one, two = run_compiled(setting, rule), run_stepwise(setting)
    for name in ("decided", "answers", "asked"):
        same = np.array_equal(getattr(one, name), getattr(two, name))
        assert same, f"{policy.sampling.name} must play whole trials as it chooses arm by arm"
