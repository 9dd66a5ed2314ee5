"""Thresholds against mpmath, golden constants, and their own invariants."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import InputError, Problem, threshold
from mobai.theory.observations import Observations
from mobai.theory.thresholds import (
    THRESHOLDS,
    Mixture,
    Threshold,
    evidence_of,
    gamma_quantile,
    gaussian_calibration,
)

DELTAS = [0.9, 0.1, 1e-3, 1e-20, math.exp(-700)]


def score(
    rule: Threshold,
    z: float,
    leader: float,
    other: float,
    pulls: int = 1,
    shape: tuple[int, int] = (2, 1),
    sd: tuple[float, float] = (1.0, 1.0),
) -> float:
    """The score of one pair, arms 0 and 1 of the first objective, among pairs that do not count."""
    counts = np.ones(shape)
    counts[:2, 0] = leader, other
    noise = np.ones(shape)
    noise[:2, 0] = sd
    means = np.zeros(shape)
    means[1, 0] = -math.sqrt(2 * z * (sd[0] ** 2 / leader + sd[1] ** 2 / other))
    means[2:, 0] = -1e60
    observations = Observations.of_statistics(Problem(*shape, noise), means, counts, np.zeros(shape))
    observations.arrays.costs[0, 1] = z
    return float(evidence_of(rule, observations, pulls)[0])


@pytest.mark.parametrize("delta", [0.1, math.exp(-700)])
@pytest.mark.parametrize(("b", "i"), [(1, 1), (50, 50), (3, 1e6), (1e9, 1e9)])
def test_mixture_reaches_its_level(delta: float, b: float, i: float) -> None:
    z = threshold("mixture", -math.log(delta), arms=20, objectives=10, pulls=1, leader_pulls=b, other_pulls=i)
    level = math.log(190 / 0.9) - math.log(delta)
    assert Mixture().level(-math.log(delta), 20, 10) == pytest.approx(level, rel=1e-15)
    assert score(Mixture(), z, b, i) == pytest.approx(level, abs=1e-7)
    assert score(Mixture(), z * (1 - 1e-6), b, i) < level


@pytest.mark.parametrize(("name", "goldens"), [("theory", (2982, 6138)), ("empirical", (4.37, 5.06))])
def test_golden_of_the_paper(name: str, goldens: tuple[float, float]) -> None:
    one = threshold(name, math.log(10), arms=20, objectives=10, pulls=1000)
    two = threshold(name, math.log(20), arms=206, objectives=2, pulls=1000)
    assert (one, two) == pytest.approx(goldens, rel=2e-3)


def test_golden_calibration() -> None:
    assert gaussian_calibration(3.775) == pytest.approx(5.4686, abs=5e-5)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("shape", [1, 2, 200, 412])
def test_theory_against_mpmath(delta: float, shape: int) -> None:
    x = gamma_quantile(shape, -math.log(delta))
    with mpmath.workdps(60):

        def excess(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(mpmath.gammainc(shape, t, regularized=True)) - mpmath.log(mpmath.mpf(delta))

        exact = mpmath.findroot(excess, mpmath.mpf(x))
        assert abs(x - exact) <= 1e-10 * exact


@pytest.mark.parametrize("delta", DELTAS)
def test_kaufmann_koolen_against_mpmath(delta: float) -> None:
    with mpmath.workdps(40):
        y = (math.log(190) - mpmath.log(mpmath.mpf(delta))) / 2

        def bound(v: mpmath.mpf) -> mpmath.mpf:
            x = 1 - mpmath.exp(-v) / 2
            g = 2 * x - 2 * x * mpmath.log(4 * x) + mpmath.log(mpmath.zeta(2 * x)) - mpmath.log(1 - x) / 2
            return (g + y) / x

        v = mpmath.findroot(lambda v: mpmath.diff(bound, v), mpmath.mpf(math.log(max(2.0, float(y)))))
        exact = 2 * bound(v) + 2 * mpmath.log(4 + mpmath.log(7)) + 2 * mpmath.log(4 + mpmath.log(90))
        z = threshold(
            "kaufmann_koolen", -math.log(delta), arms=20, objectives=10, pulls=9, leader_pulls=7, other_pulls=90
        )
        assert abs(z - exact) <= 1e-10 * exact


def test_empirical_is_its_formula() -> None:
    z = threshold("empirical", 100.0, arms=2, objectives=1, pulls=5000)
    assert z == pytest.approx(math.log(1 + math.log(5000)) + 100, rel=1e-14)


@pytest.mark.parametrize("name", THRESHOLDS)
@given(
    st.floats(0.01, 2000), st.integers(2, 300), st.integers(1, 40), st.floats(1, 1e7), st.floats(1, 1e7), st.integers(1)
)
def test_score_and_needed_are_inverse(
    name: str, log_inv_delta: float, arms: int, objectives: int, b: float, i: float, pulls: int
) -> None:
    rule, shape = THRESHOLDS[name], (arms, objectives)
    level = rule.level(log_inv_delta, *shape)
    assert level > 0
    z = rule.needed(level, b, i, pulls, shape)
    assert score(rule, z, b, i, pulls, shape) == pytest.approx(level, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", THRESHOLDS)
def test_smaller_delta_needs_more(name: str) -> None:
    levels = [THRESHOLDS[name].level(x, 5, 3) for x in (0.1, 1.0, 10.0, 100.0, 1000.0)]
    assert levels == sorted(levels)


@given(st.floats(0, 1e4), st.integers(1, 10**6), st.integers(1, 10**6))
def test_mixture_never_exceeds_z(z: float, b: int, i: int) -> None:
    """E is an average of likelihood ratios below exp(Z): what makes lazy evaluation possible."""
    assert score(Mixture(), z, b, i) <= z


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "bayes"}, "threshold must be one of mixture, kaufmann_koolen, theory, empirical, not 'bayes'"),
        ({"log_inv_delta": 0.0}, "log_inv_delta must be a positive finite number"),
        ({"arms": 1}, "arms must be an integer, 2 or more"),
        ({"objectives": 0}, "objectives must be an integer, 1 or more"),
        ({"pulls": 0}, "pulls must be an integer, 1 or more"),
        ({"leader_pulls": None}, "leader_pulls and other_pulls must be given for the threshold 'mixture'"),
        ({"other_pulls": 0.5}, "leader_pulls and other_pulls must be finite numbers, 1 or more"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "name": "mixture",
        "log_inv_delta": 3.0,
        "arms": 3,
        "objectives": 2,
        "pulls": 9,
        "leader_pulls": 4,
        "other_pulls": 5,
    }
    with pytest.raises(InputError, match=message):
        threshold(**(good | change))
