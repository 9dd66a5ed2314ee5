"""The surrogate program against independent solvers (HiGHS, Clarabel), on random programs and on real trajectories."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import instances

from mobai import MOBAI, ConvergenceError, InputError, Instance, Policy, lower_bound, surrogate_proportions
from mobai.kernels.programs import surrogate as kernels
from mobai.lab.environment import Environment
from mobai.lab.instances import remark2, snw, synthetic
from mobai.problem import FloatArray, Problem
from mobai.theory.highs import derivatives, solve_with_highs
from mobai.theory.pairs import floor_mass
from mobai.theory.surrogate import Surrogate, SurrogatePlan, surrogate_fallbacks

GAP = 1e-9


def by_highs(instance: Instance, weights: FloatArray, eta: float) -> Surrogate:
    return Surrogate(*solve_with_highs(instance.gaps.T, instance.sd.T**2, instance.best_arms, weights, floor_mass(eta)))


def by_clarabel(instance: Instance, weights: FloatArray, eta: float) -> float:
    arms = instance.shape[0]
    unit = instance.gaps[instance.gaps > 0].min()
    a, b = derivatives(instance.gaps.T / unit, instance.sd.T**2, instance.best_arms, weights)
    s, value = cvxpy.Variable(arms), cvxpy.Variable()
    rows = [
        a[m, i] * s[i] + b[m, i] * s[best] >= value
        for m, best in enumerate(instance.best_arms)
        for i in range(arms)
        if i != best
    ]
    program = cvxpy.Problem(cvxpy.Maximize(value), [*rows, cvxpy.sum(s) == 1, s >= eta / (arms * (1 + eta))])
    return float(program.solve(solver=cvxpy.CLARABEL)) * float(unit) ** 2


def check(surrogate: Surrogate, eta: float, least_gap: float = GAP) -> None:
    floor = eta / (len(surrogate.proportions) * (1 + eta))
    assert surrogate.gap <= least_gap
    assert abs(surrogate.proportions.sum() - 1) <= 1e-12
    assert (surrogate.proportions >= floor - 1e-12).all()


def random_program(rng: np.random.Generator) -> tuple[Instance, FloatArray, float]:
    """A program of random shape: few and many arms, ties between rivals, one best arm, zero weights."""
    arms, objectives = int(rng.choice([2, 3, 4, 7, 20, 40])), int(rng.choice([1, 2, 3, 5, 10, 30]))
    kind = rng.integers(4)
    means = rng.normal(size=(arms, objectives))
    if kind == 1:
        means = rng.integers(0, 4, (arms, objectives)) + 5.0 * (np.arange(arms) == rng.integers(arms))[:, None]
    weights, eta = rng.dirichlet(np.ones(arms)), float(rng.choice([0.0, 0.1, 1.0]))
    if kind == 2:
        weights = np.bincount(rng.integers(arms, size=2), minlength=arms) / 2
    else:
        weights = (weights + eta / arms) / (1 + eta)
    sd = 1.0 if kind != 3 else rng.uniform(0.1, 3, (arms, objectives))
    return Instance(means, sd), weights, eta


@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_highs_on_250_random_programs(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    before = surrogate_fallbacks()
    for _ in range(250):
        instance, weights, eta = random_program(rng)
        ours, reference = surrogate_proportions(instance, weights, eta), by_highs(instance, weights, eta)
        check(ours, eta)
        assert ours.value == pytest.approx(reference.value, rel=GAP + 2 * reference.gap)
    assert surrogate_fallbacks() == before


@given(instances(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 1.0]))
def test_agrees_with_clarabel(instance: Instance, seed: int, eta: float) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(instance.shape[0]))
    surrogate = surrogate_proportions(instance, weights, eta)
    check(surrogate, eta)
    assert surrogate.value == pytest.approx(by_clarabel(instance, weights, eta), rel=1e-6)


@pytest.mark.parametrize(
    ("instance", "eta", "refresh", "pulls"),
    [
        (synthetic(seed=0), 0.1, "doubling", 300),
        (synthetic(seed=0), 0.1, "every", 200),
        (synthetic(seed=1), 2.0, "doubling", 150),
        (snw(), 0.1, "doubling", 150),
        (snw(negate_area=False), 0.1, "every", 100),
        (remark2(), 0.1, "every", 150),
    ],
    ids=["synthetic", "synthetic-every", "synthetic-eta-2", "snw", "snw-every", "remark2"],
)
def test_agrees_with_highs_at_every_step(instance: Instance, eta: float, refresh: Any, pulls: int) -> None:
    """Real trajectories, warm started: what MO-BAI's own programs reach, against HiGHS on the same programs."""
    session, world = Policy(MOBAI(eta, refresh)).start(instance.problem), Environment(instance, seed=1)
    arms, mass = instance.shape[0], floor_mass(eta)
    variance = ((instance.sd / instance.sd.max(axis=0)) ** 2).T
    for step in range(arms + pulls):
        before, asked = session.engine.memory, session.observations.asked.copy()
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        if step < arms:
            continue
        plan = session.engine.memory
        gaps, best, shares = plan.gaps, plan.best, plan.shares
        weights = (asked + before.weights) / step
        _, reference, upper = solve_with_highs(gaps, variance, best, weights, mass)
        a, b = derivatives(gaps, variance, best, weights)
        rates = a * shares[0] + b * shares[0][best][:, None]
        rates[np.arange(len(best)), best] = np.inf
        assert rates.min() == pytest.approx(reference, rel=GAP + 2 * (upper - reference) / upper)
        assert shares[0].min() >= mass / arms * (1 - 1e-12)
        assert shares[0].sum() == pytest.approx(1, abs=1e-12)
        assert np.array_equal(np.delete(plan.weights, arm), np.delete(before.weights + shares[0], arm))


def test_discrete_rewards_with_ties_all_along() -> None:
    session = Policy(MOBAI(refresh="every")).start(Problem(4, 3, 1.0), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        session.tell(session.ask(), rng.integers(0, 2, 3))
    assert (session.observations.asked > 0).all()


@given(instances(), st.integers(0, 2**32 - 1))
def test_derivatives_by_differences(instance: Instance, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(instance.shape[0])) + 0.01
    a, b = derivatives(instance.gaps.T, instance.sd.T**2, instance.best_arms, weights)
    for m, best in enumerate(instance.best_arms):
        for i in set(range(instance.shape[0])) - {int(best)}:

            def f(w_i: float, w_b: float, i: int = i, m: int = m, best: int = best) -> float:
                return float(
                    instance.gaps[i, m] ** 2 / 2 / (instance.sd[i, m] ** 2 / w_i + instance.sd[best, m] ** 2 / w_b)
                )

            w_i, w_b, h = weights[i], weights[best], 1e-6
            assert a[m, i] == pytest.approx((f(w_i + h, w_b) - f(w_i - h, w_b)) / (2 * h), rel=1e-4)
            assert b[m, i] == pytest.approx((f(w_i, w_b + h) - f(w_i, w_b - h)) / (2 * h), rel=1e-4)
            assert a[m, i] * w_i + b[m, i] * w_b == pytest.approx(f(w_i, w_b), rel=1e-12)


@given(instances(), st.sampled_from([0.0, 0.1]))
def test_the_oracle_weights_are_a_fixed_point(instance: Instance, eta: float) -> None:
    """At the oracle weights nothing is to be gained; elsewhere the program's value bounds 1/c from above."""
    bound = lower_bound(instance, eta)
    assert surrogate_proportions(instance, bound.weights, eta).value == pytest.approx(1 / bound.value, rel=1e-4)
    even = np.full(instance.shape[0], 1 / instance.shape[0])
    assert surrogate_proportions(instance, even, eta).upper >= bound.lower * (1 - 1e-12)


@pytest.mark.parametrize(
    ("arms", "objectives"), [(2, 1), (2, 30), (30, 30), (60, 30), (206, 2), (1000, 5), (10_000, 10)]
)
@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_many_sizes(arms: int, objectives: int, eta: float) -> None:
    rng = np.random.default_rng([arms, objectives])
    means = rng.normal(size=(arms, objectives))
    if arms == 60:
        means[np.arange(30), np.arange(30)] += 9  # thirty distinct best arms
    check(surrogate_proportions(Instance(means), rng.dirichlet(np.ones(arms)), eta), eta)


@given(instances(most_arms=20, wide=True), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1]))
def test_many_magnitudes(instance: Instance, seed: int, eta: float) -> None:
    """Gaps over twelve orders, noise over four, weights over six. HiGHS may have to help, at its own accuracy."""
    weights = 10 ** np.random.default_rng(seed).uniform(-6, 0, instance.shape[0])
    surrogate = surrogate_proportions(instance, weights / weights.sum(), eta)
    check(surrogate, eta, 1e-6 if surrogate.fallback else GAP)


def test_one_arm_best_everywhere() -> None:
    means = np.random.default_rng(5).uniform(size=(8, 4))
    means[3] += 1
    check(surrogate_proportions(Instance(means), np.full(8, 1 / 8), 0.1), 0.1)


def test_zero_weights_never_give_nan() -> None:
    instance = Instance([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    for weights in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]):
        check(surrogate_proportions(instance, weights, eta=0.0), 0.0)


@pytest.mark.parametrize("solve", [surrogate_proportions, by_highs])
def test_ties_have_value_zero_and_ask_for_the_tied_arms(solve: Any) -> None:
    surrogate = solve(Instance([[1.0], [1.0], [0.0]]), np.array([0.4, 0.4, 0.2]), eta=0.0)
    assert (surrogate.value, surrogate.gap) == (0.0, 0.0)
    assert surrogate.proportions.sum() == pytest.approx(1)
    assert surrogate.proportions[2] == pytest.approx(0, abs=1e-9)


def test_everything_tied() -> None:
    surrogate = surrogate_proportions(Instance(np.ones((5, 3))), np.full(5, 0.2), eta=0.1)
    check(surrogate, 0.1)
    assert surrogate.value == 0


def test_an_earlier_basis_may_still_be_optimal() -> None:
    instance = synthetic(seed=0)
    plan = SurrogatePlan(instance.gaps, instance.sd, instance.best_arms, 0.1)
    first, bases = plan.solve(np.full(20, 0.05), plan.no_bases())
    again, _ = plan.solve(np.full(20, 0.05), bases)
    assert first.pivots > 0
    assert again.pivots == 0
    assert again.proportions == pytest.approx(first.proportions, abs=1e-12)


def test_bases_are_not_changed_in_place() -> None:
    instance = synthetic(seed=0)
    plan = SurrogatePlan(instance.gaps, instance.sd, instance.best_arms, 0.1)
    empty = plan.no_bases()
    plan.solve(np.full(20, 0.05), empty)
    assert (empty.codes == -1).all()
    assert (empty.shares == 0).all()


def test_a_failed_certificate_is_counted_and_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> tuple[float, float, int]:
        arguments[-1][0] = 1 / 20
        return 0.0, np.inf, 7

    instance, before = synthetic(seed=0), surrogate_fallbacks()
    monkeypatch.setattr(kernels, "solve_surrogate", fail)
    surrogate = surrogate_proportions(instance, np.full(20, 0.05))
    assert surrogate.fallback
    assert surrogate_fallbacks() == before + 1
    check(surrogate, 0.1)


def test_highs_giving_up_leaves_our_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: Any) -> None:
        raise ConvergenceError("out of time")

    def nearly(*arguments: Any) -> tuple[float, float, int]:
        arguments[-1][0] = 1 / 20
        return 1.0, 1.0 + 1e-6, 7

    monkeypatch.setattr(kernels, "solve_surrogate", nearly)
    monkeypatch.setattr("mobai.theory.surrogate.solve_with_highs", give_up)
    surrogate = surrogate_proportions(synthetic(seed=0), np.full(20, 0.05))
    assert surrogate.fallback
    assert surrogate.gap == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("size", [1e-99, 1e-40, 1e99])
def test_sizes_at_the_ends_of_the_range(size: float) -> None:
    """The proportions depend on ratios only; a gap that vanishes beside another one is a tie."""
    means = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.4]])
    ours = surrogate_proportions(Instance(means * size), [0.3, 0.3, 0.4])
    assert ours.proportions == pytest.approx(surrogate_proportions(Instance(means), [0.3, 0.3, 0.4]).proportions)
    mixed = surrogate_proportions(Instance([[1e99, 0.0], [0.0, 1e-99], [0.0, 0.0]]), [0.3, 0.3, 0.4])
    assert np.isfinite(mixed.proportions).all()
    assert mixed.value == 0


def test_highs_giving_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        x, message = None, "out of time"

    monkeypatch.setattr("scipy.optimize.linprog", lambda **_: Nothing())
    with pytest.raises(ConvergenceError, match="HiGHS did not solve the surrogate program: out of time"):
        by_highs(synthetic(seed=0), np.full(20, 0.05), 0.1)


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
