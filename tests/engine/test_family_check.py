"""A family that visibly does not hold is not called certified."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mobai import Engine, Policy, Problem, Session, Uniform

Draw = Callable[[np.random.Generator, int], float]


def run(objective: str, draw: Draw, seed: int = 0, pulls: int = 2000, until_decided: bool = True) -> Session:
    session, rng = Policy().start(Problem(2, [objective]), seed=seed), np.random.default_rng(seed)
    for _ in range(pulls):
        arm = session.ask()
        session.tell(arm, [draw(rng, arm)])
        if until_decided and session.engine.stopped(-np.log(0.05)):
            break
    return session


def coin(rng: np.random.Generator, arm: int) -> float:
    return float(rng.random() < (0.9, 0.9)[arm])


def test_coins_are_not_gaussian() -> None:
    """Runs of equal rewards look like no noise: at equal arms, wrong decisions are frequent, and none is certified."""
    decided = certified = 0
    for seed in range(60):
        verdict = run("x:unknown-variance", coin, seed, pulls=200).verdict(0.05)
        decided += verdict.stopped
        certified += verdict.stopped and verdict.certified
    assert decided > 15
    assert certified == 0


@pytest.mark.parametrize(
    ("draw", "advice"),
    [
        (coin, "use bernoulli"),
        (lambda rng, _: float(rng.integers(1, 4)), "use bounded=LOW..HIGH"),
        (lambda rng, _: float(rng.exponential(30.0) * (rng.random() < 0.1)), "use bounded=LOW..HIGH"),
        (lambda rng, _: min(rng.normal(50, 10), 55.0), "use bounded=LOW..HIGH"),
    ],
    ids=["clicks", "ratings", "revenue", "timeouts"],
)
def test_what_repeats_is_of_another_kind(draw: Draw, advice: str) -> None:
    verdict = run("x:min:unknown-variance", draw, pulls=60, until_decided=False).verdict(0.05)
    assert not verdict.certified
    assert verdict.remarks[0].startswith("not certified: 'x': ")
    assert advice in verdict.remarks[0]
    assert advice in str(verdict)


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_rounded_times_are_gaussian(digits: int) -> None:
    """Milliseconds, sd 20: some are equal. The share of false alarms is small at any time."""
    alarms = looks = 0
    for seed in range(20):
        session, rng = (
            Policy(Uniform()).start(Problem(3, ["x:unknown-variance"]), seed=seed),
            np.random.default_rng(seed),
        )
        for step in range(600):
            arm = session.ask()
            session.tell(arm, [round(rng.normal(200, 20), digits)])
            if step % 40 == 39:
                looks += 1
                alarms += not session.verdict(0.05).certified
    assert alarms <= 0.05 * looks


def test_scatter_beyond_the_stated_sd() -> None:
    verdict = run("x:gaussian=1", lambda rng, _: rng.normal(80, 20), pulls=20, until_decided=False).verdict(0.05)
    assert not verdict.certified
    assert "times as much as the sd stated; use unknown-variance or a larger sd" in verdict.remarks[0]


@pytest.mark.parametrize("objective", ["x:gaussian=1", "x:subgaussian=1", "x:bounded=-99..99", "x:unknown-variance"])
def test_families_that_hold_raise_no_alarm(objective: str) -> None:
    for seed in range(10):
        session = run(objective, lambda rng, _: rng.normal(), seed, pulls=500, until_decided=False)
        assert session.verdict(0.05).certified


def test_coins_are_subgaussian() -> None:
    assert run("x:subgaussian=0.5", coin, pulls=300, until_decided=False).verdict(0.05).certified


def test_arms_added_later_are_followed() -> None:
    from mobai import GLR

    engine = Engine(Problem(2, ["x:unknown-variance"]), Uniform(), GLR(reserve=0.1), log_inv_delta=3.0)
    engine.add_arm(Problem(3, ["x:unknown-variance"]))
    rng = np.random.default_rng(0)
    for step in range(30):
        engine.ask(step % 3)
        engine.tell(step % 3, [1.0 if step % 3 == 2 else rng.normal()])
    assert "9 of 27 rewards equal the one before" in engine.verdict().remarks[0]
