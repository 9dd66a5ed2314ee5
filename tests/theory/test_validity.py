"""Simulations that try to break the certified thresholds, with controls that must be caught.

Two arms and a gap towards zero are the hardest case: the test is peeked at after every pull, and for most of the
run chance alone moves it. The arms' difference is what matters, so one arm's rewards are simulated by differences,
many runs at once.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from mobai.problem import FloatArray
from mobai.theory.thresholds import THRESHOLDS

RUNS, ROUNDS, DELTA = 4000, 1500, 0.3


def wrong_crossings(name: str) -> int:
    """How many of the runs decide for arm 0, which is worse by next to nothing, when looked at after every round."""
    rule = THRESHOLDS[name]
    level = rule.level(-math.log(DELTA), 2, 1)
    return int(_crossed(np.array([rule.needed(level, n, n, 2 * n, (2, 1)) for n in range(1, ROUNDS + 1)])).sum())


def _crossed(needed: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    rng = np.random.default_rng(2024)
    crossed = np.zeros(RUNS, dtype=np.bool_)
    difference = np.zeros(RUNS)
    for n in range(1, ROUNDS + 1):
        difference += math.sqrt(2) * rng.standard_normal(RUNS) - 1e-9
        z = difference**2 / (4 * n)
        crossed |= (difference > 0) & (z > needed[n - 1])
    return crossed


@pytest.mark.parametrize("name", ["mixture", "kaufmann_koolen"])
def test_certified_thresholds_hold(name: str) -> None:
    errors = wrong_crossings(name)
    interval = binomtest(errors, RUNS).proportion_ci(0.999)
    assert interval.low <= DELTA
    if name == "mixture":
        assert errors > 0, "a simulation in which nothing ever fires shows nothing"


def test_a_peeked_fixed_sample_test_is_caught() -> None:
    """The control: a test that is valid once, at level DELTA, looked at after every round."""
    quantile = norm.isf(DELTA)
    errors = int(_crossed(np.full(ROUNDS, quantile**2 / 2)).sum())
    assert binomtest(errors, RUNS).proportion_ci(0.999).low > DELTA
