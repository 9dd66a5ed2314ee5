"""c* against independent references: Clarabel, the root-finding solution for one objective, closed forms."""

from __future__ import annotations

import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from tests.strategies import instances

from mobai import ConvergenceError, InputError, Instance, TieError, lower_bound
from mobai.lab.instances import remark2, snw, synthetic
from mobai.problem import FloatArray
from mobai.theory import oracle
from mobai.theory.pairs import Pairs, rivals

GAP = 1e-9


def rate(instance: Instance, weights: FloatArray) -> float:
    """The obvious twin of g_v(w), pair by pair."""
    smallest = np.inf
    for m, b in enumerate(instance.best_arms):
        for i in range(instance.shape[0]):
            if i != b:
                noise = instance.sd[i, m] ** 2 / weights[i] + instance.sd[b, m] ** 2 / weights[b]
                smallest = min(smallest, instance.gaps[i, m] ** 2 / 2 / noise)
    return float(smallest)


def by_clarabel(instance: Instance, eta: float) -> float:
    """c* as a cone program in the inverse weights u = 1/w, where the pairs are linear: own u_i + lead u_b <= 1.

    Gaps are in units of the smallest one, inverse weights in units of what the arm would need on its own.
    """
    arms, objectives = instance.shape
    unit = instance.gaps[instance.gaps > 0].min()
    ratio = unit / np.where(instance.gaps > 0, instance.gaps, np.inf)
    sizes = ratio.max(axis=1) ** 2
    sizes[instance.best_arms] = 1.0
    w, u = cvxpy.Variable(arms), cvxpy.Variable(arms)
    constraints = [w >= cvxpy.inv_pos(u)]
    for m in range(objectives):
        b = instance.best_arms[m]
        rivals = np.delete(np.arange(arms), b)
        own, lead = (
            2 * (instance.sd[rivals, m] * ratio[rivals, m]) ** 2,
            2 * (instance.sd[b, m] * ratio[rivals, m]) ** 2,
        )
        constraints.append(cvxpy.multiply(own / sizes[rivals], u[rivals]) + lead / sizes[b] * u[b] <= 1)
    weights = cvxpy.multiply(sizes, w)
    if eta:
        constraints.append(weights >= eta / (arms * (1 + eta)) * cvxpy.sum(weights))
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(weights)), constraints)
    return float(program.solve(solver=cvxpy.CLARABEL)) / float(unit) ** 2


def by_root_finding(means: FloatArray) -> float:
    """c* for one objective (Garivier & Kaufmann 2016, Theorem 5): all costs equal, sum of (w_i/w_b)^2 = 1.

    With x_i = w_i/w_b and half squared gaps h_i: h_i x_i/(1 + x_i) = y for all rivals, for the y where the squares
    sum to 1.
    """
    half = np.sort(means.max() - means)[1:] ** 2 / 2
    y = brentq(lambda y: ((y / (half - y)) ** 2).sum() - 1, 0, half.min() * (1 - 1e-15), xtol=1e-300, rtol=1e-15)
    return float((1 + (y / (half - y)).sum()) / y)


def check_certificate(instance: Instance, eta: float = 0.0) -> None:
    bound = lower_bound(instance, eta)
    arms = instance.shape[0]
    assert bound.gap <= GAP
    assert bound.value == pytest.approx(1 / bound.upper, rel=1e-15)
    assert bound.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (bound.weights >= eta / (arms * (1 + eta)) * (1 - 1e-12)).all()
    assert (bound.prices >= 0).all()
    assert bound.prices.sum() == pytest.approx(1)
    assert rate(instance, bound.weights) == pytest.approx(bound.lower, rel=1e-12)


@given(instances(), st.sampled_from([0.0, 0.1, 1.0]))
def test_agrees_with_clarabel(instance: Instance, eta: float) -> None:
    assert lower_bound(instance, eta).value == pytest.approx(by_clarabel(instance, eta), rel=1e-6)


@pytest.mark.parametrize("instance", [synthetic(seed=0), snw()], ids=["synthetic", "snw"])
def test_agrees_with_clarabel_on_the_papers_instances(instance: Instance) -> None:
    assert lower_bound(instance).value == pytest.approx(by_clarabel(instance, 0.0), rel=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 10, 100]))
def test_agrees_with_root_finding_for_one_objective(seed: int, arms: int) -> None:
    means = np.random.default_rng(seed).normal(size=(arms, 1))
    assert lower_bound(Instance(means)).value == pytest.approx(by_root_finding(means[:, 0]), rel=2e-9)


def test_closed_forms() -> None:
    assert lower_bound(Instance([[3.0], [1.0]])).value == pytest.approx(2, rel=1e-9)
    # Two arms with noise s1, s2: c* = 2 (s1 + s2)^2 / D^2, weights in proportion to the noise.
    bound = lower_bound(Instance([[1.0], [0.0]], sd=[[3.0], [1.0]]))
    assert bound.value == pytest.approx(32, rel=1e-9)
    assert bound.weights == pytest.approx([0.75, 0.25], rel=1e-5)
    for eps in (1.0, 0.1, 1e-3):
        assert lower_bound(remark2(eps)).value == pytest.approx(8 / eps**2, rel=1e-7)


@given(instances(wide=True), st.sampled_from([0.0, 1e-3, 0.1, 10.0]))
def test_certificate_over_many_magnitudes(instance: Instance, eta: float) -> None:
    check_certificate(instance, eta)


@pytest.mark.parametrize(("arms", "objectives"), [(2, 1), (2, 30), (5, 40), (30, 30), (206, 2), (1000, 5), (1000, 20)])
@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_certificate_at_many_sizes(arms: int, objectives: int, eta: float) -> None:
    rng = np.random.default_rng([arms, objectives])
    check_certificate(Instance(rng.normal(size=(arms, objectives))), eta)


def test_one_arm_best_everywhere() -> None:
    means = np.random.default_rng(5).uniform(size=(8, 4))
    means[3] += 1
    check_certificate(Instance(means))


@given(instances(), st.sampled_from([0.05, 0.5, 3.0]))
def test_the_floor_costs_at_most_a_factor(instance: Instance, eta: float) -> None:
    free, floored = lower_bound(instance).value, lower_bound(instance, eta).value
    assert free <= floored * (1 + GAP)
    assert floored <= (1 + eta) * free * (1 + GAP)


@given(instances())
def test_permuting_permutes(instance: Instance) -> None:
    rng = np.random.default_rng(instance.shape)
    arms, objectives = rng.permutation(instance.shape[0]), rng.permutation(instance.shape[1])
    permuted = lower_bound(Instance(instance.means[np.ix_(arms, objectives)]))
    original = lower_bound(instance)
    assert permuted.value == pytest.approx(original.value, rel=2 * GAP)
    # The rate is flat around its maximum: an error g in the value allows one of about sqrt(g) in the weights.
    assert permuted.weights == pytest.approx(original.weights[arms], abs=1e-4)


@given(instances(), st.floats(-100, 100), st.sampled_from([1e-6, 0.1, 1e6]))
def test_shift_and_scale_change_nothing(instance: Instance, shift: float, scale: float) -> None:
    moved = Instance((instance.means + shift) * scale, instance.sd * scale)
    assert lower_bound(moved).value == pytest.approx(lower_bound(instance).value, rel=1e-6)


@given(instances())
def test_minimising_the_negative_is_the_same(instance: Instance) -> None:
    objectives = [f"{name}:min" for name in instance.problem.objective_names]
    flipped = Instance(-instance.means, objectives=objectives)
    assert lower_bound(flipped).value == lower_bound(instance).value


@given(instances(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2]))
def test_the_certificate_does_not_trust_the_solver(instance: Instance, seed: int, mass: float) -> None:
    """Whatever point is certified, even a random one, its two bounds enclose the truth."""
    rng, pairs = np.random.default_rng(seed), Pairs.of(instance)
    weights = rng.dirichlet(np.ones(instance.shape[0])) * (1 - mass) + mass / instance.shape[0]
    prices = np.where(rivals(pairs.best, len(weights)), rng.exponential(size=instance.shape), 0)
    floor_prices = rng.uniform(size=instance.shape[0])
    claim = oracle.certify(pairs, mass, weights, prices, floor_prices)
    best = oracle.solve_oracle(pairs, mass)
    assert claim.lower <= best.upper
    assert claim.upper >= best.lower


def test_samples() -> None:
    bound = lower_bound(Instance([[2.0], [0.0]]))
    assert bound.samples(0.05) == pytest.approx(2 * 2.649995, rel=1e-6)
    assert bound.samples(log_inv_delta=700) == pytest.approx(1400, rel=1e-8)
    assert bound.samples(0.7) == 0
    with pytest.raises(InputError, match="delta must be a number between 0 and 1"):
        bound.samples(0)


def test_tie_and_bad_eta() -> None:
    with pytest.raises(TieError, match="'arm 0', 'arm 1' are tied"):
        lower_bound(Instance([[1], [1]]))
    with pytest.raises(InputError, match=r"eta must be a number from 0 to 1e\+06, not -1"):
        lower_bound(Instance([[1], [2]]), eta=-1)


def test_gaps_too_far_apart() -> None:
    with pytest.raises(InputError, match="the largest may be at most 1e\\+50 times the smallest"):
        lower_bound(Instance([[1e-90], [0.0], [-1.0]]))
    check_certificate(Instance([[1e-40], [0.0], [-1.0]]))


@pytest.mark.parametrize("size", [1e-99, 1e99])
def test_sizes_at_the_ends_of_the_range(size: float) -> None:
    means, sd = np.array([[1.0], [0.0], [-2.0]]), 1e50 if size > 1 else 1e-50
    near = lower_bound(Instance(means * size / sd)) if abs(np.log10(size / sd)) < 51 else None
    far = lower_bound(Instance(means * size, sd=sd))
    assert near is not None
    assert far.weights == pytest.approx(near.weights)


def test_a_failed_certificate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "_MOST_STEPS", 2)
    with pytest.raises(ConvergenceError, match="certified only to a relative gap"):
        lower_bound(synthetic(seed=0))


def test_an_indifference_zone_of_one_objective_raises_the_best_arm() -> None:
    """With one objective every gap grows by eps, which is the same as a best arm that is better by eps."""
    means = np.array([[0.5], [0.3], [0.1], [0.45]])
    raised = means + np.array([[0.2], [0], [0], [0]])
    zone = lower_bound(Instance(means, objectives=["x:eps=0.2"]))
    assert zone.value == pytest.approx(lower_bound(Instance(raised)).value, rel=1e-8)
    assert zone.answers.tolist() == [0]


def test_the_cheapest_right_answers_count() -> None:
    """An arm that is nearly best twice can be cheaper to show right than two best arms; checked by trying all."""
    means = np.array([[1.0, 0.9], [0.95, 0.95], [0.9, 1.0], [0.0, 0.2]])
    objectives = ["a:eps=0.3", "b:eps=0.3"]
    found = lower_bound(Instance(means, objectives=objectives))
    values = {}
    for first in range(3):
        for second in range(3):
            # Told apart from an arm that is better by eps: the gaps of an instance with these answers raised.
            gaps = [means[first, 0] - means[:, 0] + 0.3, means[second, 1] - means[:, 1] + 0.3]
            table = -np.array(gaps).T
            table[first, 0] = table[second, 1] = 0
            values[first, second] = lower_bound(Instance(table)).value
    best = min(values, key=lambda pair: values[pair])
    assert found.value == pytest.approx(values[best], rel=1e-8)
    assert values[tuple(found.answers.tolist())] == pytest.approx(values[best], rel=1e-8)
    assert found.value < lower_bound(Instance(means)).value


def test_ties_within_eps_are_no_obstacle() -> None:
    bound = lower_bound(Instance([[1.0], [1.0]], objectives=["x:eps=0.5"]))
    assert bound.value == pytest.approx(8 / 0.25)
    with pytest.raises(TieError, match="say with eps"):
        lower_bound(Instance([[1.0], [1.0]]))


def test_too_many_right_answers() -> None:
    objectives = [f"x{m}:eps=5" for m in range(6)]
    with pytest.raises(InputError, match="eps: 15,625 combinations of arms are right answers"):
        lower_bound(Instance(np.eye(5, 6), objectives=objectives))


def test_other_families_are_approximated() -> None:
    coins = lower_bound(Instance([[0.5], [0.4]], objectives=["x:bernoulli"]))
    assert not coins.exact
    assert coins.value == pytest.approx(lower_bound(Instance([[0.5], [0.4]], [[0.5], [math.sqrt(0.24)]])).value)
    assert lower_bound(Instance([[0.5], [0.4]], objectives=["x:subgaussian=2"])).exact


def test_gaps_whose_squares_vanish() -> None:
    with pytest.raises(
        InputError, match="gaps must not be so small, compared with the noise, that their squares are 0"
    ):
        lower_bound(Instance([[0.0], [1e-200]]))
    with pytest.raises(InputError, match="instance must be an Instance, not 5"):
        lower_bound(5)  # type: ignore[arg-type]
