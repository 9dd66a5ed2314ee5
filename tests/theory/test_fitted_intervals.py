"""Intervals that use decisions: by their definition, on both sides of the indifference zone."""

from __future__ import annotations

import numpy as np
import pytest

from mobai import Problem
from mobai.theory.intervals import IntervalLevels, confidence_intervals
from mobai.theory.observations import Observations


@pytest.mark.parametrize("direction", ["max", "min"])
@pytest.mark.parametrize("eps", [0.0, 0.4])
def test_a_decided_arm_is_within_eps_of_the_best(direction: str, eps: float) -> None:
    problem = Problem(4, [f"x:{direction}:gaussian=1:eps={eps}", "y:gaussian=1"])
    means = np.array([[0.0, 0.0], [-0.3, 1.0], [-1.0, 2.0], [0.2, 3.0]])
    counts = np.array([[400.0, 50.0], [3.0, 50.0], [60.0, 50.0], [5.0, 50.0]])
    seen = Observations.of_statistics(problem, means, counts, np.ones((4, 2)))
    levels = IntervalLevels(np.full(4, 3.0), 3.0)
    plain, fitted = (confidence_intervals(problem, seen, levels, decided) for decided in (None, (0, None)))
    # In the sense in which more is better: arm 0 is at most eps below any other.
    low, high = (plain.lower, plain.upper) if direction == "max" else (-plain.upper, -plain.lower)
    new_low, new_high = (fitted.lower, fitted.upper) if direction == "max" else (-fitted.upper, -fitted.lower)
    expected_high = np.minimum(high[:, 0], high[0, 0] + eps)
    expected_high[0] = high[0, 0]
    assert new_high[:, 0] == pytest.approx(expected_high, abs=1e-12)
    assert (expected_high < high[:, 0]).tolist() == [False, True, False, True]  # the cut is felt
    assert new_low[0, 0] == pytest.approx(max(low[0, 0], low[:, 0].max() - eps), abs=1e-12)
    assert new_low[1:, 0].tolist() == low[1:, 0].tolist()
    assert np.array_equal(fitted.lower[:, 1], plain.lower[:, 1])
    assert np.array_equal(fitted.upper[:, 1], plain.upper[:, 1])


def test_the_lower_end_of_a_decided_arm_is_raised() -> None:
    problem = Problem(2, ["x:gaussian=1:eps=0.25"])
    means, counts = np.array([[1.0], [0.9]]), np.array([[4.0], [10_000.0]])
    seen = Observations.of_statistics(problem, means, counts, np.ones((2, 1)))
    levels = IntervalLevels(np.full(2, 3.0), 3.0)
    plain, fitted = (confidence_intervals(problem, seen, levels, decided) for decided in (None, (0,)))
    assert plain.lower[0, 0] < plain.lower[1, 0] - 0.25
    assert fitted.lower[0, 0] == pytest.approx(plain.lower[1, 0] - 0.25, abs=1e-12)
