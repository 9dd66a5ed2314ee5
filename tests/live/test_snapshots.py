"""Snapshots save time, and change nothing."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from tests.live.rounds import ARMS, facts, new, run

import mobai
from mobai import Experiment, StorageError
from mobai.live import ledger, snapshots
from mobai.live import ledger as module
from mobai.live.local import LocalExperiment
from mobai.live.state import State
from mobai.live.verify import verify
from mobai.store.journal import Journal, MemoryJournal, Snapshot


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
    assert facts(LocalExperiment(make_journal(), make_journal().find("test"), state)) == facts(test)


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


def test_damaged_snapshots_are_ignored(make_journal: Callable[[], Journal], monkeypatch: Any) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    journal = make_journal()
    test = new(journal)
    run(test, 12)
    handle = journal.find("test")
    good = journal.snapshot(handle)
    assert good is not None
    known = facts(test)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("facts.npy", b"\\0" * 10_000_000)
    data = good.data[snapshots._DIGEST :]
    for bad in (
        Snapshot(good.seq, b""),
        Snapshot(good.seq, good.data[:-1]),
        Snapshot(good.seq, good.data[:40] + b"x" + good.data[41:]),
        Snapshot(good.seq + 1, good.data),
        Snapshot(good.seq, snapshots._digest(buffer.getvalue()) + buffer.getvalue()),
        Snapshot(good.seq, snapshots._digest(data[:-9]) + data[:-9]),
    ):
        journal.save_snapshot(handle, bad)
        assert facts(Experiment.load(make_journal(), "test")) == known
        (found,) = [one for one in verify(make_journal())[0].findings if one.what == "snapshot"]
        assert not found.holds


def test_a_snapshot_of_another_history_is_ignored(make_journal: Callable[[], Journal], monkeypatch: Any) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    one, two = new(make_journal()), new(MemoryJournal(), seed=5)
    run(one, 12)
    run(two, 12)
    foreign = two._ledger.journal.snapshot(two._ledger.handle)
    assert foreign is not None
    make_journal().save_snapshot(make_journal().find("test"), foreign)
    assert facts(Experiment.load(make_journal(), "test")) == facts(one)


def test_snapshots_agree_about_metrics_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that reports one metric and not the other, before and after a snapshot."""
    monkeypatch.setattr(mobai.live.ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 20)
    journal = MemoryJournal()
    test = Experiment.create(journal, "test", ARMS, ["A:bernoulli", "B:bernoulli"], rule="uniform")
    for _ in range(120):
        (one,) = test.ask()
        metrics: dict[str, float | None] = {"A": 0} if one.arm == "C" else {"A": 0, "B": float(one.arm == "B")}
        test.tell(one, metrics)
        assert test.verdict().decisions[1] is None
    assert facts(Experiment.load(journal, "test")) == facts(test)
