"""Live experiments with limits, a baseline, units, budgets and pauses; old journals are read as before."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.live.rounds import facts

from mobai import ConflictError, Experiment, InputError, NotFoundError, Unit, views
from mobai.live import ledger
from mobai.live.journal import Event, Journal, MemoryJournal
from mobai.live.state import State
from mobai.live.units import RECORDED, Asked, NumberTable

JOURNALS = Path(__file__).with_name("journals")
CLICK, ERRORS = {"control": 0.2, "B": 0.6, "C": 0.45}, {"control": 0.02, "B": 0.5, "C": 0.03}


def new(storage: Any = None, **options: Any) -> Experiment:
    return Experiment.create(
        MemoryJournal() if storage is None else storage,
        "test",
        ["control", "B", "C"],
        ["click:bernoulli"],
        guardrails=["errors:bernoulli:at-most=0.1:eps=0.1"],
        baseline="control",
        delta=0.1,
        **options,
    )


def measure(number: int, arm: str) -> dict[str, float]:
    rng = np.random.default_rng([number, ord(arm[0])])
    return {"click": float(rng.random() < CLICK[arm]), "errors": float(rng.random() < ERRORS[arm])}


def run(test: Experiment, rounds: int, **options: Any) -> None:
    for _ in range(rounds):
        for one in test.ask(**options):
            test.tell(one, measure(*one))


def test_from_creation_to_the_end(make_journal: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    test = new(make_journal())
    while not test.verdict().stopped:
        run(test, 20)
    status = test.status()
    assert status.verdict.answers == ("C",)
    assert status.barred.tolist() == [False, True, False]
    assert status.differences is not None
    assert status.differences.words(1, 1) == "worse"
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


def test_units_keep_their_variant(make_journal: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    test = new(make_journal())
    first = {f"visitor {n}": test.ask(unit=f"visitor {n}")[0] for n in range(30)}
    assert len({one.id for one in first.values()}) == 30
    other = Experiment.load(make_journal(), "test")
    for unit, one in first.items():
        assert other.ask(unit=unit) == [one]
    other.tell(unit="visitor 3", metrics={"click": 1.0})
    other.tell_all([(Unit("visitor 3"), {"errors": 0.0}), (Unit("visitor 4"), {"click": 0.0, "errors": 0.0})])
    assert test.status().verdict.pulls == 2
    test.drop(Unit("visitor 5"))
    with pytest.raises(NotFoundError, match="unit: 'nobody' has no assignment"):
        other.tell_all([(Unit("nobody"), {"click": 1.0})])
    test.close()
    assert other.ask(unit="visitor 5") == [first["visitor 5"]]


def test_keys_make_retries_safe(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    first = test.ask(3, key="request 1")
    assert Experiment.load(make_journal(), "test").ask(3, key="request 1") == first
    assert test.ask(3, key="request 2") != first
    with pytest.raises(ConflictError, match="key: 'request 1' was used to ask for 3, not 2"):
        test.ask(2, key="request 1")
    assert test.status().pending == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "a", "n": 2}, "a unit has one assignment"),
        ({"unit": "a", "key": "b"}, "a unit has one assignment"),
        ({"unit": ""}, "unit must be a text of 1 to 200 characters"),
        ({"key": "x" * 201}, "key must be a text of 1 to 200 characters"),
        ({"unit": 7}, "unit must be a text"),
        ({"unit": "\ud800"}, "unit must be a text that UTF-8 can hold"),
        ({"by": "a\nb"}, "by must be a name"),
    ],
)
def test_bad_names(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        new().ask(**options)


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
    with pytest.raises(ConflictError, match="max_samples = 12 were handed out"):
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_samples": 0}, "max_samples must be a whole number, 1 or more"),
        ({"max_samples": True}, "max_samples must be a whole number"),
        ({"on_broken": "hide"}, "on_broken must be bar or tell"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        new(**options)


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


def test_tell_needs_one_name() -> None:
    test = new()
    calls: list[tuple[Any, dict[str, Any]]] = [((), {"metrics": {"click": 1.0}}), ((1, {"click": 1.0}), {"unit": "a"})]
    for given, named in calls:
        with pytest.raises(InputError, match="tell takes an assignment or a unit, and metrics"):
            test.tell(*given, **named)


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


def test_a_million_units_fit() -> None:
    """24 bytes each, and found again."""
    table = NumberTable()
    for n in range(200_000):
        table.add(f"visitor {n}", n + 1)
    arrays = table.arrays()
    assert sum(array.nbytes for array in arrays.values()) == 24 * 200_000
    again = NumberTable()
    again.restore(arrays)
    for n in (0, 1, 77_777, 199_999):
        assert table.get(f"visitor {n}") == again.get(f"visitor {n}") == n + 1
    assert again.get("visitor 200000") is None
    assert len(again) == 200_000
    largest = Asked(2**32, 10_000, 10_000, RECORDED)
    assert Asked.unpack(largest.packed) == largest
    assert largest.packed < 2**63


@pytest.mark.parametrize("version", [1, 2, 3])
def test_journals_of_every_version(version: int) -> None:
    """What each version wrote is read, to the same assignments and rewards, and can be gone on with if it is open."""
    rows = json.loads((JOURNALS / f"version-{version}.json").read_text())
    events = [Event(*row) for row in rows]
    state = State(events[0])
    state.apply_all(events[1:])
    told = sum(len(event.body["reports"]) for event in events if event.kind == "told")
    told += sum(len(event.body["rows"]) for event in events if event.kind == "recorded")
    asked = sum(len(event.body["arms"]) for event in events if event.kind == "asked")
    recorded = sum(len(event.body["rows"]) for event in events if event.kind == "recorded")
    assert state.assignments.count == asked + recorded
    assert state.engine.told <= told
    assert state.closed_at == events[-1].at
    journal = MemoryJournal()
    journal.create("test", events[0], events[1:])
    status = Experiment.load(journal, "test").status()
    assert status.weighed_otherwise == (version == 1)
    assert status.verdict.pulls == state.engine.told


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


def test_units_are_exported() -> None:
    test = new()
    test.ask(2)
    test.record("B", {"click": 1.0})
    test.ask(unit="ann")
    assert [(row["id"], row["unit"]) for row in test.records()] == [(1, None), (2, None), (3, None), (4, "ann")]
    plain = new()
    plain.ask()
    assert "unit" not in plain.records()[0]


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
    (told,) = [one for one in views.happenings_json(test.status()) if one["kind"] == "decided"]
    assert (told["arm"], told["text"]) == (None, f"x: click: no arm keeps every limit, at pull {decision.pull}")
