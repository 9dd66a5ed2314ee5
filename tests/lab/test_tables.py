"""Races over tables: the same as measuring one after the other, never wrong at the end, and what they save."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.engine.test_comparison import race

from mobai import InputError, TableInstance
from mobai.lab.tables import race_over
from mobai.problem import Design, FloatArray
from mobai.rules.stopping.comparison import Comparison

OBJECTIVES = ["x:bounded=0..1", "y:min:bounded=0..1:eps=0.02", "z:wins"]


def values(items: int = 200, arms: int = 4, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    found = (
        rng.random((items, 1, 1)) * 0.6
        + 0.2
        + rng.normal(0, 0.05, (1, arms, 3))
        + rng.normal(0, 0.04, (items, arms, 3))
    )
    return np.asarray(np.clip(found, 0, 1))


@pytest.mark.parametrize("kind", ["items", "stream"])
@pytest.mark.parametrize("seed", range(4))
def test_compiled_races_are_races_step_by_step(kind: str, seed: int) -> None:
    table = TableInstance(values(seed=seed), list("abcd"), OBJECTIVES)
    problem = table.problem(Design("items", 200) if kind == "items" else Design("stream"))
    level = math.log(10 / 0.05)
    one, made = race(table.values, problem, level)
    other = Comparison(problem, level)
    assert race_over(other, table.values * problem.signs) == pytest.approx(made, abs=4)  # the last index is finished
    assert [a and a.arm for a in one.decided] == [a and a.arm for a in other.decided]
    assert np.array_equal(one.out, other.out)
    still = ~one.out[None, :, None, :] & ~one.out[None, :, :, None]
    undecided = np.array([a is None for a in one.decided])[None, :, None, None]
    assert np.array_equal(np.where(still & undecided, one.bets.top, 0), np.where(still & undecided, other.bets.top, 0))


def test_workers_and_trials_do_not_change_a_trial() -> None:
    table = TableInstance(values(), list("abcd"), OBJECTIVES)
    some, more = table.race(trials=3, seed=5), table.race(trials=6, seed=5)
    assert np.array_equal(some.measurements, more.measurements[:3])
    assert np.array_equal(some.answers, more.answers[:3])
    assert not np.array_equal(table.race(trials=3, seed=6).measurements, some.measurements)


def test_a_benchmark_is_never_wrong_at_its_end_and_costs_no_more_than_all_of_it() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        table = TableInstance(
            rng.integers(0, 2, (12, 3, 2)).astype(np.float64), list("abc"), ["x:bernoulli", "y:min:bernoulli"]
        )
        races = table.race(delta=1e-9, trials=5)
        assert races.errors == races.undecided == 0
        assert (races.measurements <= races.whole).all()


def test_ties_are_wrong_no_more_often_than_delta() -> None:
    """Two arms with nearly the same mean, one table in 150 orders: delta = 0.3 is wrong 45 times, and 3.3 sd more."""
    rng = np.random.default_rng(2)
    base = rng.random((100, 1, 1))
    column = np.concatenate([base, base[rng.permutation(100)]], axis=1)
    column[0, 0, 0] = min(column[0, 0, 0] + 1e-3, 1.0)
    races = TableInstance(column, ["a", "b"], ["x:bounded=0..1"]).race(delta=0.3, trials=150)
    assert 0 < races.errors <= 45 + 3.3 * math.sqrt(150 * 0.21)
    assert races.undecided == 0


def test_it_says_what_it_found() -> None:
    table = TableInstance(values(), list("abcd"), OBJECTIVES)
    assert "all arms on all items: 800" in str(table.race(trials=3))
    assert len(table.best_arms) == 3


@pytest.mark.parametrize(
    ("table", "about"),
    [
        (np.zeros((3, 2)), "a table of items by 2 arms by 1 metrics"),
        (np.full((3, 2, 1), np.nan), "without gaps"),
        (np.full((3, 2, 1), 2.0), "a number from 0 to 1"),
    ],
)
def test_wrong_tables_are_refused(table: FloatArray, about: str) -> None:
    with pytest.raises(InputError, match=about):
        TableInstance(table, ["a", "b"], ["x:bounded=0..1"])
    with pytest.raises(InputError, match="design must be items or stream"):
        TableInstance(np.zeros((3, 2, 1)), ["a", "b"], ["x:bounded=0..1"]).race("rounds")
