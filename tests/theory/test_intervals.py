"""Confidence sequences: by their definition, against the truth, and beside the decisions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betaln, xlogy
from scipy.stats import binomtest
from tests.lab.test_trajectory import MIXED

from mobai import Instance, Policy, Problem
from mobai.lab.environment import Environment
from mobai.theory.intervals import confidence_intervals
from mobai.theory.observations import Observations

WIDTHS = [8.0**k for k in range(-1, 6)]


def test_known_noise_by_definition() -> None:
    """At each end the pair's martingale, with the partner that allows most, equals the level."""
    problem = Problem(3, 1, [[1.0], [2.0], [2.0]])
    observations = Observations(problem)
    for arm, count in enumerate((5, 40, 12)):
        for _ in range(count):
            observations.tell(arm, np.array([float(arm)]))
    x = math.log(2 / 0.1)
    half = confidence_intervals(problem, observations, math.log(2 / 0.1)).upper[:, 0] - np.arange(3.0)

    def log_product(a: int, j: int) -> float:
        sd = problem.sd[:, 0]
        n_a, n_j = observations.pulls[a, 0] * sd[j] / sd[a], observations.pulls[j, 0] * sd[a] / sd[j]
        d = half[a] / math.sqrt(sd[a] * sd[j])
        terms = [math.exp(n_a**2 * d**2 / (2 * (n_a + c))) / math.sqrt((1 + n_a / c) * (1 + n_j / c)) for c in WIDTHS]
        return math.log(sum(terms) / len(terms))

    for a in range(3):
        assert min(log_product(a, j) for j in range(3) if j != a) == pytest.approx(x, abs=1e-9)


def test_coins_by_definition() -> None:
    problem = Problem(2, ["x:min:bernoulli"])
    observations = Observations(problem)
    for arm, heads, tails in ((0, 7, 20), (1, 30, 3)):
        for reward in [1.0] * heads + [0.0] * tails:
            observations.tell(arm, np.array([-reward]))
    x = math.log(1 / 0.05)
    found = confidence_intervals(problem, observations, x)

    def price(heads: int, tails: int, p: float) -> float:
        mixed = betaln(heads + 0.5, tails + 0.5) - betaln(0.5, 0.5)
        return float(mixed - xlogy(heads, p) - xlogy(tails, 1 - p))

    partner = price(30, 3, 30 / 33)
    for end in (found.lower[0, 0], found.upper[0, 0]):
        assert price(7, 20, end) + partner == pytest.approx(x, abs=1e-6)
    assert found.lower[0, 0] < 7 / 27 < found.upper[0, 0]


def test_unknown_variance_by_definition() -> None:
    problem = Problem(2, ["x:unknown-variance"])
    rng, observations = np.random.default_rng(3), Observations(Problem(2, 1, 1.0))
    for arm, count in ((0, 30), (1, 11)):
        for reward in rng.normal(arm, 1 + arm, count):
            observations.tell(arm, np.array([reward]))
    found = confidence_intervals(problem, observations, math.log(20))
    for a, j in ((0, 1), (1, 0)):
        n, v = int(observations.pulls[a, 0]), float(observations.scatter[a, 0])
        d = float(found.upper[a, 0] - observations.means[a, 0])
        scores = []
        for c in (1.0, 64.0):
            k = c / (n + c)
            own = n / 2 * math.log((v + n * d * d) / (v + k * n * d * d)) - 0.5 * math.log1p(n / c)
            total = own - 0.5 * math.log1p(observations.pulls[j, 0] / c)
            scores.append((1 + total) * math.exp(-total) if total > 0 else 1.0)
        # The sharper of the two widths is at its level.
        assert min(scores) == pytest.approx(0.05 / 2, rel=1e-6)


def test_silent_arms_have_no_interval() -> None:
    problem = Problem(2, ["a:gaussian=1", "b:bernoulli", "c:unknown-variance"])
    found = confidence_intervals(problem, Observations(problem), 1.0)
    assert found.lower.tolist() == [[-math.inf, 0, -math.inf]] * 2
    assert found.upper.tolist() == [[math.inf, 1, math.inf]] * 2


def test_they_hold_and_agree() -> None:
    """Over whole runs with every family: all intervals at all times, and never against a decision."""
    runs, misses, delta = 25, 0, 0.5
    for run in range(runs):
        session, world = Policy().start(MIXED.problem, seed=run), Environment(MIXED, seed=run)
        missed = False
        for step in range(400):
            arm = session.ask()
            session.tell(arm, world.pull(arm))
            if step % 20 == 0:
                found, verdict = session.intervals(delta), session.verdict(delta)
                missed |= bool(((MIXED.means < found.lower) | (MIXED.means > found.upper)).any())
                assert (found.lower <= found.upper).all()
                for m, decision in enumerate(verdict.decisions):
                    if decision is not None:
                        sign = MIXED.problem.signs[m]
                        top = (found.upper if sign > 0 else -found.lower)[decision.arm, m] + MIXED.problem.eps[m]
                        assert ((found.upper if sign > 0 else -found.lower)[:, m] <= top + 1e-12).all()
        misses += missed
    assert binomtest(misses, runs).proportion_ci(0.999).low <= delta


def test_too_narrow_intervals_would_be_seen() -> None:
    """The control: ordinary 95 % intervals, looked at after every pull, leave the truth out in most runs."""
    rng = np.random.default_rng(0)
    rewards = rng.standard_normal((200, 2000))
    means = rewards.cumsum(axis=1) / np.arange(1, 2001)
    outside = (np.abs(means) > 1.96 / np.sqrt(np.arange(1, 2001))).any(axis=1)
    assert binomtest(int(outside.sum()), 200).proportion_ci(0.999).low > 0.05
    problem, worst = Problem(2, 1, 1.0), 0
    for run in range(40):
        observations = Observations(problem)
        for step in range(100):
            observations.tell(step % 2, rewards[run, step : step + 1])
            found = confidence_intervals(problem, observations, math.log(2))
            if (found.lower[:, 0] > 0).any() or (found.upper[:, 0] < 0).any():
                worst += 1
                break
    assert binomtest(worst, 40).proportion_ci(0.999).low <= 0.5


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
