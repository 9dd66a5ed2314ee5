"""Experiments with limits: who is barred, what is decided, and that nothing changes without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mobai import GLR, InputError, Instance, Policy, Problem, TopTwo, Uniform, simulate
from mobai.engine import Engine, Session
from mobai.kernels.stats.observations import LimitState
from mobai.lab.environment import Environment
from mobai.problem.guardrail import NOBODY
from mobai.rules.stopping.roster import Roster
from mobai.theory.intervals import Intervals, confidence_intervals, fit_to_limits

CLICK, ERRORS = [0.2, 0.6, 0.45, 0.3], [0.02, 0.4, 0.03, 0.02]
GUARDRAIL = "errors:bernoulli:at-most=0.1:eps=0.1"


def instance(errors: list[float] = ERRORS, **options: Any) -> Instance:
    means = np.array([CLICK[: len(errors)], errors]).T
    return Instance(means, objectives=["click:bernoulli"], guardrails=[GUARDRAIL], **options)


def play(truth: Instance, delta: float = 0.1, focus: bool = True, most: int = 20_000, seed: int = 0) -> Session:
    session = Policy(TopTwo()).start(truth.problem, seed=seed, focus=delta if focus else None)
    environment = Environment(truth, seed)
    while not session.engine.stopped(-np.log(delta)) and session.observations.told < most:
        arm = session.ask()
        session.tell(arm, environment.pull(arm))
    return session


def test_the_best_of_those_that_keep_the_limit() -> None:
    session = play(instance())
    verdict = session.verdict(0.1)
    assert verdict.answers == ("arm 2",)
    assert [verdict.limit_status(0, i) for i in (1, 2)] == ["broken", "kept"]
    assert session.engine.barred.tolist() == [False, True, False, False]
    assert session.intervals(0.1).lower.shape == (4, 2)


def test_intervals_agree_with_what_is_said_of_limits() -> None:
    engine = play(instance()).engine
    problem, limits = engine.problem, engine.limits(np.log(10))
    found = engine.intervals(np.log(10))
    alone = confidence_intervals(problem, engine.observations, engine._evidence.changing.interval_levels(np.log(10)))
    m = problem.metric_names.index("errors")
    for i, state in enumerate(limits[0]):
        if state == LimitState.BROKEN:
            assert found.lower[i, m] >= 0.1
        if state == LimitState.KEPT:
            assert found.upper[i, m] <= 0.2
    assert (found.lower[:, m] > alone.lower[:, m]).any() or (found.upper[:, m] < alone.upper[:, m]).any()
    assert ((found.lower >= alone.lower) & (found.upper <= alone.upper)).all()


def test_limits_cut_intervals_on_their_own_side_only() -> None:
    problem = Problem(3, ["x:bernoulli"], guardrails=["y:bounded=0..10:at-least=4:eps=1"])
    lower, upper = np.array([[0.0, 1.0]] * 3), np.array([[1.0, 9.0]] * 3)
    upper[2, 1] = 3.5  # nothing of it keeps the limit, which it is said to keep
    states = [[LimitState.KEPT, LimitState.BROKEN, LimitState.BROKEN]]
    found = fit_to_limits(problem, Intervals(lower, upper, np.zeros(1, bool), True), states)
    assert found.lower[:, 1].tolist() == [3.0, 1.0, 1.0]
    assert found.upper[:, 1].tolist() == [9.0, 4.0, 3.5]


def test_a_barred_arm_is_asked_for_no_more() -> None:
    session = play(instance())
    before = session.observations.asked[1]
    assert session.engine.barred[1]
    for _ in range(50):
        arm = session.ask()
        assert arm != 1
        session.tell(arm, [0, 0])
    assert session.observations.asked[1] == before


def test_told_of_only() -> None:
    truth = instance()
    engine = Engine(truth.problem, Uniform(), GLR(), log_inv_delta=np.log(10), bars_broken=False)
    environment, rng = Environment(truth), np.random.default_rng(0)
    for _ in range(400):
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), environment.pull(arm))
    assert engine.limits()[0][1] == 2
    assert not engine.barred.any()
    assert engine.observations.asked.tolist() == [100] * 4


def test_nobody_qualifies() -> None:
    session = play(instance([0.5, 0.6, 0.55]))
    verdict = session.verdict(0.1)
    assert verdict.stopped
    assert verdict.recommended == (NOBODY,)
    assert verdict.answers == ("none qualifies",)
    assert "none qualifies" in str(verdict)
    with pytest.raises(InputError, match="every arm breaks a limit, and there is none to ask for"):
        session.ask()


def test_one_arm_is_left() -> None:
    """All others break the limit: only whether the last one keeps it is still to be shown."""
    session = play(instance([0.5, 0.6, 0.05]))
    assert session.verdict(0.1).answers == ("arm 2",)


def test_a_margin_against_a_baseline() -> None:
    truth = Instance(
        [[0.0, 10.0], [1.0, 16.0], [0.6, 11.0]],
        arms=["control", "B", "C"],
        objectives=["value:gaussian=1"],
        guardrails=["latency:min:gaussian=2:within=3:of=control:eps=1"],
    )
    session = play(truth)
    verdict = session.verdict(0.1)
    assert verdict.answers == ("C",)
    assert [verdict.limit_status(0, i) for i in range(3)] == ["-", "broken", "kept"]
    with pytest.raises(InputError, match="'control' is what others are compared with"):
        Engine(truth.problem, TopTwo(), GLR(reserve=0.1), log_inv_delta=1.0).retire_arm(0)


def test_a_baseline_is_not_barred() -> None:
    truth = instance([0.5, 0.02, 0.02], baseline="arm 0")
    session = play(truth)
    assert session.verdict(0.1).limit_status(0, 0) == "broken"
    assert not session.engine.barred.any()


@pytest.mark.parametrize("rule", ["top-two", "mo-bai", "track-and-stop", "uniform", "frank-wolfe", "d-tracking"])
def test_every_rule(rule: str) -> None:
    results = simulate(instance(), rule, deltas=[0.1], trials=2, focus=True, max_pulls=5000)
    assert results.complete
    for row in results:
        assert row["stopped"]
        assert row["correct"]


def test_nobody_in_simulations() -> None:
    results = simulate(instance([0.5, 0.6]), "top-two", deltas=[0.1], trials=3, focus=True, max_pulls=5000)
    assert {(row["answer: click"], row["correct"]) for row in results} == {("none qualifies", True)}


def test_one_trajectory_answers_every_delta() -> None:
    """Sampled without focus, the decisions at several deltas are those of engines with that delta alone."""
    truth = instance()
    deltas = [0.3, 0.1, 0.01]
    session = Policy(Uniform()).start(truth.problem, seed=1)
    engines = [
        Engine(truth.problem, Uniform(), GLR(), log_inv_delta=-np.log(delta), bars_broken=False) for delta in deltas
    ]
    environment = Environment(truth, 1)
    for _ in range(3000):
        arm = session.ask()
        rewards = environment.pull(arm)
        session.tell(arm, rewards)
        for engine in engines:
            engine.tell(engine.ask(arm), rewards)
    for delta, engine in zip(deltas, engines, strict=True):
        assert session.verdict(delta).decisions == engine.verdict().decisions
        assert session.verdict(delta).decisions[0] is not None


def test_permuted_arms_permute_the_answer() -> None:
    truth = instance()
    order = [2, 0, 3, 1]
    permuted = Instance(truth.means[order], objectives=["click:bernoulli"], guardrails=[GUARDRAIL])
    found = []
    for one, places in ((truth, range(4)), (permuted, np.argsort(order))):
        session = Policy(Uniform()).start(one.problem, seed=1)
        rng = np.random.default_rng(2)
        rewards = (rng.random((4, 500, 2)) < truth.means[:, None]).astype(float)
        for n in range(500):
            for arm, place in enumerate(places):
                session.record(int(place), rewards[arm, n])
        verdict = session.verdict(0.1)
        found.append((verdict.evidence[0], [verdict.limits[0][place] for place in places]))
    assert found[0] == found[1]


def test_other_thresholds_are_refused() -> None:
    for stopping in (GLR("empirical"), GLR("theory"), GLR("mixture", at_once=True)):
        with pytest.raises(InputError, match=r"is not proven for guardrails|is proven for"):
            Policy(Uniform(), stopping).start(instance().problem, seed=1).verdict(0.1)


def test_arms_that_come_pay_for_their_limits() -> None:
    """The level of an added arm: its share of the reserve, over its pairs and its limits."""
    problem = instance().problem
    own, start = 1 * 4 + 1, 3 + 4  # pairs with four arms and one limit; three pairs and four limits
    expected = np.log(own / start * 0.9 / 0.1 * np.pi**2 / 3)
    roster = Roster.of(problem, np.ones(5, np.bool_), 0.1)
    assert roster.surcharges[4] == pytest.approx(expected)
    plain = Roster.of(Problem(4, 1, 1.0), np.ones(5, np.bool_), 0.1)
    assert plain.surcharges[4] == pytest.approx(np.log(4 / 3 * 9 * np.pi**2 / 3))


def test_the_price() -> None:
    """VALIDITY's figure: 0.34 nats at K = 6, M = 3 with one guardrail."""
    plain = Problem(6, ["a:gaussian=1", "b:gaussian=1", "c:gaussian=1"])
    guarded = Problem(6, plain.objectives, guardrails=["x:gaussian=1:at-most=0:eps=1"])
    compared = Problem(6, plain.objectives, baseline="arm 0")
    levels = [GLR().level(problem, 3.0) for problem in (plain, guarded, compared)]
    assert levels[1] - levels[0] == pytest.approx(np.log((15 + 6) / 15))
    assert levels[2] - levels[0] == pytest.approx(np.log(2))


@pytest.mark.parametrize("objective", ["click:bernoulli", "latency:min:unknown-variance"])
def test_no_arm_is_starved_by_a_margin(objective: str) -> None:
    """One reward of unknown variance says nothing, however often the other arm of the margin is asked for."""
    family = "" if objective.startswith("latency") else ":unknown-variance"
    guardrails = [f"latency:min{family}:within=5:of=control:eps=1"]
    problem = Problem(["control", "B", "C"], [objective], guardrails=guardrails)
    for seed in range(6):
        session, rng = Policy().start(problem, seed=seed), np.random.default_rng(seed)
        for _ in range(300):
            arm = session.ask()
            rewards = {"click": float(rng.random() < [0.3, 0.6, 0.4][arm]), "latency": rng.normal(100, 10)}
            session.tell(arm, {name: rewards[name] for name in problem.metric_names})
        assert session.observations.asked.min() >= 10
