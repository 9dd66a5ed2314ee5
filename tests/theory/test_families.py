"""The evidence of every family against its definition, written out with SciPy and mpmath."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import minimize_scalar
from scipy.special import betaln, xlogy
from scipy.stats import gamma

from mobai import Bernoulli, Bounded, Gaussian, Objective, Problem, UnknownVariance
from mobai.problem import Family, FloatArray
from mobai.theory.intervals import gamma_level
from mobai.theory.observations import Observations
from mobai.theory.thresholds import THRESHOLDS, evidence_of

counts = st.integers(1, 400)


def evidence(
    family: Family,
    n: tuple[int, int],
    means: tuple[float, float],
    scatter: tuple[float, float] = (0, 0),
    eps: float = 0,
) -> tuple[float, float]:
    """The score and the transport cost of two arms, the first of which leads."""
    problem = Problem(2, [Objective("x", "max", family, eps)])
    tables = (np.array(table, float)[:, None] for table in (means, n, scatter))
    observations = Observations.of_statistics(problem, *tables)
    assert observations.leaders[0] == 0
    return float(evidence_of(THRESHOLDS["mixture"], observations, sum(n))[0]), float(observations.costs[1, 0])


@given(counts, counts, st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_coins_by_definition(n_b: int, n_i: int, one: float, two: float, eps: float) -> None:
    heads_b, heads_i = sorted((round(one * n_b) / n_b, round(two * n_i) / n_i))[::-1]
    s_b, s_i = heads_b * n_b, heads_i * n_i

    def null(p: float) -> float:
        q = min(p + eps, 1)
        return -float(xlogy(s_b, p) + xlogy(n_b - s_b, 1 - p) + xlogy(s_i, q) + xlogy(n_i - s_i, 1 - q))

    ends = [null(0.0), null(1 - eps)]
    inner = minimize_scalar(null, bounds=(0, 1 - eps), method="bounded", options={"xatol": 1e-12}).fun
    mixed = sum(betaln(s + 0.5, n - s + 0.5) - math.log(math.pi) for s, n in ((s_b, n_b), (s_i, n_i)))
    score, cost = evidence(Bernoulli(), (n_b, n_i), (heads_b, heads_i), eps=eps)
    assert score == pytest.approx(mixed + min(*ends, inner), abs=2e-6)
    assert score <= cost + 1e-9


def student_arm(d: float, n: int, v: float, c: float) -> float:
    """Log E of one arm: docs/guarantee.md, as printed there."""
    r = n * d**2 / v
    return 0.5 * math.log(c / (n + c)) + n / 2 * (math.log1p(r) - math.log1p(r * c / (n + c)))


@given(
    st.integers(2, 300),
    st.integers(2, 300),
    st.floats(0, 20),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.sampled_from([0.0, 0.3]),
)
def test_unknown_variance_by_definition(n_b: int, n_i: int, gap: float, v_b: float, v_i: float, eps: float) -> None:
    v_b, v_i = v_b * n_b, v_i * n_i
    apart = gap + eps
    # Fine near both means, where the wells are, and even in between.
    near = np.geomspace(1e-7, 1, 3000) * apart
    grid = np.unique(np.concatenate([[0], near, apart - near, np.linspace(0, apart, 3001)]))
    best = max(
        min(student_arm(apart - x, n_b, v_b, c) + student_arm(x, n_i, v_i, c) for x in grid) for c in (1.0, 64.0)
    )
    expected = (best - math.log1p(best) if best > 0 else best) - math.log(2)
    score, cost = evidence(UnknownVariance(), (n_b, n_i), (gap, 0.0), (v_b, v_i), eps)
    assert expected - 1e-3 * max(1, abs(expected)) <= score <= expected + 1e-6
    assert score <= cost


def test_unknown_variance_is_a_bayes_factor() -> None:
    """One arm's martingale is the ratio of two integrals over the noise: with a shifted mean, and without."""
    rewards, mu, c = [0.3, 1.9, 1.1], 0.2, 1.0

    def likelihood(shift: FloatArray, s: FloatArray) -> FloatArray:
        squares = sum((x - mu - shift * s) ** 2 for x in rewards)
        return np.asarray(np.exp(-squares / (2 * s * s)) / s ** (len(rewards) + 1))

    prior = math.sqrt(c / (2 * math.pi))
    shifts, scales = np.linspace(-9, 9, 721), np.exp(np.linspace(math.log(0.02), math.log(100), 1501))
    grid = prior * np.exp(-c * shifts[:, None] ** 2 / 2) * likelihood(shifts[:, None], scales[None, :])
    shifted = trapezoid(trapezoid(grid, scales, axis=1), shifts)
    plain = trapezoid(likelihood(np.zeros(1), scales), scales)
    mean = sum(rewards) / 3
    scatter = sum((x - mean) ** 2 for x in rewards)
    assert student_arm(mean - mu, 3, scatter, c) == pytest.approx(math.log(shifted / plain), abs=1e-3)


@pytest.mark.parametrize("x", [0.01, 1.0, 5.0, 50.0, 700.0])
def test_gamma_level(x: float) -> None:
    level = gamma_level(x)
    assert gamma(2).logsf(level) == pytest.approx(-x, rel=1e-9)


def test_constant_rewards() -> None:
    """Rewards without any scatter are no proof after two of them, and some after many."""
    few, _ = evidence(UnknownVariance(), (2, 2), (1.0, 0.0))
    many, _ = evidence(UnknownVariance(), (30, 30), (1.0, 0.0))
    assert few < 1 < 20 < many < math.inf
    one, _ = evidence(UnknownVariance(), (1, 1), (1.0, 0.0))
    assert one <= 0


def test_a_probability_rounded_to_one_is_no_proof() -> None:
    """The pooled mean of 1 and the number before it is rounded to 1, and the rival has been below it."""
    below = math.nextafter(1.0, 0.0)
    for eps in (0.0, 0.05, 1 / 3):
        score, cost = evidence(Bounded(0, 1), (3, 2), (1.0, below), eps=eps)
        assert math.isfinite(cost)
        assert score < 1


def test_rounding_is_no_difference() -> None:
    """Equal rewards whose means differ by rounding, and two numbers next to each other."""
    problem = Problem(2, ["x:unknown-variance"])
    for second in (0.1, math.nextafter(0.1, 1.0)):
        observations = Observations(problem)
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
            assert score <= cost + 1e-6 * max(1, abs(cost))


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
