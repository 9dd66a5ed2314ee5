from __future__ import annotations

import numpy as np
import pytest

from mobai import GLR, InputError, Instance, Policy, Uniform
from mobai.engine import Session
from mobai.lab.environment import Environment
from mobai.lab.trial import is_correct, run_trial
from mobai.seeds import stream

WORLD = Instance([[1.0, 9.0], [0.0, 3.0]], sd=[1, 2], objectives=["x", "y:min"])


def test_environment_has_the_moments_of_the_instance() -> None:
    """20,000 pulls; each check is five standard errors wide (false alarm rate below 1e-5)."""
    world = Environment(WORLD, 0)
    rewards = np.array([world.pull(1) for _ in range(20_000)])
    assert rewards.mean(axis=0) == pytest.approx([0, 3], abs=5 * 2 / np.sqrt(20_000))
    assert rewards.std(axis=0) == pytest.approx([1, 2], rel=5 / np.sqrt(40_000))
    assert abs(np.corrcoef(rewards.T)[0, 1]) < 5 / np.sqrt(20_000)


def test_streams_are_named() -> None:
    draws = {stream(seed, *axes).random() for seed in (0, 1) for axes in (("a",), ("b",), ("a", 1), ("a", "1", 2))}
    assert len(draws) == 8


def test_a_trial() -> None:
    seen: list[int] = []
    trial = run_trial(WORLD, Policy(), 0.05, seed=4, watch=lambda session: seen.append(session.engine.told))
    assert trial.verdict.stopped
    assert trial.correct
    assert trial.pulls.sum() == trial.verdict.pulls == seen[-1] == len(seen)
    assert (run_trial(WORLD, Policy(), 0.05, seed=4).pulls == trial.pulls).all()


def test_giving_up() -> None:
    trial = run_trial(WORLD, Policy(Uniform(), GLR("theory")), 0.05, max_pulls=10)
    assert (trial.verdict.stopped, trial.verdict.pulls, trial.interrupted) == (False, 10, False)
    with pytest.raises(InputError, match="max_pulls must be at least 1"):
        run_trial(WORLD, Policy(), 0.05, max_pulls=0)


def test_ctrl_c_keeps_what_there_is() -> None:
    def interrupt(session: Session) -> None:
        if session.engine.told == 7:
            raise KeyboardInterrupt

    trial = run_trial(WORLD, Policy(), 1e-300, watch=interrupt)
    assert trial.interrupted
    assert trial.verdict.pulls == 7


def test_any_tied_best_arm_is_right() -> None:
    tied = Instance([[1.0], [1.0], [0.0]])
    session = Policy(Uniform()).start(tied.problem)
    for reward in ([0.0], [2.0], [0.0]):
        session.tell(session.ask(), reward)
    assert is_correct(tied, session.verdict(0.1))
    for reward in ([0.0], [0.0], [50.0]):
        session.tell(session.ask(), reward)
    assert not is_correct(tied, session.verdict(0.1))
