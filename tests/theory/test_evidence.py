"""The evidence of a pair by its definition, written out with mpmath and SciPy; and golden values."""

from __future__ import annotations

import copy
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from tests.theory.weighing import evidence, weighed

from mobai import Bernoulli, Bounded, Gaussian, Objective, Problem, UnknownVariance
from mobai.kernels.evidence.normal import WEIGHTS, WIDTHS
from mobai.problem import Family, FloatArray
from mobai.theory.observations import Observations
from mobai.theory.thresholds import THRESHOLDS, evidence_of

counts = st.integers(1, 400)


def histograms(b: FloatArray, i: FloatArray, eps: float = 0) -> float:
    """The evidence of two arms with these histograms of rewards between 0 and 1."""
    observations = Observations(Problem(2, [Objective("x", "max", Bounded(0, 1, len(b) - 1), eps)]))
    points = np.arange(len(b)) / (len(b) - 1)
    for arm, weights in enumerate((b, i)):
        n, mean = weights.sum(), weights @ points / weights.sum()
        observations.arrays.counts[0, arm], observations.arrays.sums[0, arm] = n, n * mean
        observations.arrays.scatter[0, arm] = weights @ (points - mean) ** 2
    observations.arrays.histograms[0] = b, i
    observations._renew()
    return weighed(observations)[0]


def spread(rewards: FloatArray, bins: int) -> FloatArray:
    """The histogram of rewards between 0 and 1."""
    weights = np.zeros(bins + 1)
    for y in rewards * bins:
        j = min(int(y), bins - 1)
        weights[j] += 1 - (y - j)
        weights[j + 1] += y - j
    return weights


# ---- golden values, from an independent implementation with 40 digits


@pytest.mark.parametrize(
    ("case", "golden"),
    [
        ((0.5, 0, 100, 80, 1, 1, 0), 3.13446995431),
        ((0.3, 0, 3000, 500, 1, 1, 0), 14.6549658694),
        ((0.02, 0.01, 20000, 30000, 0.5, 0.8, 0), -1.24670153813),
        ((5, 0, 1, 1, 1, 1, 0), 3.28924617198),
        ((0.31, 0.3, 1000, 5, 1, 1, 0), -3.80278601813),
    ],
)
def test_golden_known_noise(case: tuple[float, ...], golden: float) -> None:
    mean_b, mean_i, n_b, n_i, sd_b, sd_i, eps = case
    score, _ = evidence(Gaussian(), (int(n_b), int(n_i)), (mean_b, mean_i), eps=eps, sd=(sd_b, sd_i))
    assert golden - 2e-8 <= score <= golden + 1e-9


@pytest.mark.parametrize(
    ("case", "golden"),
    [
        ((50, 100, 30, 100), 1.94174323685),
        ((105, 10000, 60, 9000), 1.81080986297),
        ((480, 500, 900, 1000), 5.65578253665),
        ((7, 8, 1, 9), 2.35520863136),
        ((3, 1000, 0, 1000), 0.701991675903),
        ((60, 60, 55, 60), 1.56933422078),
    ],
)
def test_golden_coins(case: tuple[int, ...], golden: float) -> None:
    s_b, n_b, s_i, n_i = case
    score, cost = evidence(Bernoulli(), (n_b, n_i), (s_b / n_b, s_i / n_i))
    assert golden - 2e-6 <= score <= golden + 1e-9
    assert score <= cost


def _cycle(n: int, a: int, p: int, q: int) -> FloatArray:
    return np.array([((a * k) % 101) * p / (100 * q) for k in range(1, n + 1)])


@pytest.mark.parametrize(
    ("b", "i", "eps", "golden"),
    [
        ([3, 7, 22, 40, 28], [10, 20, 30, 25, 15], 0, 5.56902050397),
        ([10, 20, 60, 110, 100], [20, 40, 80, 90, 70], 0.05, 17.0268261626),
        ([300, 600, 2000, 4200, 2900], [400, 700, 2100, 4000, 2800], 0, 8.3692156556),
        (spread(_cycle(40, 37, 1, 1), 64), spread(_cycle(40, 53, 7, 10), 64), 0, 1.88217892746),
        (spread(_cycle(100, 37, 1, 20), 64), spread(_cycle(100, 53, 1, 40), 64), 0, 0.286490032624),
        (spread(_cycle(500, 17, 1, 1), 32), spread(_cycle(300, 29, 19, 20), 32), 0.02, 0.485117308304),
    ],
)
def test_golden_histograms(b: Any, i: Any, eps: float, golden: float) -> None:
    score = histograms(np.array(b, float), np.array(i, float), eps)
    assert golden - 2e-6 <= score <= golden + 1e-9


def test_rewards_are_spread_over_the_histogram() -> None:
    rewards = np.random.default_rng(0).random(200)
    observations = Observations(Problem(2, ["x:bounded=0..1:bins=32"]))
    for n, reward in enumerate(rewards):
        observations.tell(n % 2, np.array([reward]))
    np.testing.assert_allclose(observations.arrays.histograms[0, 0], spread(rewards[::2], 32), atol=1e-12)
    points = observations.arrays.histograms[0] @ (np.arange(33) / 32)
    np.testing.assert_allclose(points / 100, observations.means[:, 0], rtol=1e-12)


def test_nothing_seen_of_two_arms_is_worth_something_with_a_zone() -> None:
    score, _ = evidence(Bernoulli(), (300, 200), (0.0, 0.0), eps=0.05)
    assert score == pytest.approx(7.82875885314, abs=2e-6)


# ---- by definition


@given(counts, counts, st.floats(0, 3), st.floats(0.1, 10), st.floats(0.1, 10), st.sampled_from([0.0, 0.4]))
def test_known_noise_by_definition(n_b: int, n_i: int, gap: float, sd_b: float, sd_i: float, eps: float) -> None:
    unit = mpmath.sqrt(mpmath.mpf(sd_b) * sd_i)
    apart = (mpmath.mpf(gap) + eps) / unit
    arms = ((n_b * mpmath.mpf(sd_i) / sd_b, 1), (n_i * mpmath.mpf(sd_b) / sd_i, -1))

    def wealth(mu: mpmath.mpf) -> mpmath.mpf:
        total = mpmath.mpf(0)
        for c, w in zip(WIDTHS, WEIGHTS, strict=True):
            term = mpmath.mpf(w)
            for n, sign in arms:
                d = apart - mu if sign > 0 else mu
                t = n * d / mpmath.sqrt(n + c)
                term *= mpmath.exp(t**2 / 2) * mpmath.erfc(-t / mpmath.sqrt(2)) * mpmath.sqrt(c / (n + c))
            total += term
        return mpmath.log(total)

    found = minimize_scalar(lambda mu: float(wealth(mpmath.mpf(mu))), bracket=(0.0, float(apart) + 0.1), tol=1e-12)
    score, cost = evidence(Gaussian(), (n_b, n_i), (gap, 0.0), eps=eps, sd=(sd_b, sd_i))
    assert found.fun - 2e-8 <= score <= found.fun + 1e-9
    assert score <= cost + 1e-9


def bets(weights: FloatArray, means: FloatArray, above: bool) -> FloatArray:
    """The log-wealth of bets that the mean is above or below each of these, rate by rate."""
    points = np.arange(len(weights)) / (len(weights) - 1)
    away = points[None, :] - means[:, None] if above else means[:, None] - points[None, :]
    rates = 1.96 * 2.0 ** -np.arange(-7, 14)
    cut = np.minimum(rates[:, None], 0.98 / (means if above else 1 - means)[None, :])
    return np.asarray(np.log1p(cut[:, :, None] * away[None, :, :]) @ weights)


def wealth_of(b: FloatArray, i: FloatArray, means: FloatArray, eps: float) -> FloatArray:
    """The log-wealth of all bets that b is above and i below each of these means, plus eps."""
    own, other = bets(b, means, True), bets(i, means + eps, False)
    raw = np.exp(-0.2 * np.abs(np.arange(-7, 14) - 3))
    share = np.log(0.98 * raw / raw.sum())
    near, terms = dict(zip(range(-2, 3), (0.12, 0.22, 0.32, 0.22, 0.12), strict=True)), []
    for q in range(21):
        total = sum(weight for d, weight in near.items() if 0 <= q + d < 21)
        for d, weight in near.items():
            if 0 <= q + d < 21:
                terms.append(share[q] + math.log(weight / total) + own[q] + other[q + d])
    idle = np.full(len(means), math.log(0.02))
    alike = logsumexp([*terms, idle], axis=0) + math.log(0.92)
    apart = logsumexp([*(own + share[:, None]), idle], axis=0) + logsumexp([*(other + share[:, None]), idle], axis=0)
    return np.asarray(logsumexp([alike, apart + math.log(0.08)], axis=0))


@given(st.data(), st.integers(1, 8), st.sampled_from([0.0, 0.0, 0.1]))
def test_histograms_by_definition(data: st.DataObject, bins: int, eps: float) -> None:
    arm = st.lists(st.integers(0, 60), min_size=bins + 1, max_size=bins + 1).filter(any)
    points = np.arange(bins + 1) / bins
    one, two = (np.array(data.draw(arm), float) for _ in range(2))
    b, i = (one, two) if one @ points / one.sum() >= two @ points / two.sum() else (two, one)
    grid = np.unique(np.concatenate([np.geomspace(1e-12, 0.5, 2000), 1 - eps - np.geomspace(1e-12, 0.5 - eps, 2000)]))
    least = float(wealth_of(b, i, grid, eps).min())
    score = histograms(b, i, eps)
    assert least - 0.02 * max(1, abs(least)) <= score <= least + 1e-7


@given(st.data(), st.integers(1, 8))
def test_the_worst_is_no_better_than_any_reward(data: st.DataObject, bins: int) -> None:
    """Whatever the rewards that never came would have been, the evidence of the pair would have been larger."""
    arm = st.lists(st.integers(0, 30), min_size=bins + 1, max_size=bins + 1).filter(any)
    b, i = (np.array(data.draw(arm), float) for _ in range(2))
    points = np.arange(bins + 1) / bins
    if b @ points / b.sum() <= i @ points / i.sum():
        b, i = i, b
    lost = [data.draw(st.lists(st.integers(0, bins), max_size=4)) for _ in range(2)]
    one = Observations(Problem(2, [f"x:bounded=0..1:bins={bins}"]))
    for number, weights in enumerate((b, i)):
        for j, count in enumerate(weights.astype(int).tolist()):
            for _ in range(count):
                one.tell(number, np.array([j / bins]))
    full = copy.deepcopy(one)
    for number, values in enumerate(lost):
        for j in values:
            one.expect_the_worst(0, number)
            full.tell(number, np.array([j / bins]))
    if full.leaders[0] == one.leaders[0] == 0:
        assert weighed(one)[0] <= weighed(full)[0] + 2e-6


# ---- corners


def test_a_probability_rounded_to_one_is_no_proof() -> None:
    """The pooled mean of 1 and the number before it is rounded to 1, and the rival has been below it."""
    below = math.nextafter(1.0, 0.0)
    for eps in (0.0, 0.05, 1 / 3):
        score, cost = evidence(Bounded(0, 1), (3, 2), (1.0, below), eps=eps)
        assert math.isfinite(cost)
        assert score < 1


def test_rounding_is_no_difference() -> None:
    """Equal rewards whose means differ by rounding, and two numbers next to each other."""
    for family in ("unknown-variance", "shared-variance"):
        for second in (0.1, math.nextafter(0.1, 1.0)):
            observations = Observations(Problem(2, [f"x:{family}"]))
            for n in range(300):
                observations.tell(n % 3 // 2, np.array([0.1 if n % 3 < 2 else second]))
            assert evidence_of(THRESHOLDS["mixture"], observations, 300).min() <= 0


@pytest.mark.parametrize("family", [Gaussian(1.0), UnknownVariance(), Bernoulli(), Bounded(-3, 9)])
def test_extreme_counts_give_numbers(family: Family) -> None:
    low, high = family.range if family.range[1] < math.inf else (0.0, 1.0)
    for n in ((1, 1), (1, 10**7), (10**7, 1), (10**7, 10**7)):
        for top, bottom in ((high, low), (high, high), (low, low)):
            score, cost = evidence(family, n, (top, bottom), (n[0] * 1e-3, n[1] * 1e3), eps=0.1)
            assert math.isfinite(score)
            assert math.isfinite(cost)


@pytest.mark.parametrize("family", [Gaussian(1.0), UnknownVariance(), Bounded(-20.0, 20.0)])
@pytest.mark.parametrize("name", ["mixture", "empirical"])
def test_directions_are_mirror_images(family: Family, name: str) -> None:
    found = []
    for direction in ("max", "min"):
        problem = Problem(3, [Objective("x", direction, family, 0.1)])
        observations = Observations(problem)
        for step, reward in enumerate(np.random.default_rng(1).normal(0, 2, 60)):
            told = problem.check_rewards([reward if direction == "max" else -reward])
            observations.tell(step % 3, problem.orient(told))
        found.append(evidence_of(THRESHOLDS[name], observations, 60))
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_scatter_is_the_sum_of_squares(rewards: list[float]) -> None:
    observations = Observations(Problem(2, 2, 1.0))
    for reward in rewards:
        observations.tell(1, np.array([reward, math.nan]))
    assert observations.pulls.tolist() == [[0, 0], [len(rewards), 0]]
    assert observations.scatter[1, 0] == pytest.approx(
        float(np.sum((np.array(rewards) - np.mean(rewards)) ** 2)), abs=1e-6
    )
    assert observations.scatter[1, 1] == observations.sums[1, 1] == 0
