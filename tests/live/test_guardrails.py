"""Live experiments with limits and a baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.live.guarded import new, run
from tests.live.rounds import facts

from mobai import ConflictError, Experiment, views
from mobai.live import ledger
from mobai.store.journal import Event, Journal, MemoryJournal


def test_from_creation_to_the_end(make_journal: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    test = new(make_journal())
    while not test.verdict().stopped:
        run(test, 20)
    status = test.status()
    assert status.verdict.answers == ("C",)
    assert status.barred.tolist() == [False, True, False]
    assert status.differences is not None
    assert status.differences.words(1, 1) == "open"
    assert status.differences.upper[1, 1] > 0.9
    assert "no longer asked for, because of a broken limit: B" in str(status)
    assert "errors at most 0.1" in str(status)
    # Loaded from the snapshot, folded from the beginning, and replayed: all the same.
    loaded = Experiment.load(make_journal(), "test")
    assert facts(loaded) == facts(test)
    assert loaded.status().barred.tolist() == [False, True, False]
    assert loaded.series().pulls.tolist() == test.series().pulls.tolist()
    assert loaded.verify().intact
    test.replay()
    assert {one.arm for one in loaded.ask(20)} <= {"control", "C"}


def test_what_is_compared_with_stays() -> None:
    test = new()
    with pytest.raises(ConflictError, match="'control' is what others are compared with"):
        test.retire_arm("control")
    test.add_arm("D")
    test.retire_arm("B")
    assert test.problem.guardrails[0].metric == "errors"


def test_only_told_of() -> None:
    test = new(on_broken="tell", rule="uniform")
    run(test, 150)
    assert test.verdict().limit_status(0, 1) == "broken"
    assert not test.status().barred.any()
    assert test.status().asked.tolist() == [50] * 3


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("asked", {"arms": [0], "units": ["a", "b"]}),
        ("asked", {"arms": [0], "units": ["known"]}),
        ("asked", {"arms": [0], "units": [7]}),
        ("asked", {"arms": [0], "key": "k", "n": "x"}),
        ("resumed", {}),
    ],
)
def test_events_that_cannot_be(kind: str, body: dict[str, Any]) -> None:
    from mobai import StorageError

    journal = MemoryJournal()
    test = new(journal)
    test.ask(unit="known")
    with journal.lock(journal.find("test")) as log:
        log.append(Event(len(test.history()) + 1, kind, 0.0, body))
    with pytest.raises(StorageError, match="is damaged"):
        Experiment.load(journal, "test").status()


def test_forecasts_know_limits() -> None:
    """The pair is done; what is missing is that the best arm keeps its limit, and that takes samples."""
    test = Experiment.create(
        MemoryJournal(), "x", ["A", "B"], ["click:bernoulli"], guardrails=["errors:bernoulli:at-most=0.02:eps=0.005"]
    )
    rng = np.random.default_rng(4)
    chances = {"A": 0.2, "B": 0.7}
    for _ in range(150):
        rows = [
            (arm, {"click": float(rng.random() < p), "errors": float(rng.random() < 0.01)})
            for arm, p in chances.items()
        ]
        test.record_all(rows)
    forecast = test.status().forecast
    assert forecast is not None
    assert forecast.samples > 100
    assert test.verdict().limit_status(0, 1) == "open"


def test_zero_has_no_sign() -> None:
    test = new()
    test.record_all([(arm, {"click": 0.0, "errors": 0.0}) for arm in ("control", "B", "C")])
    status = test.status()
    assert "-0" not in str(status).replace("-0.", "")
    assert not np.signbit(status.means).any()
    assert status.differences is not None
    assert (np.abs(status.differences.lower) <= 1).all()


def test_a_decision_that_nobody_qualifies_is_past_once_another_arm_comes() -> None:
    limit = ["errors:bernoulli:at-most=0.1:eps=0.05"]
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["click:bernoulli"], guardrails=limit)
    while not test.verdict().stopped:
        test.record_all([(arm, {"click": 1, "errors": 1}) for arm in ("A", "B")])
    (decision,) = test.verdict().decisions
    assert decision is not None
    assert test.verdict().answers == ("none qualifies",)
    test.add_arm("C")
    assert test.status().past == (("click", "none qualifies", decision.pull),)
    (told,) = [one for one in views.notifications_json(test.status()) if one["kind"] == "decided"]
    assert (told["arm"], told["text"]) == (None, f"x: click: no arm keeps every limit, at pull {decision.pull}")


def test_a_broken_limit_bars_at_once_whatever_else_is_late() -> None:
    """Errors are told at once, and clicks never: the arm that errs too often is shown to hardly anybody."""
    test = Experiment.create(
        MemoryJournal(),
        "x",
        ["control", "bad"],
        ["click:bernoulli"],
        guardrails=["errors:bernoulli:at-most=0.1:eps=0.1"],
        rule="uniform",
    )
    shown = 0
    for _ in range(300):
        (one,) = test.ask()
        shown += one.arm == "bad"
        test.tell(one, {"errors": float(one.arm == "bad")})
    assert test.status().barred.tolist() == [False, True]
    assert shown < 20
