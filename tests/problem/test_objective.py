from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import InputError, Instance, Objective, Problem
from mobai.problem.objective import is_name


@pytest.mark.parametrize(
    ("text", "name", "direction"),
    [("ctr", "ctr", "max"), ("t:min", "t", "min"), (r"a\:b", "a:b", "max"), (" x : max ", "x", "max")],
)
def test_parse(text: str, name: str, direction: str) -> None:
    assert (Objective.parse(text).name, Objective.parse(text).direction) == (name, direction)


@pytest.mark.parametrize(
    "objective",
    [Objective("a"), Objective("a", "min"), Objective("x:min"), Objective("x:max", "min"), Objective("a\\", "min")],
)
def test_text_form_reads_back(objective: Objective) -> None:
    assert Objective.parse(str(objective)) == objective


def test_sign() -> None:
    assert Objective("a").sign == 1
    assert Objective("a", "min").sign == -1


def test_bad_direction_and_name() -> None:
    with pytest.raises(InputError, match="direction must be 'max' or 'min', not 'up'"):
        Objective("a", "up")  # type: ignore[arg-type]
    for name in (" ", "a ", "a\nb", "sd(a)"):
        with pytest.raises(InputError, match="name must be a non-empty string of printable characters"):
            Objective(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency:min:unknown-varience", "'unknown-varience' is not an option; did you mean 'unknown-variance'?"),
        ("x:bernouli", "did you mean 'bernoulli'?"),
        ("x:minimise", "did you mean 'min'?"),
        ("x:unknown_variance", "did you mean 'unknown-variance'?"),
        ("x:min:max", "its direction is given twice, as min and max"),
        ("x:bernoulli:bounded=0..1", "its family is given twice"),
        ("x:", "'' is not an option, accepted are max, min, gaussian=SD"),
        ("x:epsilon=3", "did you mean 'eps'?"),
    ],
)
def test_typos_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Objective.parse(text)


@given(st.text(alphabet="ab:\\= ", min_size=1).filter(is_name))
def test_any_name_reads_back(name: str) -> None:
    objective = Objective(name, "min", eps=0.5)
    assert Objective.parse(str(objective)) == objective


@pytest.mark.parametrize("objective", ["latency:min", "x", "x:gaussian", "x:subgaussian:eps=0.1"])
def test_what_the_rewards_are_is_always_stated(objective: str) -> None:
    name = objective.partition(":")[0]
    message = f"metric {name!r} does not say what its rewards are; write {name}:bernoulli (0 or 1), "
    with pytest.raises(InputError, match=re.escape(message)):
        Problem(2, [objective])
    assert Problem(2, [objective], sd=3.0).sd[0, 0] == 3.0
    assert Instance([[1.0], [2.0]], objectives=[objective]).sd[0, 0] == 1.0
