"""Simulations with families and rules of somebody's own: summed up, kept, and not gone on with in another code."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import mobai
from mobai import Instance, Objective, Results, simulate
from mobai.errors import TieError
from mobai.lab.own_code import own_code

RULE = '''
from dataclasses import dataclass

from mobai import Family
from mobai.rules.sampling.uniform import Uniform

FIRST = {first}


def turn(observations):
    return {turn}


@dataclass(frozen=True)
class Turns(Uniform):
    """Every arm in turn."""

    @property
    def name(self):
        return "turns"

    def choose(self, problem, memory, observations, rng):
        return (turn(observations) + FIRST) % problem.shape[0], memory


@dataclass(frozen=True)
class Stars(Family):
    word = "stars"
    model = "unit"

    @property
    def range(self):
        return 1.0, 5.0
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes a module of one's own, and imports it anew."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(first: int = 0, turn: str = "int(observations.asked.sum())", more: str = "") -> Any:
        (tmp_path / "of_my_own.py").write_text(RULE.format(first=first, turn=turn) + more)
        sys.modules.pop("of_my_own", None)
        importlib.invalidate_caches()
        return importlib.import_module("of_my_own")

    return write


def test_digests_follow_what_the_code_uses(own: Any) -> None:
    def digest(module: Any) -> dict[str, str]:
        import linecache

        linecache.checkcache()
        return own_code([module.Turns(), module.Stars()])

    plain = digest(own())
    assert set(plain) == {"of_my_own.Turns", "of_my_own.Stars"}
    assert digest(own(more="\n\ndef other():\n    pass\n")) == plain
    assert digest(own(first=1))["of_my_own.Turns"] != plain["of_my_own.Turns"]
    assert digest(own(first=1))["of_my_own.Stars"] == plain["of_my_own.Stars"]
    assert digest(own(turn="1 + int(observations.asked.sum())")) != plain
    assert own_code([mobai.Bernoulli(), 1, "text"]) == {}


def test_a_family_of_ones_own_is_summed_up_and_loaded_again(own: Any, tmp_path: Path) -> None:
    films = Instance([[3.2], [3.9]], objectives=[Objective("rating", "max", own().Stars())])
    path = tmp_path / "results.parquet"
    found = simulate(films, "uniform", trials=4, deltas=0.1, out=path)
    assert found.summary().to_pandas().shape[0] >= 1
    assert len(found.to_pandas()) == 4
    found.plot(tmp_path / "figure.png")
    assert len(simulate(films, "uniform", trials=6, deltas=0.1, out=path)) == 6
    again = Results.load(path, films)
    assert str(again.summary()) == str(simulate(films, "uniform", trials=6, deltas=0.1).summary())
    with pytest.raises(mobai.InputError, match=r"Results.load\(path, instance\)"):
        Results.load(path).summary()


def test_results_of_other_code_are_not_gone_on_with(own: Any, tmp_path: Path) -> None:
    import linecache

    instance, path = Instance([[1.0], [0.0]]), tmp_path / "results.parquet"
    simulate(instance, own().Turns(), trials=2, deltas=0.1, out=path)
    assert len(simulate(instance, own().Turns(), trials=3, deltas=0.1, out=path)) == 3
    changed = own(first=1)
    linecache.checkcache()
    with pytest.raises(mobai.InputError, match="results of other code of your own rules or families"):
        simulate(instance, changed.Turns(), trials=3, deltas=0.1, out=path)


def test_a_tie_is_refused_unless_somebody_says_how_long() -> None:
    tied = Instance([[1.0], [1.0], [0.0]])
    with pytest.raises(TieError, match="state max_pulls to simulate it all the same"):
        simulate(tied, "uniform", trials=1)
    assert simulate(tied, "uniform", trials=1, max_pulls=300).trials[0].length == 300
    near = Instance([[1.0], [1.0], [0.0]], objectives=["x:gaussian=1:eps=0.5"])
    assert simulate(near, "uniform", trials=1).complete
