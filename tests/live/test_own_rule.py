"""Rules of one's own in live experiments, by module and class."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.live.rounds import ARMS, OBJECTIVES, new, run

from mobai import Experiment, InputError
from mobai.store.journal import MemoryJournal

MODULE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Backwards:
    step: int = 1
    name = "backwards"
    stopping = None
    def init(self, problem): return ()
    def choose(self, problem, memory, observations, rng):
        return int((len(problem.arms) - 1 - self.step * observations.asked.sum()) % len(problem.arms)), memory

class OutOfRange(Backwards):
    def choose(self, problem, memory, observations, rng): return 99, memory

class Broken(Backwards):
    def choose(self, problem, memory, observations, rng): raise RuntimeError("no idea")

class Forgetful(Backwards):
    def init(self, problem): return None

class NotOne:
    pass

def function(): raise SystemError("called")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_rules.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_rules", raising=False)
    return "own_rules"


@pytest.mark.parametrize("spec", ["own_rules:Backwards", "own_rules:Backwards:step=2"])
def test_it_is_found_again(module: str, tmp_path: Path, spec: str) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(url, rule=spec)
    assert [test.ask()[0].arm for _ in range(3)] == (["C", "B", "A"] if "=" not in spec else ["C", "A", "B"])
    again = Experiment.load(url, "test")
    run(again, 10)
    assert again.replay().verdict.pulls == 10
    assert again.history()[0].body["rule"] == spec


def test_the_rule_itself(module: str) -> None:
    import own_rules  # type: ignore[import-not-found]

    test = new(rule=own_rules.Backwards(step=2))
    assert test.history()[0].body["rule"] == "own_rules:Backwards:step=2"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("own_rules:OutOfRange", "rule: backwards chose 99, which is none of its 3 arms"),
        ("own_rules:Broken", "rule: backwards failed: RuntimeError: no idea"),
        ("own_rules:Forgetful", "rule: the memory of backwards must be a tuple of arrays, () for none, not None"),
        ("own_rules:NotOne", "must be a class with name, stopping, init and choose"),
        ("own_rules:function", "must be a class with name, stopping, init and choose"),
        ("own_rules:Nothing", "cannot be imported: module 'own_rules' has no attribute 'Nothing'"),
        ("own_rules:Backwards:stop=3", "does not take the option stop; it takes step; did you mean 'step'?"),
        ("no_such_module:X", "cannot be imported: No module named 'no_such_module'"),
        ("subprocess:Popen:args=x", "must be a class with name, stopping, init and choose"),
        ("toptwo", "did you mean 'top-two'?"),
        (7, "rule must be a name such as 'top-two', not 7"),
    ],
)
def test_what_is_no_rule_is_one_line(module: str, rule: Any, message: str) -> None:
    with pytest.raises(InputError) as found:
        new(rule=rule)
    assert message in str(found.value)


def test_a_class_that_cannot_be_found_again() -> None:
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Local:
        name = "local"
        stopping = None

        def init(self, problem: Any) -> tuple[()]:
            return ()

        def choose(self, problem: Any, memory: Any, observations: Any, rng: Any) -> tuple[int, Any]:
            return 0, memory

    with pytest.raises(InputError, match="cannot be found again; make it a dataclass at the top of a module"):
        Experiment.create(MemoryJournal(), "x", ARMS, OBJECTIVES, rule=Local())


def test_a_journal_whose_rule_is_gone(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    new(url, rule="own_rules:Backwards")
    monkeypatch.setitem(sys.modules, "own_rules", None)
    test = Experiment.load(url, "test")
    test.record("A", {"click": 1, "latency": 60.0})
    assert test.status().verdict.pulls == 1
    assert test.status().rule == "own_rules:Backwards"
    with pytest.raises(InputError, match=r"own_rules:Backwards cannot be imported: .*; set PYTHONPATH"):
        test.ask()
    monkeypatch.undo()
