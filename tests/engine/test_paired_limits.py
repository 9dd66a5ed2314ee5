"""Limits of arms that are measured on the same things: never wrong at the end, whatever comes when."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mobai import InputError, TableInstance
from mobai.kernels.stats.observations import BROKEN, KEPT, LimitState
from mobai.problem import Design, FloatArray, Problem
from mobai.problem.guardrail import NOBODY
from mobai.rules.stopping import Paired
from mobai.rules.stopping.comparison import Comparison

COST = "cost:bounded=0..2:at-most=0.5"
SHARES = [0.97 * 1.9**-q for q in range(12)]


def sheet_of(values: FloatArray, problem: Problem, level: float, order: list[int] | None = None) -> Comparison:
    """Tell everything, in some order, and look after each result."""
    seen = Comparison(problem, level)
    cells = [(j, i) for j in range(len(values)) for i in range(values.shape[1])]
    for n in range(len(cells)) if order is None else order:
        j, i = cells[n]
        seen.tell(j, i, (values[j, i] * problem.signs).tolist())
        seen.look(n)
    return seen


@pytest.mark.parametrize("limit", ["at-most=0.5", "at-least=0.5", "at-most=0.5:eps=0.1", "at-least=1.5:eps=0.25"])
def test_bets_on_limits_are_those_of_the_formula(limit: str) -> None:
    values = np.random.default_rng(0).random((40, 2, 2)) * [1.0, 2.0]
    problem = Problem(2, ["x:bounded=0..1"], guardrails=[f"cost:bounded=0..2:{limit}"], design=Design("stream"))
    guardrail, costs = problem.guardrails[0], values[:, 0, 1]
    found = sheet_of(values, problem, math.inf).limits.evidence()[:, 0, 0]
    more = guardrail.at_least is not None
    for claim, null, above in ((KEPT, guardrail.bound, more), (BROKEN, guardrail.limit, not more)):
        assert null is not None
        gains = (costs - null) / null if above else (null - costs) / (2.0 - null)
        wealth = [np.mean([np.prod(1 + u * gains[:n]) for u in SHARES]) for n in range(1, 41)]
        assert found[claim] == pytest.approx(max(math.log(max(wealth)), 0.0), rel=1e-9)


def test_bets_on_margins_are_those_of_differences() -> None:
    values = np.random.default_rng(1).random((30, 3, 1))
    problem = Problem(["a", "b", "c"], ["x:bounded=0..1"], guardrails=["x:within=0.1:of=a"], design=Design("rounds"))
    limits = sheet_of(values, problem, math.inf).limits
    for claim, sign, null in ((KEPT, 1.0, 0.1), (BROKEN, -1.0, -0.1)):
        gains = (sign * (values[:, 2, 0] - values[:, 0, 0]) + null) / (1.0 - null)
        wealth = max(np.mean([np.prod(1 + u * gains[:n]) for u in SHARES]) for n in range(1, 31))
        assert limits.evidence()[claim, 0, 2] == pytest.approx(max(math.log(wealth), 0.0), rel=1e-9)
    assert limits.statuses()[0, 0] == LimitState.OPEN  # the arm that others are measured from


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "limits",
    [
        ["cost:bounded=0..1:at-most=0.5"],
        ["cost:bounded=0..1:at-most=0.5:eps=0.05"],
        ["cost:bounded=0..1:at-least=0.5", "score:at-least=0.45"],
        ["score:within=0.02:of=arm 0"],
        ["cost:bounded=0..1:at-most=0.01"],
    ],
)
@pytest.mark.parametrize("objective", ["score:bounded=0..1", "score:bounded=0..1:eps=0.03"])
def test_a_finite_benchmark_is_never_wrong_at_its_end(seed: int, limits: list[str], objective: str) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.random((40, 4, 1 + (limits[0][0] == "c"))), 2)
    found = TableInstance(values, [f"arm {i}" for i in range(4)], [objective], limits).race(
        delta=0.05, trials=10, seed=seed
    )
    assert found.errors == 0
    assert found.undecided == 0
    assert found.measurements.max() <= 160


def test_an_arm_on_its_limit_keeps_it_and_nobody_may_qualify() -> None:
    values = np.tile([[[0.5], [0.75]], [[0.5], [0.25]]], (8, 1, 1))
    table = TableInstance(values, ["a", "b"], ["x:bounded=0..1"], ["x:at-least=0.5"])
    assert table.race(trials=3).undecided == 0  # both are on it, and equal
    none = TableInstance(values, ["a", "b"], ["x:bounded=0..1"], ["x:at-least=0.625"]).race(trials=3)
    assert none.answers.tolist() == [[NOBODY]] * 3
    assert none.errors == 0


@pytest.mark.parametrize("kind", ["items", "stream"])
def test_the_order_in_which_results_come_changes_nothing(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = np.stack([rng.random((60, 3)), rng.random((60, 3)) * [0.4, 0.9, 1.6]], axis=2)
    design = Design("items", 60) if kind == "items" else Design("stream")
    problem = Problem(3, ["score:bounded=0..1"], guardrails=[COST + ":eps=0.1"], design=design)
    first, *others = (sheet_of(values, problem, 1.0, rng.permutation(180).tolist()).limits.statuses() for _ in range(5))
    assert (first != LimitState.OPEN).any()
    assert all((one == first).all() for one in others)


def test_who_breaks_a_limit_rules_nobody_out() -> None:
    rng = np.random.default_rng(4)
    score = rng.random((2000, 1)) * 0.5 + [[0.5, 0.2, 0.0]]
    cost = np.clip(rng.normal([0.56, 0.3, 0.2], 0.2, (2000, 3)), 0.0, 2.0)
    problem = Problem(["a", "b", "c"], ["score:bounded=0..1"], guardrails=[COST], design=Design("stream"))
    seen, level, spared = Comparison(problem, 5.0), 5.0, 0
    for j, row in enumerate(np.stack([score, cost], axis=2)):
        for i in np.flatnonzero(seen.open_arms()).tolist():
            seen.tell(j, i, (row[i] * problem.signs).tolist())
        seen.look(j)
        if seen.bets.top[0, 0, 0, 1] > level and seen.limits.statuses()[0, 0] == LimitState.OPEN:
            spared += 1
            assert not seen.out[0, 1]  # beaten, but by one of which nobody knows whether it may win
    decision = seen.decided[0]
    assert decision is not None
    assert decision.arm == 1
    assert (seen.out_by[0, 0], seen.out_by[0, 2]) == (-1, 1)
    assert spared > 10


def test_limits_are_said_wrongly_no_more_often_than_delta() -> None:
    """Costs with a mean at the limit: neither claim is true. A control that looks at the mean alone is caught."""
    rng, wrong, fooled, delta = np.random.default_rng(5), 0, 0, 0.4
    problem = Problem(2, ["score:bounded=0..1"], guardrails=[COST], design=Design("stream"))
    level = Paired().level(problem, -math.log(delta))
    for _ in range(400):
        costs = rng.choice([0.25, 1.0], p=[2 / 3, 1 / 3], size=(200, 2))
        values = np.stack([np.full((200, 2), 0.5), costs], axis=2)
        seen = Comparison(problem, level)
        seen.fill(values * problem.signs)
        seen.sheet.until[:] = 200
        for i in range(2):
            seen.limits.advance(seen.sheet, i)
        wrong += bool((seen.limits.statuses() != LimitState.OPEN).any())
        means = np.cumsum(costs, axis=0) / np.arange(1, 201)[:, None]
        errors = 0.354 / np.sqrt(np.arange(1, 201))[:, None]
        fooled += bool((np.abs(means - 0.5) > 1.28 * errors)[10:].any())
    assert 0 < wrong <= 400 * delta
    assert fooled > 400 * delta


@pytest.mark.parametrize(
    ("objectives", "limits", "design", "about"),
    [
        (["x:wins"], ["x:at-most=2"], Design("stream"), "wins have no mean"),
        (["x:bounded=0..1"], [COST], Design("rounds"), "no mean keeps a limit"),
        (["x:bounded=0..1"], ["t:unknown-variance:at-most=2"], Design("items", 5), "state bernoulli, bounded"),
    ],
)
def test_limits_that_cannot_be_told_are_refused(
    objectives: list[str], limits: list[str], design: Design, about: str
) -> None:
    with pytest.raises(InputError, match=about):
        Problem(2, objectives, guardrails=limits, design=design)


@pytest.mark.parametrize("family", ["gaussian=0.3", "unknown-variance"])
def test_gaussian_limits_are_told(family: str) -> None:
    rng = np.random.default_rng(6)
    problem = Problem(2, ["x:bounded=0..1"], guardrails=[f"t:{family}:at-most=1:eps=0.1"], design=Design("stream"))
    times = rng.normal([0.7, 1.5], 0.3, (200, 2))
    seen = sheet_of(np.stack([rng.random((200, 2)), times], axis=2), problem, 5.0)
    assert seen.limits.statuses().tolist() == [[LimitState.KEPT, LimitState.BROKEN]]


def test_a_sheet_is_restored_with_its_limits() -> None:
    rng = np.random.default_rng(7)
    problem = Problem(3, ["score:bounded=0..1"], guardrails=[COST], design=Design("stream"))
    values = np.stack([rng.random((80, 3)), rng.random((80, 3)) * [0.4, 0.9, 1.6]], axis=2)
    seen, other = sheet_of(values, problem, 3.0), Comparison(problem, 3.0)
    other.restore(seen.state(), seen.decided)
    assert (other.limits.statuses() == seen.limits.statuses()).all()
    assert (other.limits.evidence() == seen.limits.evidence()).all()
