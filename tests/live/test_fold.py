"""A journal that is read many pulls at a time gives the state of one that is read pull by pull, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mobai import Experiment
from mobai.engine.engine import Engine
from mobai.engine.evidence import Evidence
from mobai.live import snapshots
from mobai.live.state import State
from mobai.store.journal import Event, MemoryJournal

MIXED = [
    "click:bernoulli",
    "latency:min:gaussian=10",
    "score:bounded=0..10:eps=0.1",
    "load:shared-variance",
    "t:unknown-variance",
]


def journal_of(pulls: int, *, objectives: list[str], trouble: bool, rule: str = "top-two") -> list[Event]:
    """The events of an experiment; with trouble, in between: batches, late metrics, losses, arms that come and go."""
    test = Experiment.create(MemoryJournal(), "x", ["A", "B", "C"], objectives, rule=rule, delta=0.2)
    rng = np.random.default_rng(3)

    def measure(arm: str) -> dict[str, float]:
        shift = "ABCD".index(arm) / 8
        drawn = {
            "click": float(rng.random() < 0.3 + shift),
            "latency": rng.normal(80 + 8 * shift, 10) + (300 if rng.random() < 0.002 else 0),
            "score": 10 * float(rng.choice([rng.beta(5 + 2 * shift, 3), 1.0], p=[0.9, 0.1])),
            "load": rng.normal(5 + shift, 1),
            "t": round(rng.normal(shift), 1),
        }
        return {name: value for name, value in drawn.items() if name in test.problem.metric_names}

    for n in range(pulls):
        for one in test.ask(3 if trouble and n % 97 == 50 else 1):
            metrics = measure(one.arm)
            if trouble and n % 41 == 3:
                test.drop(one, reason="lost")
            elif trouble and n > pulls // 2 and n % 53 == 7:
                late = metrics.popitem()
                test.tell(one, metrics)
                test.tell(one, dict([late]))
            else:
                test.tell(one, metrics)
        if trouble and n == pulls // 3:
            test.add_arm("D")
        if trouble and n == 2 * pulls // 3:
            test.retire_arm("A")
            test.record("B", measure("B"))
    return list(test.history())


def bytes_of(events: list[Event]) -> bytes:
    state = State(events[0])
    for start in range(1, len(events), 700):
        state.apply_all(events[start : start + 700])
    return snapshots.take(state).data


@pytest.mark.parametrize(
    ("objectives", "trouble", "rule"),
    [
        (MIXED, False, "top-two"),
        (MIXED, True, "top-two"),
        (["latency:min:gaussian=10"], False, "top-two"),
        (["load:shared-variance", "click:bernoulli"], True, "mo-bai"),
    ],
)
def test_reading_many_at_a_time_changes_nothing(
    objectives: list[str], trouble: bool, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = journal_of(1000, objectives=objectives, trouble=trouble, rule=rule)
    folded = 0

    def counted(engine: Engine, rows: Any, looks: list[Any]) -> None:
        nonlocal folded
        folded += len(looks)
        fold(engine, rows, looks)

    fold = Engine._follow
    monkeypatch.setattr(Engine, "_follow", counted)
    monkeypatch.setattr(Evidence, "can_follow", lambda _, looks: looks >= 4)
    at_a_time = bytes_of(events)
    # Rules that remember their choices look after every pull; with trouble, the second half goes one by one.
    assert folded > (250 if trouble else 750) or (rule == "mo-bai" and folded == 0)
    monkeypatch.setattr(Evidence, "can_follow", lambda *_: False)
    assert at_a_time == bytes_of(events)


def test_the_experiments_of_this_file_decide_and_worry() -> None:
    """Else the test above would compare little."""
    events = journal_of(1500, objectives=MIXED, trouble=False)
    state = State(events[0])
    state.apply_all(events[1:])
    assert {decision is not None for decision in state.verdict().decisions} == {True, False}
    assert {one.kind for one in state.concerns()} == {"edge", "outliers"}
