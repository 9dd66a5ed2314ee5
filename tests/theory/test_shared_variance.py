"""One unknown standard deviation for all arms: its bound by definition, and against the truth."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from mobai import InputError, Instance, Policy, Problem, simulate
from mobai.kernels.evidence.variance import Prediction, chi_square_quantile, later_bound
from mobai.kernels.jit.compiled import entry
from mobai.kernels.models.shared import noise_bound_of
from mobai.kernels.stats.observations import AT_ONCE, COUNT, OVER, PAIR, SCATTER, SUM
from mobai.lab.environment import Environment
from mobai.problem import FloatArray
from mobai.theory.observations import Moment, Observations
from mobai.theory.thresholds import THRESHOLDS, evidence_of


@entry
def _quantile(degrees: float, log_inv: float) -> float:
    return chi_square_quantile(degrees, log_inv)


@entry
def _later(a: float, b: float, nu: float, v: float, around: float, penalty: float, log_inv: float) -> float:
    return later_bound(Prediction(a, b, nu, v, around, penalty), log_inv)


@pytest.mark.parametrize(("case", "golden"), [((18.4, 20.0, 0.0025), 2.73694532785), ((2.5, 2.0, 0.005), 249.37447786)])
def test_golden_opening(case: tuple[float, float, float], golden: float) -> None:
    squares, degrees, alpha = case
    assert squares / _quantile(degrees, -math.log(alpha)) == pytest.approx(golden, rel=1e-9)


@pytest.mark.parametrize(
    ("case", "golden"),
    [
        ((10.0, 9.2, 40.0, 44.0, 40.0, 6.2, 5.9914645471), 4.56711343628),
        ((0.5, 0.8, 10.0, 12.0, 9.0, 1.5, 5.2983173665), 15.7419783001),
        ((2.0, 1.5, 100_000.0, 99_500.0, 99_480.0, 20.0, 5.9914645471), 1.03631241617),
        ((10.0, 0.5, 200.0, 210.0, 200.0, 12.0, 8.2940496401), 3.16742385382),
    ],
)
def test_golden_later(case: tuple[float, ...], golden: float) -> None:
    assert _later(*case) == pytest.approx(golden, rel=1e-9)


@given(st.integers(1, 400), st.floats(0.7, 700))
def test_quantiles(degrees: int, log_inv: float) -> None:
    found = _quantile(float(degrees), log_inv)
    if log_inv < 600:
        assert found == pytest.approx(chi2.ppf(math.exp(-log_inv), degrees), rel=1e-9)
    else:
        # The series of the incomplete gamma function: far out in the tail one term is enough.
        a, x = degrees / 2, found / 2
        first = a * math.log(x) - x - math.lgamma(a + 1)
        terms = [math.exp(n * math.log(x) + math.lgamma(a + 1) - math.lgamma(a + 1 + n)) for n in range(300)]
        assert first + math.log(sum(terms)) == pytest.approx(-log_inv, rel=1e-9)


def test_the_bound_by_definition() -> None:
    """Three arms; an arm that came later enters after its first reward."""
    rng, delta_m = np.random.default_rng(5), 0.01
    problem = Problem(3, ["x:shared-variance"])
    observations, told = Observations(problem), [list(rng.normal(a, 2.0, 2)) for a in range(3)]
    told[1] += list(rng.normal(1, 2.0, 2))
    for a in (1, 0, 2):
        for reward in told[a]:
            observations.tell(a, np.array([reward]))
    assert observations.arrays.opening[0] == OVER
    assert observations.arrays.early[0, :, COUNT].tolist() == [2, 4, 2]
    np.testing.assert_allclose(observations.arrays.early[0, :, PAIR], [(r[0] - r[1]) ** 2 / 2 for r in told])
    before = [list(rewards) for rewards in told]
    observations = observations.with_arms(Problem(4, ["x:shared-variance"]), [0, 1, 2, -1])
    assert observations.arrays.initial[0] == 3
    told, before = [*told, []], [*before, []]
    for _ in range(60):
        a = int(rng.integers(4))
        told[a].append(rng.normal(a, 2.0))
        observations.tell(a, np.array([told[a][-1]]))

    def scatter(rewards: list[float]) -> float:
        return float(np.sum((np.array(rewards) - np.mean(rewards)) ** 2)) if rewards else 0.0

    before[3] = told[3][:1]
    k, n = [len(r) for r in before], [len(r) for r in told]
    a0, b0 = sum(c - 1 for c in k) / 2, sum(scatter(r) for r in before) / 2
    nu = sum(n) - sum(k)
    grown = sum(scatter(t) - scatter(b) for t, b in zip(told, before, strict=True))
    around = sum(scatter(t[len(b) :]) for t, b in zip(told, before, strict=True))
    penalty = 0.5 * sum(math.log(x / y) for x, y in zip(n, k, strict=True))
    limit = -math.log(0.9 * 0.1 * delta_m)

    def log_e(y: float) -> float:
        predicted = math.lgamma(a0 + nu / 2) - math.lgamma(a0) + a0 * math.log(b0)
        predicted -= (a0 + nu / 2) * math.log(b0 + grown / 2) + penalty
        return predicted + nu / 2 * y + around / 2 * math.exp(-y) - limit

    later = math.exp(float(mpmath.findroot(log_e, 6.0)))
    opening = sum((r[0] - r[1]) ** 2 / 2 for r in told[:3]) / chi2.ppf(0.1 * 0.1 * delta_m, 3)
    level = math.log(2 / delta_m)  # of K - 1 = 2 pairs
    found = noise_bound_of(observations.arrays, 0, level)
    assert found**2 == pytest.approx(min(later, opening), rel=1e-9)
    assert observations.arrays.early[0, 3, SUM] == observations.arrays.early[0, 3, SCATTER] == 0


def test_the_bound_holds_whoever_is_sampled() -> None:
    """Sampling that prefers whatever is close to the mean so far: the bound holds at all times with 1 - alpha."""
    runs, failed, alpha = 600, 0, 0.1
    rng = np.random.default_rng(1)
    # Two arms: alpha is a tenth of exp(-level), so that this is the least level.
    problem, level = Problem(2, ["x:shared-variance"]), 0.0
    for _ in range(runs):
        observations, missed = Observations(problem), False
        for step in range(40):
            arm = step % 2 if step < 4 else int(np.abs(observations.means[:, 0]).argmin())
            observations.tell(arm, rng.normal(0, 1.0, 1))
            missed |= noise_bound_of(observations.arrays, 0, level) < 1.0
        failed += missed
    interval = binomtest(failed, runs).proportion_ci(0.999)
    assert interval.low <= alpha
    assert failed > 0


def test_evidence_is_the_largest_level_exceeded() -> None:
    world = Instance([[1.0], [0.0], [0.2]], objectives=["x:shared-variance"])
    session, rewards = Policy().start(world.problem, seed=3), Environment(world, seed=3)
    for _ in range(200):
        arm = session.ask()
        session.tell(arm, rewards.pull(arm))
    found = float(session.verdict(0.1).evidence[0])
    noise = noise_bound_of(session.observations.arrays, 0, found)
    arrays = session.observations.arrays
    known = Observations.of_statistics(
        Problem(3, 1, noise), arrays.means.T, session.observations.pulls, np.zeros((3, 1))
    )
    assert found > math.log(2)
    assert float(evidence_of(THRESHOLDS["mixture"], known, 1)[0]) + math.log(0.9) == pytest.approx(found, abs=1e-6)


def test_units_and_shifts() -> None:
    """Rewards in other units, or shifted, ask for the same arms and have the same evidence."""
    found = []
    for unit, shift in ((1.0, 0.0), (2.0**20, 0.0), (2.0**-30, 0.0), (1.0, 2.0**20)):
        session, rng = Policy().start(Problem(3, ["x:shared-variance"]), seed=1), np.random.default_rng(2)
        asked = []
        for _ in range(300):
            asked.append(int(session.ask()))
            session.tell(asked[-1], [unit * (round((asked[-1] / 4 + rng.normal()) * 2**20) / 2**20) + shift])
        found.append((asked, session.verdict(0.1).evidence[0]))
    assert all(one[0] == found[0][0] for one in found)
    assert [one[1] for one in found] == pytest.approx([found[0][1]] * 4, rel=1e-9)


def test_every_rule_gets_through_the_opening() -> None:
    world = Instance([[0.0, 5.0], [2.0, 0.0], [-3.0, 1.0]], objectives=["x:shared-variance", "y:gaussian=1"])
    for rule in ("top-two", "mo-bai", "uniform", "frank-wolfe", "track-and-stop"):
        results = simulate(world, rule, deltas=0.1, trials=3, max_pulls=5000)
        assert results.complete, rule


def test_retired_before_two_rewards() -> None:
    """An arm that leaves early does not hold the others up, and the bound of the opening is not used."""
    from mobai import Experiment
    from mobai.store.journal import MemoryJournal

    experiment = Experiment.create(MemoryJournal(), "x", ["a", "b", "c"], ["x:shared-variance"], delta=0.1)
    rng = np.random.default_rng(4)
    experiment.retire_arm("c")
    for _ in range(400):
        if experiment.status().verdict.stopped:
            break
        (asked,) = experiment.ask()
        experiment.tell(asked, {"x": float(asked.arm == "b") + 0.5 * rng.normal()})
    assert experiment.status().verdict.answers == ("b",)


def test_unequal_noise_is_refused() -> None:
    with pytest.raises(InputError, match="metric 'x': sd must be the same for all arms"):
        Instance([[1.0], [0.0]], sd=[[1.0], [2.0]], objectives=["x:shared-variance"])


def sorted_batch(rng: np.random.Generator, size: int) -> tuple[list[int], FloatArray]:
    """Rewards of two tied arms, sorted by arm and value."""
    rewards = np.sort(rng.normal(0, 1.0, (2, size)), axis=1)
    return [0] * size + [1] * size, rewards.reshape(-1, 1)


def tell_at_once(observations: Observations, arms: list[int], rewards: FloatArray) -> None:
    observations.tell_all(Moment(np.array(arms), rewards, np.ones(len(arms), np.bool_)))


@pytest.mark.parametrize("size", [2, 3, 30])
def test_the_order_within_a_batch_means_nothing(size: int) -> None:
    """Sorted by value, the first two rewards of an arm are its two smallest: they are not looked at."""
    runs, failed = 400, 0
    rng, problem = np.random.default_rng(6), Problem(2, ["x:shared-variance"])
    for _ in range(runs):
        observations = Observations(problem)
        arms, rewards = sorted_batch(rng, size)
        tell_at_once(observations, arms, rewards)
        assert observations.arrays.opening[0] == AT_ONCE
        failed += noise_bound_of(observations.arrays, 0, 0.0) < 1.0
        shuffled = rng.permutation(len(arms))
        again = Observations(problem)
        tell_at_once(again, [arms[n] for n in shuffled], rewards[shuffled])
        assert noise_bound_of(again.arrays, 0, 3.0) == pytest.approx(noise_bound_of(observations.arrays, 0, 3.0))
    interval = binomtest(failed, runs).proportion_ci(0.999)
    assert interval.low <= 0.01 <= interval.high


def test_a_batch_after_single_rewards_has_no_first_two() -> None:
    rng = np.random.default_rng(7)
    observations = Observations(Problem(2, ["x:shared-variance"]))
    observations.tell(0, rng.normal(size=1))
    arms, rewards = sorted_batch(rng, 20)
    tell_at_once(observations, arms, rewards)
    assert observations.arrays.opening[0] == OVER
    assert observations.arrays.early[0, :, PAIR].tolist() == [math.inf] * 2
    assert noise_bound_of(observations.arrays, 0, 3.0) == math.inf
    for n in range(20):
        observations.tell(n % 2, rng.normal(size=1))
    assert 1 < noise_bound_of(observations.arrays, 0, 3.0) < 5


def test_unequal_noise_is_doubted() -> None:
    session, rng = Policy().start(Problem(3, ["x:shared-variance"]), seed=1), np.random.default_rng(2)
    for _ in range(200):
        arm = session.ask()
        session.tell(arm, [rng.normal(0, (1.0, 1.0, 3.0)[arm])])
    (doubt,) = session.verdict(0.1).doubts
    assert doubt is not None
    assert "the rewards of 'arm 2' scatter far more" in doubt
    assert "begin a new experiment with unknown-variance" in doubt
