from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

from mobai import InputError
from mobai.theory.confidence import binary_relative_entropy, resolve_log_inv_delta


@pytest.mark.parametrize("log_inv_delta", [0.7, 1.0, 3.0, 50.0, 700.0, 1e5])
def test_relative_entropy_against_mpmath(log_inv_delta: float) -> None:
    with mpmath.workdps(60):
        d = mpmath.exp(-mpmath.mpf(log_inv_delta))
        exact = d * mpmath.log(d / (1 - d)) + (1 - d) * mpmath.log((1 - d) / d)
        assert binary_relative_entropy(log_inv_delta) == pytest.approx(float(exact), rel=1e-13)


def test_no_information_is_needed_for_a_coin_toss() -> None:
    assert binary_relative_entropy(math.log(2)) == pytest.approx(0, abs=1e-15)
    assert binary_relative_entropy(0.1) == 0


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan, "0.1", None, True])
def test_bad_delta(delta: Any) -> None:
    with pytest.raises(InputError, match="delta"):
        resolve_log_inv_delta(delta)


@pytest.mark.parametrize("log_inv_delta", [0, -1, math.inf, math.nan, "7"])
def test_bad_log_inv_delta(log_inv_delta: Any) -> None:
    with pytest.raises(InputError, match="log_inv_delta must be a positive finite number"):
        resolve_log_inv_delta(log_inv_delta=log_inv_delta)


def test_one_of_both() -> None:
    with pytest.raises(InputError, match="exactly one"):
        resolve_log_inv_delta(0.1, 2.0)
