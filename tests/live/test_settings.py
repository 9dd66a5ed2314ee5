"""What an experiment can be set up with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.live.rounds import ARMS, OBJECTIVES, new

import mobai
from mobai import Experiment, InputError
from mobai.problem.codec import problem_of
from mobai.store.journal import MemoryJournal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 2}, "delta must be a number between 0 and 1"),
        ({"rule": "best"}, "rule must be one of"),
        ({"rule": "successive-elimination:delta=0.1"}, "rule: successive-elimination stops by itself"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"expire_after": 0}, "expire_after must be a positive number of seconds"),
        ({"reserve": 0.9}, "reserve must be a number from 1e-100 to 0.5, or 0"),
        ({"interval_share": 0}, "interval_share must be a number from 1e-100 to 0.9, not 0"),
        ({"sd": [1.0]}, "sd must be one number"),
        ({"rule": None}, "rule must be a name"),
        ({"expire_after": 10**400}, "expire_after must be"),
        ({"max_samples": 0}, "max_samples must be a whole number, 1 or more"),
        ({"max_samples": True}, "max_samples must be a whole number"),
        ({"on_broken": "hide"}, "on_broken must be bar or tell"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    journal = MemoryJournal()
    with pytest.raises(InputError, match=message):
        new(journal, **options)
    assert journal.names() == []


def test_metrics_that_only_case_tells_apart() -> None:
    with pytest.raises(InputError, match="objectives: names must differ in more than case, unlike 'click' and 'Click'"):
        Experiment.create(MemoryJournal(), "x", ["A", "a"], ["click:bernoulli", "Click:bernoulli"])


def test_the_share_of_the_intervals_is_kept(tmp_path: Path) -> None:
    plain, other = new(tmp_path / "a.db"), new(tmp_path / "b.db", interval_share=0.5)
    assert "interval_share" not in next(iter(plain.history())).body
    loaded = Experiment.load(tmp_path / "b.db", "test")
    for test in (plain, loaded):
        for arm in ARMS:
            test.record_all([(arm, {"click": n % 2, "latency": 1.0 + n % 3}) for n in range(20)])
    assert (loaded.verdict().threshold > plain.verdict().threshold).all()
    widths = [test.status().intervals.upper - test.status().intervals.lower for test in (plain, loaded)]
    assert (widths[1] < widths[0]).all()
    assert other.settings.interval_share == loaded.settings.interval_share == 0.5


def test_names_and_deletion(tmp_path: Path) -> None:
    path = tmp_path / "ads.db"
    new(path)
    with pytest.raises(InputError, match="name: there is an experiment 'test' already"):
        new(path)
    assert mobai.experiment_names(f"sqlite:///{path}") == ["test"]
    with pytest.raises(InputError, match="there is no experiment 'tset'; there are 'test'"):
        Experiment.load(path, "tset")
    mobai.delete(path, "test")
    assert mobai.experiment_names(path) == []
    assert Experiment.create("memory:", "here", ARMS, OBJECTIVES).name in mobai.experiment_names("memory:")
    mobai.delete("memory:", "here")


@pytest.mark.parametrize(
    ("text", "name", "direction"),
    [
        ("latency:min:unknown-varience", "latency:min:unknown-varience", "max"),
        ("a:b:min:bernoulli", "a:b", "min"),
        ("a:min:max:gaussian:eps=0.0", "a:min", "max"),
        ("latency:min:unknown-variance", "latency", "min"),
    ],
)
def test_objectives_of_earlier_versions(text: str, name: str, direction: str) -> None:
    """What was not an option was part of the name; their journals still say the same."""
    body = {"arms": ["A", "B"], "objectives": [text], "sd": [[1.0], [1.0]]}
    (objective,) = problem_of(body).objectives
    assert (objective.name, objective.direction) == (name, direction)
