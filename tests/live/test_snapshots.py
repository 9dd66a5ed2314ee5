"""Snapshots save time, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.live.rounds import facts, new, run

from mobai import Experiment, StorageError
from mobai.live import ledger as module
from mobai.live import snapshots
from mobai.live.journal import Journal, MemoryJournal, Snapshot
from mobai.live.state import State


@pytest.mark.parametrize("rule", ["top-two", "mo-bai"])
def test_snapshots_change_nothing(make_journal: Callable[[], Journal], rule: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 10)
    test = new(make_journal(), rule=rule)
    run(test, 20)
    test.add_arm("D")
    run(test, 20)
    test.retire_arm("A")
    run(test, 10)
    kept = make_journal().snapshot(make_journal().find("test"))
    assert kept is not None
    assert kept.seq > 50
    restored = snapshots.restore(kept)
    assert restored is not None
    again = Experiment.load(make_journal(), "test")
    assert facts(again) == facts(test)
    run(again, 5)
    run(test, 1)
    events = test.history()
    state = State(events[0])
    state.apply_all(events[1:])
    assert facts(Experiment(make_journal(), make_journal().find("test"), state)) == facts(test)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04"])
def test_a_damaged_snapshot_is_ignored(data: bytes) -> None:
    journal = MemoryJournal()
    test = new(journal)
    run(test, 10)
    journal.save_snapshot(journal.find("test"), Snapshot(5, data))
    assert facts(Experiment.load(journal, "test")) == facts(test)
    kept = snapshots.take(State(test.history()[0]))
    assert snapshots.restore(kept) is not None


def test_a_snapshot_that_cannot_be_saved_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = MemoryJournal()

    def fail(name: str, snapshot: Snapshot) -> None:
        raise StorageError("full")

    monkeypatch.setattr(journal, "save_snapshot", fail)
    monkeypatch.setattr(module, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 3)
    test = new(journal)
    run(test, 10)
    assert test.verdict().pulls == 10


def test_a_snapshot_with_a_single_wrong_bit_is_ignored() -> None:
    """Also where it would still be a state, only another one: in the numbers at its end."""
    test = new(MemoryJournal())
    run(test, 10)
    state = State(test.history()[0])
    state.apply_all(test.history()[1:])
    kept = snapshots.take(state)
    assert snapshots.restore(kept) is not None
    for place in (0, 40, len(kept.data) // 2, len(kept.data) - 1):
        wrong = bytearray(kept.data)
        wrong[place] ^= 1
        assert snapshots.restore(Snapshot(kept.seq, bytes(wrong))) is None
