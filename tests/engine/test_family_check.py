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
    assert decided > 2
    assert certified == 0


@pytest.mark.parametrize(
    ("draw", "advice"),
    [
        (coin, "begin a new experiment with bernoulli"),
        (lambda rng, _: float(rng.integers(1, 4)), "bounded=LOW..HIGH"),
        (lambda rng, _: float(rng.exponential(30.0) * (rng.random() < 0.1)), "bounded=LOW..HIGH"),
        (lambda rng, _: min(rng.normal(50, 10), 51.0), "bounded=LOW..HIGH"),
    ],
    ids=["clicks", "ratings", "revenue", "timeouts"],
)
def test_what_repeats_is_of_another_kind(draw: Draw, advice: str) -> None:
    verdict = run("x:min:unknown-variance", draw, pulls=400, until_decided=False).verdict(0.05)
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


@pytest.mark.parametrize("digits", [0, 1])
def test_arms_that_scatter_differently_are_gaussian(digits: int) -> None:
    """Token counts: whole numbers, an arm with a seventh of another's scatter repeats seven times as often."""
    alarms = 0
    for seed in range(15):
        session, rng = (
            Policy(Uniform()).start(Problem(4, ["x:unknown-variance"]), seed=seed),
            np.random.default_rng(seed),
        )
        for _ in range(800):
            arm = session.ask()
            session.tell(arm, [round(rng.normal(300, (27, 135, 210, 39)[arm]), digits)])
        alarms += not session.verdict(0.05).certified
    assert alarms <= 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, arm: round(rng.normal(0, (5, 50)[arm])),
        lambda rng, arm: round(rng.normal(0, 5), (0, 2)[arm]),
        lambda rng, _: float(f"{rng.normal(1000, 50):.3g}"),
        lambda rng, _: round(rng.normal(3, 1), 1) - round(rng.normal(2, 1), 1),
        lambda rng, _: round(rng.normal(3, 1), 2) + round(rng.normal(2, 1), 2),
        lambda rng, _: round(rng.normal(0, 10)) + 0.5 * (rng.random() < 0.05),
    ],
    ids=["sds 5 and 50", "two grids", "three digits", "difference", "sum", "half units"],
)
def test_rounding_of_any_kind_raises_no_alarm(draw: Draw) -> None:
    alarms = 0
    for seed in range(20):
        session, rng = (
            Policy(Uniform()).start(Problem(2, ["x:unknown-variance"]), seed=seed),
            np.random.default_rng(seed),
        )
        for _ in range(300):
            arm = session.ask()
            session.tell(arm, [float(draw(rng, int(arm)))])
        alarms += not session.verdict(0.05).certified
    assert alarms <= 1


@pytest.mark.parametrize("values", [[0, 1], [1, 5, 4, 5, 3], [1, 1, 0]])
def test_the_order_of_a_batch_does_not_matter(values: list[float]) -> None:
    """Sorted, alternating or shuffled, a batch of another kind is seen for what it is; Gaussian integers are not."""
    from mobai import Experiment
    from mobai.store.journal import MemoryJournal

    rng = np.random.default_rng(0)
    for data, holds in ((np.resize(values, 80).astype(float), False), (np.round(rng.normal(50, 5, 80)), True)):
        for order in (data, np.sort(data), rng.permutation(data)):
            test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["x:unknown-variance"])
            test.record_all([(arm, {"x": float(value)}) for arm in "AB" for value in order])
            assert test.verdict().certified == holds


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
        engine.tell(engine.ask(step % 3), [1.0 if step % 3 == 2 else rng.normal()])
    assert "9 of 27 rewards equal the one before" in engine.verdict().remarks[0]
