"""Every rule of the catalogue, through the conformance suite; each rule against its own definition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.rules.instances import FOUR_ARMS

from mobai import (
    MOBAI,
    DTracking,
    FrankWolfeSampling,
    Instance,
    Policy,
    Problem,
    TopTwo,
    TrackAndStop,
    Uniform,
    lower_bound,
    surrogate_proportions,
)
from mobai.engine import Session
from mobai.errors import InputError
from mobai.lab.environment import Environment
from mobai.problem import FloatArray, IntArray
from mobai.rules.catalogue import SAMPLING, rule_spec, sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.testing import check_sampling_rule
from mobai.theory.highs import derivatives


def drive(session: Session, pulls: int, seed: int = 5) -> list[int]:
    world = Environment(FOUR_ARMS, seed)
    arms: list[int] = []
    for _ in range(pulls):
        arms.append(session.ask())
        session.tell(arms[-1], world.pull(arms[-1]))
    return arms


REQUIRED = {"successive-elimination": ":delta=0.1"}


@pytest.mark.parametrize("name", SAMPLING)
def test_conformance(name: str) -> None:
    check_sampling_rule(sampling_rule(name + REQUIRED.get(name, "")))


@pytest.mark.parametrize(
    "text",
    [
        "mo-bai:eta=1,refresh=every",
        "d-tracking:iterations=1,start=previous",
        "d-tracking:iterations=3,as_printed=true",
        "track-and-stop:growth=0",
        "successive-elimination:delta=0.1,as_printed=true",
    ],
)
def test_conformance_of_variants(text: str) -> None:
    rule = sampling_rule(text)
    check_sampling_rule(rule)
    assert sampling_rule(rule_spec(rule)) == rule


def test_uniform_goes_round() -> None:
    assert drive(Policy(Uniform()).start(FOUR_ARMS.problem), 10) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize("refresh", ["doubling", "every"])
def test_mo_bai_by_the_specification(refresh: Any) -> None:
    """Algorithm 1 of the paper, written out with all pulls kept in lists."""
    eta, arms, pulls = 0.3, 4, 70
    chosen = drive(Policy(MOBAI(eta, refresh)).start(FOUR_ARMS.problem), pulls)
    world = Environment(FOUR_ARMS, 5)
    rewards = [world.pull(arm) for arm in chosen]
    buffer = np.zeros(arms)
    for t in range(arms + 1, pulls + 1):
        power = 2 ** int(math.log2(t))
        seen = max(power - 1, arms) if refresh == "doubling" else t - 1
        means = [np.mean([rewards[s] for s in range(seen) if chosen[s] == i], axis=0) for i in range(arms)]
        weights = (np.bincount(chosen[: t - 1], minlength=arms) + buffer) / (t - 1)
        assert (weights >= eta / (arms * (1 + eta)) - 1e-12).all()
        buffer = buffer + surrogate_proportions(Instance(means), weights, eta).proportions
        assert chosen[t - 1] == buffer.argmax()
        buffer[chosen[t - 1]] -= 1
        assert (buffer > -1).all()
        assert (buffer <= sum(1 / k for k in range(2, arms + 1)) + 1e-12).all()


def test_top_two_by_its_definition() -> None:
    problem = Problem(4, 2, sd=[[1.0, 2.0], [0.5, 1.0], [1.0, 1.0], [3.0, 1.0]])
    session = Policy(TopTwo()).start(problem, seed=9)
    coins, world = np.random.default_rng(9), Environment(FOUR_ARMS, 1)
    for _ in range(60):
        observations = session.observations
        expected = None
        if observations.told >= 4:
            n, means = observations.asked, observations.means
            doubts = []
            for m in range(2):
                b = int(np.argmax(means[:, m]))
                for i in range(4):
                    if i != b:
                        noise = problem.sd[b, m] ** 2 / n[b] + problem.sd[i, m] ** 2 / n[i]
                        z = (means[b, m] - means[i, m]) ** 2 / (2 * noise)
                        doubts.append((z + math.log(n[i]), m, i, b, problem.sd[b, m] ** 2 / n[b] / noise))
            _, _, i, b, share = min(doubts)
            expected = b if coins.random() < share else i
        arm = session.ask()
        assert expected is None or arm == expected
        session.tell(arm, world.pull(arm))


def test_top_two_spreads_open_asks() -> None:
    session = Policy(TopTwo()).start(FOUR_ARMS.problem, seed=1)
    drive(session, 200)
    asked = [session.ask() for _ in range(200)]
    assert len(set(asked)) > 2


def test_top_two_splits_by_noise() -> None:
    """With two arms the share of each tends to its standard deviation's."""
    instance = Instance([[1.0], [0.0]], sd=[[3.0], [1.0]])
    session, world = Policy(TopTwo()).start(instance.problem, seed=1), Environment(instance, 1)
    for _ in range(2000):
        arm = session.ask()
        session.tell(arm, world.pull(arm))
    assert session.observations.asked[0] / 2000 == pytest.approx(0.75, abs=0.03)


def history(rule: SamplingRule, pulls: int, seed: int = 5) -> Iterator[tuple[IntArray, FloatArray, int]]:
    """Drive a rule through FOUR_ARMS; gives counts and means before each pull after the opening, and the arm pulled."""
    session, world = Policy(rule).start(FOUR_ARMS.problem, seed=1), Environment(FOUR_ARMS, seed)
    for t in range(pulls):
        asked, means = session.observations.asked.copy(), session.observations.means
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        if t >= 4:
            yield asked, means, arm


@pytest.mark.parametrize("start", ["uniform", "previous"])
@pytest.mark.parametrize("as_printed", [False, True])
def test_d_tracking_by_the_specification(start: Any, as_printed: bool) -> None:
    """Algorithms 2 and 3 of the paper, written out; a program with several solutions may give any of them."""
    session, world = Policy(DTracking(3, start, as_printed)).start(FOUR_ARMS.problem, seed=1), Environment(FOUR_ARMS, 5)
    explored, weights = 0, np.full(4, 0.25)
    for t in range(1, 151):
        asked, means = session.observations.asked.copy(), session.observations.means
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        if t <= 4 or asked.min() < math.sqrt((t - 1) / 4):
            assert asked[arm] == asked.min()
            explored += 1
            continue
        weights, total = np.full(4, 0.25) if start == "uniform" else weights, np.zeros(4)
        instance = Instance(means)
        for k in range(3):
            solution = session.engine.memory.shares[2 * k]
            a, b = derivatives(instance.gaps.T, np.ones((2, 4)), instance.best_arms, weights)
            rates = a * solution + b * solution[instance.best_arms][:, None]
            rates[np.arange(2), instance.best_arms] = np.inf
            assert rates.min() == pytest.approx(surrogate_proportions(instance, weights, eta=0.0).value, rel=1e-9)
            assert solution.min() >= 0
            total += solution
            weights = total / (k + 1)
        ahead = asked - t * weights
        assert arm == (ahead.argmax() if as_printed else ahead.argmin())
    assert 4 < explored < 140


def test_d_tracking_breaks_ties_by_chance() -> None:
    """Exploring, all arms with the fewest pulls come up: missing one of three in 40 seeds has a chance below 1e-6."""
    firsts = set()
    for seed in range(40):
        session = Policy(DTracking(1, as_printed=True)).start(FOUR_ARMS.problem, seed=seed)
        for _ in range(5):
            session.tell(session.ask(), [0.0, 0.0])
        asked = session.engine.sampling.observations.arrays.asked
        asked[:] = 1  # As if everything but one pull an arm were outstanding.
        asked[0] = 60
        firsts.add(session.ask())
    assert firsts == {1, 2, 3}


def test_track_and_stop_by_its_definition() -> None:
    for asked, means, arm in history(TrackAndStop(growth=0), 200):
        t = asked.sum()
        if asked.min() < math.sqrt(t) - 2:
            assert arm == asked.argmin()
        else:
            behind = (t + 1) * lower_bound(Instance(means)).weights - asked
            assert behind[arm] == pytest.approx(behind.max(), abs=1e-4)


def test_track_and_stop_renews_its_weights_lazily() -> None:
    """Weights change when a leader does or the pulls have grown by the given share, and at no other time."""
    session, world = Policy(TrackAndStop(growth=0.5)).start(FOUR_ARMS.problem), Environment(FOUR_ARMS, 5)
    drive(session, 30)
    changes = []
    for t in range(30, 300):
        before, leaders = session.engine.memory, session.observations.means.argmax(axis=0)
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        if not np.array_equal(before.weights, session.engine.memory.weights):
            assert t >= before.due[0] or not np.array_equal(leaders, before.best)
            changes.append(t)
    assert 3 <= len(changes) < 100


def test_frank_wolfe_by_its_definition() -> None:
    """Wang, Tzeng and Proutiere's rule with every row divided by its rate, its programs solved by HiGHS."""
    target = np.full(4, 0.25)
    for asked, means, arm in history(FrankWolfeSampling(), 150):
        t = int(asked.sum()) + 1
        best = means.argmax(axis=0)
        if math.isqrt(t // 4) ** 2 == t // 4:
            direction = np.full(4, 0.25)
        else:
            rows = {}
            for m in range(2):
                for i in set(range(4)) - {int(best[m])}:
                    gap, x, y = means[best[m], m] - means[i, m], target[i], target[best[m]]
                    rate = gap**2 / 2 * x * y / (x + y)
                    rows[i, m] = rate, gap**2 / 2 * (y / (x + y)) ** 2, gap**2 / 2 * (x / (x + y)) ** 2
            smallest = min(rate for rate, _, _ in rows.values())
            matrix = []
            for (i, m), (rate, own, lead) in rows.items():
                if rate < smallest + t**-0.9 / 4:
                    row = np.zeros(5)
                    row[i], row[best[m]], row[4] = -own / rate, -lead / rate, 1.0
                    matrix.append(row)
            cost = np.array([0, 0, 0, 0, -1.0])
            direction = linprog(cost, matrix, np.zeros(len(matrix)), [[1, 1, 1, 1, 0]], [1]).x[:4]
        target = ((t - 1) * target + direction) / t
        ratio = target / asked
        assert ratio[arm] == pytest.approx(ratio.max(), rel=1e-5)


def test_successive_elimination_refuses_limits() -> None:
    problem = Problem(2, ["gain:gaussian=1"], guardrails=["harm:gaussian=1:at-most=0"])
    with pytest.raises(InputError, match="guardrails must be left out"):
        Policy(sampling_rule("successive-elimination:delta=0.1")).start(problem)
