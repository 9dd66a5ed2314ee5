"""The evidence of unknown variances by its definition, golden values, and the floor beyond the means."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from scipy.stats import t as student_t
from tests.theory.weighing import evidence

from mobai import Problem, UnknownVariance
from mobai.kernels.evidence.student import DIPS, SIDE
from mobai.kernels.evidence.student import WEIGHTS as STUDENT_WEIGHTS
from mobai.kernels.evidence.student import WIDTHS as STUDENT_WIDTHS
from mobai.problem import FloatArray
from mobai.theory.observations import Observations
from mobai.theory.thresholds import THRESHOLDS, evidence_of


def student_arm(d: FloatArray, n: int, v: float, c: float, p: float = SIDE) -> FloatArray:
    """Tilted log E of one arm: docs/guarantee.md, as printed there."""
    k = c / (n + c)
    s, shrunk = v + n * d**2, v + k * n * d**2
    t = d * n * np.sqrt(n / ((n + c) * shrunk))
    log_cdf = np.asarray(student_t.logcdf(t, n))
    for j in np.flatnonzero(np.isinf(log_cdf)):  # SciPy's is rounded to zero first
        log_cdf.flat[j] = mpmath.log(mpmath.betainc(n / 2, 0.5, 0, n / (n + t.flat[j] ** 2), regularized=True) / 2)
    with np.errstate(divide="ignore"):
        side = np.logaddexp(np.log(1 - p), np.log(2 * p - 1) + log_cdf)
    return np.asarray(math.log(2) + 0.5 * math.log(k) + n / 2 * np.log(s / shrunk) + side)


@pytest.mark.parametrize(
    ("case", "one_sided", "tilted"),
    [
        ((1.0, 50, 49.0, 60, 61.0, 1), 9.28340843244, 9.07278978288),
        ((0.4, 300, 310.0, 250, 240.0, 64), 8.39237952327, 8.18205333318),
        ((6.0, 6, 5.0, 8, 7.5, 1), 3.06413118569, 3.7269062928),
        ((0.5, 20, 25.0, 400, 390.0, 1), -2.54120264601, -2.31062801954),
        ((10.0, 15, 14.0, 10, 9.0, 0.125), 14.4340250311, 15.0652827916),
        ((1.5, 30, 29.0, 30, 29.0, 4), 11.017790833, 10.8071437345),
    ],
)
def test_golden_unknown_variance(case: tuple[float, ...], one_sided: float, tilted: float) -> None:
    """Of the definition that the kernel is compared with below: all on one side, and p = 0.9."""
    gap, n_b, v_b, n_i, v_i, c = case
    for p, golden in ((1.0, one_sided), (0.9, tilted)):

        def log_e(x: float, p: float = p) -> float:
            arms = (
                student_arm(np.array([gap - x]), int(n_b), v_b, c, p),
                student_arm(np.array([x]), int(n_i), v_i, c, p),
            )
            return float(arms[0][0] + arms[1][0])

        grid = np.concatenate([np.linspace(-3 * gap, 4 * gap, 4001)])
        values = student_arm(gap - grid, int(n_b), v_b, c, p) + student_arm(grid, int(n_i), v_i, c, p)
        start = float(grid[values.argmin()])
        best = minimize_scalar(log_e, bounds=(start - gap / 300, start + gap / 300), method="bounded")
        assert best.fun == pytest.approx(golden, abs=1e-7)


@pytest.mark.parametrize("n", range(1, len(DIPS) + 1))
def test_no_bet_falls_below_its_dip(n: int) -> None:
    """On each cell of t the ratio is at least what it is at the near end, and Student's tail what it is at the far one.

    The last dip is for any larger number, too: the ratio grows with n, and the tail stays above the normal one.
    """
    t = np.linspace(0, 40, 400_001)
    tail = norm.sf(t[1:]) if n == len(DIPS) else student_t.sf(t[1:], n)
    floor = n / 2 * np.log1p(t[:-1] ** 2 / n) + np.log(2 * (1 - SIDE + (2 * SIDE - 1) * tail))
    assert DIPS[n - 1] <= floor.min() < DIPS[n - 1] + 0.001
    assert n / 2 * math.log1p(40**2 / n) + math.log(2 * (1 - SIDE)) > 0


@given(
    st.integers(2, 300),
    st.integers(2, 300),
    st.floats(0.01, 20),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.sampled_from([0.0, 0.3]),
)
def test_unknown_variance_by_definition(n_b: int, n_i: int, gap: float, v_b: float, v_i: float, eps: float) -> None:
    v_b, v_i = v_b * n_b, v_i * n_i
    apart = gap + eps
    # Fine near both means, where the wells are, even in between, and far beyond both.
    near = np.geomspace(1e-7, 1, 1500) * apart
    far = np.geomspace(1e-4, 1e6, 200) * math.sqrt(max(v_b / n_b, v_i / n_i))
    between = np.unique(np.concatenate([[0], near, apart - near, np.linspace(0, apart, 1501)]))
    expected = most = -math.inf
    for c, w in zip(STUDENT_WIDTHS, STUDENT_WEIGHTS, strict=True):
        values, beyond = (
            student_arm(apart - grid, n_b, v_b, c) + student_arm(grid, n_i, v_i, c)
            for grid in (between, np.concatenate([-far, apart + far]))
        )
        ends = values[-1] + DIPS[min(n_b, len(DIPS)) - 1], values[0] + DIPS[min(n_i, len(DIPS)) - 1]
        for y, is_bound in ((min(values.min(), *ends), True), (min(values.min(), beyond.min()), False)):
            worth = (y - math.log1p(y) if y > 0 else y) + math.log(w)
            expected, most = (max(expected, worth), most) if is_bound else (expected, max(most, worth))
    score, cost = evidence(UnknownVariance(), (n_b, n_i), (gap, 0.0), (v_b, v_i), eps)
    assert expected - 1e-3 * max(1, abs(expected)) <= score <= expected + 1e-6
    assert score <= most + 1e-6
    assert score <= cost + 2 * math.log(2)


def test_unknown_variance_is_a_bayes_factor() -> None:
    """One arm's martingale is the ratio of two integrals over the noise: with another mean, and at the candidate."""
    rewards, mu, c = [0.3, 1.9, 1.1], 0.2, 1.0

    def likelihood(shift: FloatArray, s: FloatArray) -> FloatArray:
        squares = sum((x - mu - shift * s) ** 2 for x in rewards)
        return np.asarray(np.exp(-squares / (2 * s * s)) / s ** (len(rewards) + 1))

    shifts, scales = np.linspace(-9, 9, 1441), np.exp(np.linspace(math.log(0.02), math.log(100), 1501))
    prior = 2 * np.where(shifts == 0, 0.5, np.where(shifts > 0, SIDE, 1 - SIDE))[:, None] * math.sqrt(c / (2 * math.pi))
    grid = prior * np.exp(-c * shifts[:, None] ** 2 / 2) * likelihood(shifts[:, None], scales[None, :])
    shifted = trapezoid(trapezoid(grid, scales, axis=1), shifts)
    plain = trapezoid(likelihood(np.zeros(1), scales), scales)
    mean = sum(rewards) / 3
    scatter = sum((x - mean) ** 2 for x in rewards)
    found = float(student_arm(np.array(mean - mu), 3, scatter, c))
    assert found == pytest.approx(math.log(shifted / plain), abs=1e-3)


def test_the_best_arm_is_shared() -> None:
    """With more rivals, less is paid than for as many independent pairs."""

    def score(arms: int) -> float:
        means, n = np.zeros((arms, 1)), np.full((arms, 1), 40)
        means[0] = 1.0
        observations = Observations.of_statistics(
            Problem(arms, ["x:unknown-variance"]), means, n, 40.0 * np.ones_like(means)
        )
        return float(evidence_of(THRESHOLDS["mixture"], observations, 1)[0])

    assert score(2) < score(3) < score(10)


def test_constant_rewards() -> None:
    """Rewards without any scatter are no proof after two of them, and some after many."""
    few, _ = evidence(UnknownVariance(), (2, 2), (1.0, 0.0))
    many, _ = evidence(UnknownVariance(), (30, 30), (1.0, 0.0))
    assert few < 1 < 20 < many < math.inf
    one, _ = evidence(UnknownVariance(), (1, 1), (1.0, 0.0))
    assert one <= 0
