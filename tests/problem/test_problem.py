from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mobai
from mobai import InputError, Objective, Problem


def test_counts_and_names() -> None:
    problem = Problem(3, [Objective("a"), "b:min"], sd=[1, 2])
    assert problem.arms == ("arm 0", "arm 1", "arm 2")
    assert problem.objective_names == ("a", "b")
    assert problem.signs.tolist() == [1, -1]
    assert problem.sd.tolist() == [[1, 2]] * 3
    assert "b:min" in repr(problem)


def test_equality() -> None:
    assert Problem(2, 1, 1.0) == Problem(2, 1, 1.0)
    assert Problem(2, 1, 1.0) != Problem(2, 1, sd=2)
    assert Problem(2, 1, 1.0) != Problem(["a", "b"], 1, 1.0)
    assert Problem(2, 1, 1.0) != "problem"


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Problem(2, 1, 1.0).sd[0, 0] = 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1), "arms: at least two"),
        ((["a", "a"], 1), "arms: names must be distinct, found 'a'"),
        ((["a", ""], 1), "arms: every name must be a non-empty string"),
        ((["a", " b"], 1), "no space at its ends"),
        ((["a", "b\nc"], 1), "printable"),
        (("ab", 1), "arms must be a list, such as .'ab'., not one text"),
        ((2.0, 1), "arms must be a list of names, or how many there are, not 2.0"),
        ((2, [1]), "objectives must be names or Objective values"),
        ((2, 2, 1e-60), "sd must be positive, between 1e-50 and 1e"),
        ((2, 0), "objectives: at least one"),
        ((2, ["x", "x:min"]), "objectives: names must be distinct, found 'x'"),
        ((2, 2, [1, 2, 3]), r"sd must be one number, 2 numbers .* not of shape \(3,\)"),
        ((2, 2, 0), "sd must be positive"),
        ((2, 2, np.nan), "sd of objective .objective 0. must be finite"),
        ((2, 2, "wide"), "sd must be numbers"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(*arguments)


@pytest.mark.parametrize("arm", [-1, 2, True, 1.0])
def test_bad_arm(arm: Any) -> None:
    with pytest.raises(InputError, match="arm must be a name or an integer from 0 to 1"):
        Problem(2, 1, 1.0).arm_index(arm)


def test_an_arm_is_an_index_and_a_name() -> None:
    problem = Problem(["A", "B"], 1, 1.0)
    arm = problem.arm("B")
    assert (arm, arm.name, str(arm), f"{arm}", repr(arm)) == (1, "B", "B", "B", "Arm(1, 'B')")
    assert problem.arm_index(arm) == problem.arm_index("B") == 1
    assert pickle.loads(pickle.dumps(arm)).name == "B"
    with pytest.raises(InputError, match="arm must be one of A, B, not 'C'"):
        problem.arm("C")


def test_a_stated_sd_has_the_same_limits_as_any() -> None:
    with pytest.raises(InputError, match="metric 'x': sd must be positive, between 1e-50 and 1e"):
        mobai.Problem(2, ["x:gaussian=1e-200"])


@pytest.mark.parametrize("count", [100_001, 10**400, -1])
def test_more_arms_or_objectives_than_can_be(count: int) -> None:
    with pytest.raises(InputError, match="arms must be names, or a number up to 100,000"):
        Problem(count, ["x:gaussian=1"])
    with pytest.raises(InputError, match="objectives must be names, or a number up to 100,000"):
        Problem(2, count)
