"""Why nothing is handed out: pauses, budgets, ends in time, limits that every arm breaks."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.live.guarded import new, run

from mobai import ConflictError, Experiment, InputError
from mobai.store.journal import Journal, MemoryJournal


def test_pausing(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    (one,) = test.ask(unit="a")
    test.pause(by="the night watch")
    test.pause()
    with pytest.raises(ConflictError, match="is paused, and hands out nothing until it is resumed"):
        test.ask()
    assert test.ask(unit="a") == [one]
    test.tell(one, {"click": 1.0, "errors": 0.0})
    with pytest.raises(ConflictError, match="is paused"):
        test.tell_all([], ask=1)
    status = Experiment.load(make_journal(), "test").status()
    assert (status.state, status.paused_at is not None) == ("paused", True)
    assert "hands out nothing until it is resumed" in str(status)
    test.resume()
    run(test, 1)
    assert [event.body for event in test.history() if event.kind == "paused"] == [{"by": "the night watch"}]


def test_a_budget_of_samples() -> None:
    test = new(max_samples=12)
    run(test, 10)
    assert len(test.ask(5)) == 2
    with pytest.raises(ConflictError, match="max_samples = 12 is reached, and nothing more is handed out"):
        test.ask()
    test.drop(11)
    assert [one.id for one in test.ask(5)] == [13]
    status = test.status()
    assert status.state == "ended"
    assert "enough for" in str(status)


def test_answers_are_taken_when_nothing_is_handed_out() -> None:
    test = new(max_samples=3)
    found = test.ask(3)
    assert test.tell_all([(found[0], {"click": 1.0, "errors": 0.0})], ask=2) == []
    test.pause()
    assert test.tell_all([(found[1], {"click": 1.0, "errors": 0.0})], ask=1) == []
    assert test.status().verdict.pulls == 2


def test_every_arm_is_barred() -> None:
    test = new()
    (one,) = test.ask(unit="a")
    test.tell(one, {"click": 0.0, "errors": 1.0})
    test.record_all([(arm, {"click": 0.0, "errors": 1.0}) for _ in range(60) for arm in ("B", "C", "control")])
    status = test.status()
    assert status.verdict.answers == ("none qualifies",)
    # A baseline is spared: others are compared with it.
    assert status.barred.tolist() == [False, True, True]
    bare = Experiment.create(
        MemoryJournal(), "x", ["A", "B"], ["click:bernoulli"], guardrails=["errors:bernoulli:at-most=0.1:eps=0.1"]
    )
    (one,) = bare.ask(unit="a")
    bare.record_all([(arm, {"click": 0.0, "errors": 1.0}) for _ in range(60) for arm in ("A", "B")])
    bare.tell(one, {"click": 1.0, "errors": 1.0})
    assert bare.status().ending == "every arm breaks a limit, and there is none to hand out"
    with pytest.raises(ConflictError, match="every arm breaks a limit"):
        bare.ask()
    assert bare.ask(unit="a") == [one]
    assert bare.tell_all([(one, {"click": 1.0, "errors": 1.0})], ask=1) == []
    assert "none qualifies" in str(bare.status())


def test_an_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [time.time()]
    monkeypatch.setattr("time.time", lambda: clock[0])
    end = datetime.now(UTC) + timedelta(hours=1)
    for until in (end, end.isoformat(), end.timestamp(), end.replace(tzinfo=None)):
        assert new(until=until).settings.until == pytest.approx(end.timestamp())
    test = new(until=end)
    (one,) = test.ask()
    clock[0] += 7200
    with pytest.raises(ConflictError, match="the experiment ended at"):
        test.ask()
    test.tell(one, {"click": 1.0, "errors": 0.0})
    assert test.status().state == "ended"
    for bad in ("soon", float("nan"), True):
        with pytest.raises(InputError, match="until must be a time"):
            new(until=bad)
