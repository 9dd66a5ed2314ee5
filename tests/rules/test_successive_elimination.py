"""Successive elimination, by the specification."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.rules.instances import FOUR_ARMS

from mobai import (
    GLR,
    InputError,
    Instance,
    Policy,
    SuccessiveElimination,
    Uniform,
    simulate,
)
from mobai.lab.environment import Environment
from mobai.lab.trial import run_trial
from mobai.rules.stopping import Elimination


@pytest.mark.parametrize("as_printed", [False, True])
def test_successive_elimination_by_the_specification(as_printed: bool) -> None:
    """Algorithm 4 of the paper, written out with all rewards kept in lists."""
    policy, delta = Policy(SuccessiveElimination(0.2, as_printed)), 0.2
    world, rewards, t, answers, sequence = Environment(FOUR_ARMS, 5), [[] for _ in range(4)], 0, [], []  # type: ignore[var-annotated]
    for m in range(2):
        alive = [0, 1, 2, 3]
        while len(alive) > 1:
            for i in alive:
                rewards[i].append(world.pull(i))
                sequence.append(i)
            t += len(alive)
            means = [np.mean([reward[m] for reward in arm]) for arm in rewards]
            counts = [t if as_printed else len(arm) for arm in rewards]
            alpha = [math.sqrt(2 * math.log(4 * 2 * 4 * n**2 / delta) / n) for n in counts]
            b = max(alive, key=lambda i: means[i])
            alive = [i for i in alive if means[b] - means[i] <= alpha[b] + alpha[i]]
        answers.append((alive[0], t))
    session, world = policy.start(FOUR_ARMS.problem), Environment(FOUR_ARMS, 5)
    for expected in sequence:
        assert not session.verdict(delta).stopped
        arm = session.ask()
        assert arm == expected
        session.tell(arm, world.pull(arm))
    verdict = session.verdict(delta)
    assert verdict.stopped
    assert [(decision.arm, decision.pull) for decision in verdict.decisions if decision] == answers
    assert verdict.certified == (not as_printed)


def test_the_printed_radius_errs_several_times_delta_and_the_repaired_one_does_not() -> None:
    """K=20, M=10, gaps from 0.5 to 1, delta = 0.1, 60 trials; the 95 % intervals lie on either side of delta."""
    means = np.random.default_rng(0).uniform(0, 0.5, (20, 10))
    instance = Instance(np.where(np.eye(20, 10), 1.0, means))
    rules = [SuccessiveElimination(0.1, as_printed) for as_printed in (True, False)]
    printed, repaired = simulate(instance, rules, deltas=0.1, trials=60, max_pulls=100_000).summary()
    assert printed.error_interval[0] > 0.3
    assert repaired.error_interval[1] < 0.1
    assert not printed.certified
    assert repaired.certified


def test_successive_elimination_bears_answers_out_of_order() -> None:
    session, world = Policy(SuccessiveElimination(0.1)).start(FOUR_ARMS.problem), Environment(FOUR_ARMS)
    rng, open_asks = np.random.default_rng(0), [session.ask() for _ in range(5)]
    while not session.verdict(0.1).stopped and session.observations.told < 20_000:
        arm = open_asks.pop(int(rng.integers(len(open_asks))))
        session.tell(arm, world.pull(arm))
        open_asks.append(session.ask())
    assert session.verdict(0.1).recommended == (0, 1)
    assert session.verdict(0.1).stopped


def test_a_rule_that_stops_by_itself_takes_no_other_stopping_rule() -> None:
    rule = SuccessiveElimination(0.1)
    assert Policy(rule).stopping == Elimination(0.1)
    with pytest.raises(InputError, match="stopping must be left out: successive-elimination stops by itself"):
        Policy(rule, GLR())
    with pytest.raises(InputError, match=r"was set up for 0.1 and can answer no other, not 0.05"):
        Policy(rule).start(FOUR_ARMS.problem).verdict(0.05)


def test_elimination_stops_any_rule() -> None:
    """Its radii hold for all numbers of rewards, whoever asked for them."""
    trial = run_trial(FOUR_ARMS, Policy(Uniform(), Elimination(0.1)), 0.1, seed=1)
    assert trial.verdict.stopped
    assert trial.verdict.recommended == tuple(FOUR_ARMS.best_arms)
    assert not trial.intervals.fitted
