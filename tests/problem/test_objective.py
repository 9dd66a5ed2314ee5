from __future__ import annotations

import pytest

from mobai import InputError, Objective


@pytest.mark.parametrize(
    ("text", "name", "direction"),
    [("ctr", "ctr", "max"), ("t:min", "t", "min"), ("a:b", "a:b", "max"), (" x:max ", "x", "max")],
)
def test_parse(text: str, name: str, direction: str) -> None:
    assert (Objective.parse(text).name, Objective.parse(text).direction) == (name, direction)


@pytest.mark.parametrize(
    "objective", [Objective("a"), Objective("a", "min"), Objective("x:min"), Objective("x:max", "min")]
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
