from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import instances

from mobai import InputError, Instance, Problem, TieError


def test_directions() -> None:
    instance = Instance([[1, 5], [2, 9], [0, 3]], objectives=["gain", "loss:min"])
    assert instance.best_arms.tolist() == [1, 2]
    assert instance.gaps.tolist() == [[1, 2], [0, 6], [2, 0]]
    assert instance.problem == Problem(3, ["gain", "loss:min"], 1.0)
    assert instance.shape == (3, 2)
    assert repr(instance) == "Instance(3 arms, objectives=['gain', 'loss:min'])"


@given(instances())
def test_gaps_and_pareto(instance: Instance) -> None:
    assert (instance.gaps >= 0).all()
    assert (instance.gaps[instance.best_arms, np.arange(instance.shape[1])] == 0).all()
    assert set(instance.best_arms.tolist()) <= set(instance.pareto_arms.tolist())
    naive = [
        i
        for i, mine in enumerate(instance.means)
        if all(any(mine > other) for j, other in enumerate(instance.means) if j != i)
    ]
    assert instance.pareto_arms.tolist() == naive


def test_identical_arms_are_not_pareto_in_the_papers_sense() -> None:
    assert Instance([[1, 1], [1, 1], [0, 2]]).pareto_arms.tolist() == [2]


def test_tie_names_objective_and_arms() -> None:
    instance = Instance([[1, 3], [2, 3], [0, 1]], arms=["A", "B", "C"], objectives=["x", "y"])
    assert instance.best_arms.tolist() == [1, 0]
    with pytest.raises(TieError, match="metric 'y' has no single best arm: 'A', 'B' are tied"):
        instance.check_unique_best()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 3],), r"means must be a table .* shape \(3,\)"),
        (([[1, 2], [3]],), "means must be numbers in a rectangular table"),
        (([[1], [np.inf]],), "means must be finite"),
        (([[1], [1e101]],), r"means must be between -1e\+100 and 1e\+100"),
        (([[1], [10**400]],), "means must be numbers"),
        (([["x"], ["y"]],), "means must be numbers"),
        (([[1]],), "arms: at least two"),
        (([[1], [2]], 1.0, ["a", "b", "c"]), "means has 2 rows and 1 columns, but there are 3 arms and 1 objectives"),
        (([[], []],), "objectives: at least one"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Instance(*arguments)


def test_equality() -> None:
    assert Instance([[1], [2]]) == Instance([[1], [2]])
    assert Instance([[1], [2]]) != Instance([[1], [3]])
    assert Instance([[1], [2]]) != 3
