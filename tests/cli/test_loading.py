"""Whether a command compiles: by the rule, the size and the reports, not by what anything is called."""

from __future__ import annotations

from typing import Any

import pytest

from mobai.cli import loading
from mobai.live.settings import new_settings, to_body
from mobai.problem import Problem


def begun(arms: list[str], objectives: list[str], rule: str = "top-two") -> list[Any]:
    return [to_body(new_settings(Problem(arms, objectives), rule=rule))]


def test_names_compile_nothing() -> None:
    assert not loading.pays_to_compile(begun(["frank-wolfe", "d-tracking"], ["bounded bounce:bernoulli"]))
    assert loading.pays_to_compile(begun(["A", "B"], ["x:bernoulli"], "frank-wolfe"))
    assert loading.pays_to_compile(begun(["A", "B"], ["x:bernoulli"]), loading.MOST_REPORTS + 1)


def test_large_ones_use_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    large = begun([f"arm {n}" for n in range(40)], ["x:bounded=0..1", "y:unknown-variance"])
    many = begun([f"bounded {n}" for n in range(80)], ["x:bernoulli"])
    for cached in (True, False):
        monkeypatch.setattr(loading, "is_cached", lambda _, cached=cached: cached)
        assert loading.pays_to_compile(large) == cached
        assert not loading.pays_to_compile(many)


@pytest.mark.parametrize("body", [[], [{}], [{"rule": "top-two", "arms": 3}], [None]])
def test_damage_is_left_to_those_who_read_it(body: list[Any]) -> None:
    assert not loading.pays_to_compile(body)
