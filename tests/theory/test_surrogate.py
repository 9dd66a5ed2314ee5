"""The surrogate program against an independent solver (Clarabel) and closed forms."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import instances

from mobai import InputError, Instance, lower_bound, surrogate_proportions
from mobai.problem import FloatArray
from mobai.theory.surrogate import derivatives


def by_clarabel(instance: Instance, weights: FloatArray, eta: float) -> float:
    arms = instance.shape[0]
    unit = instance.gaps[instance.gaps > 0].min()
    a, b = derivatives(instance.gaps / unit, instance.sd, instance.best_arms, weights)
    s, value = cvxpy.Variable(arms), cvxpy.Variable()
    rows = [
        a[i, m] * s[i] + b[i, m] * s[best] >= value
        for m, best in enumerate(instance.best_arms)
        for i in range(arms)
        if i != best
    ]
    program = cvxpy.Problem(cvxpy.Maximize(value), [*rows, cvxpy.sum(s) == 1, s >= eta / (arms * (1 + eta))])
    return float(program.solve(solver=cvxpy.CLARABEL)) * float(unit) ** 2


@given(instances(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 1.0]))
def test_agrees_with_clarabel(instance: Instance, seed: int, eta: float) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(instance.shape[0]))
    surrogate = surrogate_proportions(instance, weights, eta)
    floor = eta / (instance.shape[0] * (1 + eta))
    assert surrogate.gap <= 1e-9
    assert surrogate.proportions.sum() == pytest.approx(1, abs=1e-12)
    assert (surrogate.proportions >= floor - 1e-12).all()
    assert surrogate.value == pytest.approx(by_clarabel(instance, weights, eta), rel=1e-6)


@given(instances(), st.integers(0, 2**32 - 1))
def test_derivatives_by_differences(instance: Instance, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(instance.shape[0])) + 0.01
    a, b = derivatives(instance.gaps, instance.sd, instance.best_arms, weights)
    for m, best in enumerate(instance.best_arms):
        for i in set(range(instance.shape[0])) - {int(best)}:

            def f(w_i: float, w_b: float, i: int = i, m: int = m, best: int = best) -> float:
                return float(
                    instance.gaps[i, m] ** 2 / 2 / (instance.sd[i, m] ** 2 / w_i + instance.sd[best, m] ** 2 / w_b)
                )

            w_i, w_b, h = weights[i], weights[best], 1e-6
            assert a[i, m] == pytest.approx((f(w_i + h, w_b) - f(w_i - h, w_b)) / (2 * h), rel=1e-4)
            assert b[i, m] == pytest.approx((f(w_i, w_b + h) - f(w_i, w_b - h)) / (2 * h), rel=1e-4)
            assert a[i, m] * w_i + b[i, m] * w_b == pytest.approx(f(w_i, w_b), rel=1e-12)


@given(instances(), st.sampled_from([0.0, 0.1]))
def test_the_oracle_weights_are_a_fixed_point(instance: Instance, eta: float) -> None:
    """At the oracle weights nothing is to be gained; elsewhere the program's value bounds 1/c from above."""
    bound = lower_bound(instance, eta)
    assert surrogate_proportions(instance, bound.weights, eta).value == pytest.approx(1 / bound.value, rel=1e-4)
    even = np.full(instance.shape[0], 1 / instance.shape[0])
    assert surrogate_proportions(instance, even, eta).upper >= bound.lower * (1 - 1e-12)


def test_zero_weights_never_give_nan() -> None:
    instance = Instance([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    for weights in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]):
        surrogate = surrogate_proportions(instance, weights, eta=0.0)
        assert np.isfinite(surrogate.proportions).all()
        assert surrogate.gap <= 1e-9


def test_ties_have_value_zero_and_ask_for_the_tied_arms() -> None:
    surrogate = surrogate_proportions(Instance([[1.0], [1.0], [0.0]]), [0.4, 0.4, 0.2], eta=0.0)
    assert (surrogate.value, surrogate.gap) == (0.0, 0.0)
    assert surrogate.proportions.sum() == pytest.approx(1)
    assert surrogate.proportions[2] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5, 0.0], "weights must be 2 numbers"),
        ([0.5, 0.6], "weights must be nonnegative and sum to one"),
        ([-0.5, 1.5], "weights must be nonnegative and sum to one"),
        ([np.nan, 1.0], "weights must be finite"),
    ],
)
def test_bad_weights(weights: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        surrogate_proportions(Instance([[1.0], [0.0]]), weights)
