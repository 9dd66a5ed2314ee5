"""What a journal may say, and what is refused when it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.live.rounds import ARMS, facts, measure, new, run

from mobai import Experiment, StorageError
from mobai.live.assignments import Assignments
from mobai.live.state import State
from mobai.store.journal import Event, Handle, Journal, MemoryJournal


def test_replay_finds_a_forged_choice() -> None:
    journal = MemoryJournal()
    test = new(journal)
    run(test, 30)
    events = journal._events["test"]
    place = next(n for n, event in enumerate(events) if n > 20 and event.kind == "asked")
    events[place] = events[place]._replace(body={"arms": [(events[place].body["arms"][0] + 1) % 3]})
    with pytest.raises(StorageError, match=r"was arm . in the journal and is arm . now"):
        test.replay()


def test_a_failed_write_leaves_no_trace() -> None:
    class Failing(MemoryJournal):
        fail = False

        def lock_several(self, handles: Sequence[Handle]) -> Any:
            inner = super().lock_several(handles)
            outer = self

            class Once:
                def __enter__(self) -> Any:
                    return inner.__enter__()

                def __exit__(self, *error: Any) -> Any:
                    if outer.fail and error[0] is None:
                        inner.__exit__(OSError, OSError("full"), None)
                        raise OSError("full")
                    return inner.__exit__(*error)

            return Once()

    journal = Failing()
    test = new(journal, rule="mo-bai")
    run(test, 10)
    before = facts(test)
    journal.fail = True
    with pytest.raises(OSError, match="full"):
        test.ask(3)
    journal.fail = False
    assert facts(test) == before
    run(test, 3)
    assert str(test.replay().verdict) == str(test.verdict())


def test_a_journal_that_is_not_one() -> None:
    with pytest.raises(StorageError, match="begins with 'asked'"):
        State(Event(1, "asked", 0.0, {}))
    test = new()
    state = State(test.history()[0])
    with pytest.raises(StorageError, match="event 2 is 'dreamt', which this mobai does not know"):
        state.apply(Event(2, "dreamt", 0.0, {}))
    with pytest.raises(StorageError, match="event 7 cannot follow event 1"):
        state.apply(Event(7, "closed", 0.0, {}))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("asked", {"arms": [-1]}),
        ("asked", {"arms": [True]}),
        ("asked", {"arms": [99]}),
        ("asked", {"arms": [None]}),
        ("asked", {"arms": [0, None]}),
        ("asked", {"arms": 1}),
        ("asked", {}),
        ("told", {"reports": [[99, {"click": 1}]]}),
        ("told", {"reports": [[3, {"nothing": 1}]]}),
        ("told", {"reports": [[3, {}]]}),
        ("told", {"reports": [[3, None]]}),
        ("told", {"reports": [[3, [1.0, 2.0]]]}),
        ("told", {"reports": [[3]]}),
        ("told", {"reports": [[1, {"click": 1.0}]]}),
        ("told", {"reports": [[2, {"click": 1.0}]]}),
        ("dropped", {"ids": [1]}),
        ("dropped", {"ids": [0]}),
        ("expired", {"ids": [1]}),
        ("expired", {"ids": [2]}),
        ("arm_added", {"arm": "A", "sd": [None, None]}),
        ("arm_retired", {"arm": "nobody"}),
        ("exploded", {}),
    ],
)
def test_damaged_events_are_not_taken_in(kind: str, body: dict[str, Any]) -> None:
    """Assignment 1 is answered, 2 is dropped, 3 is pending."""
    journal = MemoryJournal()
    test = new(journal)
    test.ask(3)
    test.tell(1, {"click": 1, "latency": 80.0})
    test.drop(2, reason="lost")
    handle = journal.find("test")
    with journal.lock(handle) as log:
        log.append(Event(5, kind, 0.0, body))
    for use in (test.status, test.ask, lambda: Experiment.load(journal, "test")):
        with pytest.raises(StorageError, match=r"event 5 .*(is damaged|does not know)"):
            use()
    assert len(journal.read(handle)) == 5


def test_a_clock_that_was_ahead_does_not_stop_expiry(make_journal: Callable[[], Journal], monkeypatch: Any) -> None:
    """An assignment stamped a year ahead: it expires, and so do those after it."""
    clock = [1e9]
    monkeypatch.setattr("time.time", lambda: clock[0])
    test = new(make_journal(), expire_after=60.0)
    clock[0] += 3.15e7
    test.ask(2)
    clock[0] -= 3.15e7 - 1.0
    test.ask(2)
    clock[0] += 61.0
    test.ask()
    assert (test.status().pending, test.status().expired) == (1, 4)
    assert [event.body["ids"] for event in test.history() if event.kind == "expired"] == [[1, 2, 3, 4]]
    loaded = Experiment.load(make_journal(), "test")
    clock[0] += 61.0
    loaded.ask()
    assert (loaded.status().pending, loaded.status().expired) == (1, 5)


def test_times_of_expiry_in_a_snapshot() -> None:
    assignments = Assignments(1)
    for at in (5.0, 9.0, 7.0, 8.0):
        assignments.add(0, at)
    again = Assignments(1)
    again.restore(assignments.arrays())
    for one in (assignments, again):
        assert [one.waited_for(0, before) for before in (5.0, 6.0, 7.5, 8.5)] == [[], [1], [1, 2, 3], [1, 2, 3, 4]]
        assert one.since(2) == 9.0


def forged(rule: str, seed: int = 0) -> tuple[MemoryJournal, list[int]]:
    """A journal whose rule would choose otherwise: some asks are for other arms than it chose."""
    journal = MemoryJournal()
    test = new(journal, rule=rule)
    rng, changed = np.random.default_rng(seed), []
    for _ in range(60):
        (assignment,) = test.ask()
        if assignment.id > 10 and rng.random() < 0.3:
            events = journal._events["test"]
            arm = (ARMS.index(assignment.arm) + 1) % 3
            events[-1] = events[-1]._replace(body={"arms": [arm]})
            test = Experiment.load(journal, "test")
            changed.append(assignment.id)
        known = test.records()[-1]
        test.tell(assignment.id, measure(assignment.id, known["arm"]))
    return journal, changed


@pytest.mark.parametrize("rule", ["top-two", "mo-bai", "track-and-stop", "frank-wolfe", "d-tracking:iterations=3"])
def test_choices_changed_by_hand(rule: str) -> None:
    """Loading takes them as they are and goes on; only replay compares, and names them."""
    journal, changed = forged(rule)
    test = Experiment.load(journal, "test")
    assert test.verdict().pulls == 60
    run(test, 20)
    assert test.verdict().pulls == 80
    assert facts(Experiment.load(journal, "test")) == facts(test)
    with pytest.raises(StorageError, match=r"was arm . in the journal and is arm . now") as caught:
        test.replay()
    first = next(n for n in changed if str(n) in str(caught.value))
    assert f"assignment {first} was arm" in str(caught.value)


def test_an_arm_that_was_retired_is_not_asked_for() -> None:
    journal = MemoryJournal()
    test = new(journal)
    run(test, 5)
    test.retire_arm("C")
    handle = journal.find("test")
    with journal.lock(handle) as log:
        log.append(Event(len(test.history()) + 1, "asked", 0.0, {"arms": [2]}))
    with pytest.raises(StorageError, match="arm 'C' was retired and cannot be asked for"):
        test.status()


@pytest.mark.parametrize("body", [{}, [], {"arms": []}, {"rule": "no such"}])
def test_a_damaged_beginning(body: Any) -> None:
    journal = MemoryJournal()
    new(journal)
    events = journal._events["test"]
    events[0] = events[0]._replace(body=body)
    with pytest.raises(StorageError, match=r"event 1 \(created\) is damaged"):
        Experiment.load(journal, "test")
    events.clear()
    with pytest.raises(StorageError, match="the journal is empty"):
        Experiment.load(journal, "test")
