"""Confidence sequences: by their definition, against the truth, and beside the decisions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.lab.test_trajectory import MIXED

from mobai import GLR, InputError, Instance, Policy, Problem
from mobai.lab.environment import Environment
from mobai.problem import FloatArray
from mobai.rules.stopping import ArmsMayChange
from mobai.rules.stopping.roster import Roster
from mobai.theory.intervals import IntervalLevels, confidence_intervals
from mobai.theory.observations import Observations

# Of 100 sequences: how often the interval of an arm ever leaves out its mean, at a share of a quarter and of a half.
MISSES = {
    "gaussian=1": (3, 14),
    "bernoulli": (2, 9),
    "bounded=0..1": (2, 8),
    "unknown-variance": (2, 7),
}


def wealth_of(weights: FloatArray, means: FloatArray, above: bool) -> FloatArray:
    """The log-wealth of bets that the mean is above or below each of these."""
    points = np.arange(len(weights)) / (len(weights) - 1)
    g, at = (points, means) if above else (1 - points, 1 - means)
    shares = 0.98 * 2.0 ** -np.arange(20)
    prior = 0.97 * np.exp(-np.arange(20) / 10) / np.exp(-np.arange(20) / 10).sum()
    logs = np.log1p(shares[:, None, None] * (g[None, None, :] / at[None, :, None] - 1)) @ weights
    return np.asarray(logsumexp([*(logs + np.log(prior)[:, None]), np.full(len(means), math.log(0.03))], axis=0))


def levels(problem: Problem, level: float, noise: float = 5.0) -> IntervalLevels:
    return IntervalLevels(np.full(problem.shape[0], level), noise)


@pytest.mark.parametrize(
    ("n", "level", "golden"),
    [(5, 7.6009024595, 2.11056537915), (3000, 9.9034875525, 0.0934882208041), (200_000, 6.907755279, 0.0103574243312)],
)
def test_golden_known_noise(n: int, level: float, golden: float) -> None:
    problem = Problem(2, 1, [[3.0], [1.0]])
    observations = Observations.of_statistics(problem, np.zeros((2, 1)), np.full((2, 1), n), np.zeros((2, 1)))
    found = confidence_intervals(problem, observations, levels(problem, level))
    assert found.upper[:, 0] == pytest.approx([3 * golden, golden], rel=1e-10)
    assert found.lower.tolist() == (-found.upper).tolist()


@pytest.mark.parametrize("direction", ["max", "min"])
def test_histograms_by_definition(direction: str) -> None:
    problem = Problem(3, [f"x:{direction}:bounded=1..5"])
    observations, level = Observations(problem), math.log(60)
    rewards = [[1.0, 2.0, 2.0, 3.0, 5.0] * 8, [3.0] * 30, [1.0] * 12]
    for arm, told in enumerate(rewards):
        for reward in told:
            observations.tell(arm, problem.orient(np.array([reward])))
    found = confidence_intervals(problem, observations, levels(problem, level))
    for arm, told in enumerate(rewards):
        weights = np.bincount(np.array(told, int) - 1, minlength=5).astype(float)

        def wealth(end: float, weights: FloatArray = weights) -> float:
            at = np.array([(end - 1) / 4])
            return float(np.logaddexp(wealth_of(weights, at, True), wealth_of(weights, at, False))[0] - math.log(2))

        for end in (found.lower[arm, 0], found.upper[arm, 0]):
            assert end == 1 or wealth(end) == pytest.approx(level, abs=1e-5)
        assert found.lower[arm, 0] < np.mean(told) < found.upper[arm, 0] or arm == 2
    assert found.lower[2, 0] == 1


def test_unknown_variance_by_definition() -> None:
    problem = Problem(2, ["x:unknown-variance"])
    rng, observations = np.random.default_rng(3), Observations(problem)
    for arm, count in ((0, 30), (1, 11)):
        for reward in rng.normal(arm, 1 + arm, count):
            observations.tell(arm, np.array([reward]))
    found = confidence_intervals(problem, observations, levels(problem, math.log(20)))
    for a in range(2):
        n, v = int(observations.pulls[a, 0]), float(observations.scatter[a, 0])
        d = float(found.upper[a, 0] - observations.means[a, 0])
        tests = []
        for c, weight in ((64.0, 0.4), (4.0, 0.3), (0.125, 0.3)):
            k = c / (n + c)
            own = n / 2 * math.log((v + n * d * d) / (v + k * n * d * d)) - 0.5 * math.log1p(n / c)
            tests.append(math.exp(own) * weight)
        # The sharpest of the three widths is at its level.
        assert max(tests) == pytest.approx(20, rel=1e-6)


def test_shares_of_delta() -> None:
    """All intervals and decisions together, as arms come: no more than delta is given away."""
    problem, delta = Problem(4, 3, 1.0), 0.05
    for rule in (GLR(), GLR(reserve=0.1), GLR(interval_share=0.5), GLR(reserve=0.2, interval_share=0.01)):
        monitor = rule.start(problem)
        assert isinstance(monitor, ArmsMayChange)
        given = 3 * 3 * math.exp(-rule.level(problem, -math.log(delta))) / (1 - rule.reserve)
        given += 3 * float(np.exp(-monitor.interval_levels(-math.log(delta)).arms).sum())
        if rule.reserve:
            roster = Roster(4, np.ones(10_004, np.bool_), rule.reserve)
            given += 3 * float(np.exp(-roster.interval_levels(-math.log(delta), 3, rule.interval_share)[4:]).sum())
        assert 0.99 * delta < given <= delta * (1 + 1e-9)
        assert rule.reached(problem, rule.level(problem, 2.5)) == pytest.approx(2.5)


def test_a_larger_share_makes_narrower_intervals_and_later_decisions() -> None:
    problem, found = Problem(2, 1, 1.0), []
    for share in (0.001, 0.1, 0.9):
        session = Policy(stopping=GLR(interval_share=share)).start(problem, seed=1)
        for n in range(40):
            session.record(n % 2, [0.5 * (n % 2)])
        wide = session.intervals(0.05)
        found.append((float(wide.upper[0, 0] - wide.lower[0, 0]), float(session.verdict(0.05).threshold[0])))
    widths, levels = zip(*found, strict=True)
    assert widths[0] > widths[1] > widths[2]
    assert levels[0] < levels[1] < levels[2]
    with pytest.raises(InputError, match=r"interval_share must be a number from 1e-100 to 0\.9, not 1"):
        GLR(interval_share=1)
    with pytest.raises(InputError, match=r"interval_share must be 0\.1, not 0\.2"):
        GLR("empirical", interval_share=0.2)


def test_silent_arms_have_no_interval() -> None:
    problem = Problem(2, ["a:gaussian=1", "b:bernoulli", "c:unknown-variance"])
    found = confidence_intervals(problem, Observations(problem), levels(problem, 1.0))
    assert found.lower.tolist() == [[-math.inf, 0, -math.inf]] * 2
    assert found.upper.tolist() == [[math.inf, 1, math.inf]] * 2


def test_they_never_contradict_a_decision() -> None:
    """Over whole runs with every family: no arm reaches higher than the one decided on, plus eps."""
    delta, decided = 0.5, []
    for run in range(4):
        session, world = Policy().start(MIXED.problem, seed=run), Environment(MIXED, seed=run)
        for step in range(2000):
            arm = session.ask()
            session.tell(arm, world.pull(arm))
            if step % 50 == 0:
                found, verdict = session.intervals(delta), session.verdict(delta)
                assert (found.lower <= found.upper).all()
                for m, decision in enumerate(verdict.decisions):
                    if decision is not None:
                        sign = MIXED.problem.signs[m]
                        top = (found.upper if sign > 0 else -found.lower)[decision.arm, m] + MIXED.problem.eps[m]
                        assert ((found.upper if sign > 0 else -found.lower)[:, m] <= top + 1e-12).all()
        decided.append(sum(decision is not None for decision in verdict.decisions))
    assert decided == [2, 2, 4, 4]


def left_out(family: str, level: float) -> int:
    """Return in how many of 100 seeded sequences the interval of an arm ever leaves out its mean."""
    problem, misses = Problem(2, [f"x:{family}"]), 0
    for run in range(100):
        rng, observations = np.random.default_rng(run), Observations(problem)
        for step in range(120):
            draws = {"bernoulli": float(rng.random() < 0.3), "bounded=0..1": rng.beta(2, 2)}
            observations.tell(step % 2, np.array([draws.get(family, rng.normal(0.5))]))
            if step % 8 == 1:
                found = confidence_intervals(problem, observations, levels(problem, level))
                if not found.lower[0, 0] <= (0.3 if family == "bernoulli" else 0.5) <= found.upper[0, 0]:
                    misses += 1
                    break
    return misses


@pytest.mark.parametrize("family", MISSES)
def test_how_often_the_truth_is_left_out(family: str) -> None:
    """At most a quarter of the time, with a share of a quarter. Twice the share is told from it by the count."""
    assert (left_out(family, math.log(4)), left_out(family, math.log(2))) == MISSES[family]


def test_a_contradiction_is_flagged() -> None:
    """Drift after a decision: the interval collapses onto the verdict and says so."""
    session = Policy().start(Problem(2, 1, 1.0), seed=0)
    while not session.verdict(0.1).stopped:
        arm = session.ask()
        session.tell(arm, [3.0 * arm])
    assert not session.intervals(0.1).contradicted[0]
    for _ in range(400):
        arm = session.ask()
        session.tell(arm, [-3.0 * arm])
    found = session.intervals(0.1)
    assert session.verdict(0.1).answers == ("arm 1",)
    assert found.contradicted[0]
    assert (found.lower <= found.upper).all()
    assert found.upper[1, 0] >= found.upper[0, 0] - 1e-12


def test_intervals_shrink_with_delta() -> None:
    session, world = Policy().start(MIXED.problem, seed=0), Environment(MIXED)
    for _ in range(200):
        arm = session.ask()
        session.tell(arm, world.pull(arm))
    narrow, wide = session.intervals(0.5), session.intervals(log_inv_delta=700.0)
    assert (wide.lower <= narrow.lower).all()
    assert (wide.upper >= narrow.upper).all()
    assert np.isfinite(narrow.upper).all()


def test_one_arm_of_its_noise() -> None:
    world = Instance([[1.0], [0.0], [0.5]], sd=[[1.0], [2.0], [3.0]])
    session, rewards = Policy().start(world.problem, seed=0), Environment(world)
    for _ in range(30):
        arm = session.ask()
        session.tell(arm, rewards.pull(arm))
    found = session.intervals(0.1)
    assert ((found.lower < world.means) & (world.means < found.upper)).all()
