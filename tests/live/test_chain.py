"""A journal that is no longer the one that was read, and bytes that change at rest: noticed, or without effect."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.live.rounds import facts, new, run
from tests.live.sqlite_files import change, keep, url_of

from mobai import Experiment, InputError, StorageError
from mobai.live import ledger
from mobai.live.verify import verify
from mobai.store.journal import Event, Journal, MemoryJournal, link


def test_hashes_cover_everything(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    run(test, 5)
    events = test.history()
    assert len({event.hash for event in events}) == len(events)
    assert test.status().head == events[-1].hash
    from mobai.store.journal import encode

    previous = ""
    for event in events:
        assert event.hash == link(previous, event.seq, event.kind, event.at, encode(event.body))
        previous = event.hash


def test_an_older_copy_is_noticed(path: Path, tmp_path: Path) -> None:
    """The state is newer than the journal: no id is handed out, and no reward credited to another arm."""
    test = new(url_of(path))
    run(test, 5)
    keep(path, tmp_path / "older.db")
    run(test, 5)
    holders = [Experiment.load(url_of(path), "test") for _ in range(3)]
    for one in (test, *holders):
        one._ledger.journal.close()
    keep(tmp_path / "older.db", path)
    for action in (holders[0].ask, holders[1].status, lambda: holders[2].tell(1, {"click": 0})):
        with pytest.raises(StorageError, match=r"not the one this process has read|replaced|written over"):
            action()
    again = Experiment.load(url_of(path), "test")
    run(again, 5)
    assert again.verify().intact


def test_another_continuation_is_noticed(path: Path, tmp_path: Path) -> None:
    """Restored, and gone on with elsewhere, until it is as long as before."""
    test = new(url_of(path))
    run(test, 5)
    keep(path, tmp_path / "older.db")
    run(test, 5)
    other = Experiment.load(tmp_path / "older.db", "test")
    run(other, 5)
    other._ledger.journal.close()
    test._ledger.journal.close()
    keep(tmp_path / "older.db", path)
    with pytest.raises(StorageError, match=r"not the one this process has read|replaced|written over"):
        test.ask()


@pytest.mark.parametrize("statement", [
    "DELETE FROM mobai_events WHERE seq = (SELECT max(seq) FROM mobai_events)",
    "DELETE FROM mobai_events WHERE seq = 4",
    "UPDATE mobai_events SET body = replace(body, '0', '1') WHERE kind = 'told'",
    "UPDATE mobai_events SET at = at + 1 WHERE seq = 3",
    "UPDATE mobai_events SET kind = 'dropped' WHERE seq = 3",
    "UPDATE mobai_events SET hash = '' WHERE seq = 3",
    "UPDATE mobai_events SET body = x'00' WHERE seq = 3",
    "UPDATE mobai_events SET body = NULL WHERE seq = 1",
    "UPDATE mobai_experiments SET head = 'x'",
    "UPDATE mobai_experiments SET seq = 3",
    "UPDATE mobai_schema SET version = 'x'",
    "DELETE FROM mobai_schema",
    "INSERT INTO mobai_schema SELECT * FROM mobai_schema",
    "UPDATE mobai_schema SET version = 99",
])  # fmt: skip
def test_a_change_is_refused(path: Path, statement: str) -> None:
    test = new(url_of(path))
    run(test, 6)
    try:
        change(path, statement)
    except sqlite3.IntegrityError:
        return
    with pytest.raises(StorageError):
        Experiment.load(url_of(path), "test").status()


def test_random_mutations(path: Path, monkeypatch: Any) -> None:
    """Cells of every table, one at a time: refused, or without effect."""
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    test = new(url_of(path))
    run(test, 12)
    test._ledger.journal.close()
    rng, kept = np.random.default_rng(1), path.with_suffix(".kept")
    keep(path, kept)
    known = facts(Experiment.load(url_of(kept), "test"))
    refused = 0
    for _ in range(80):
        for leftover in path.parent.glob("test.db*"):
            leftover.unlink()
        shutil.copy(kept, path)
        table = ("mobai_events", "mobai_events", "mobai_snapshots", "mobai_experiments", "mobai_schema")[
            rng.integers(5)
        ]
        with closing(sqlite3.connect(path)) as connection, connection:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            row = list(rows[rng.integers(len(rows))])
            place = int(rng.integers(len(columns)))
            where = " AND ".join(f"{column} IS ?" for column in columns)
            try:
                connection.execute(
                    f"UPDATE {table} SET {columns[place]} = ? WHERE {where}", (_bent(row[place], rng), *row)
                )
            except sqlite3.IntegrityError:
                continue
        try:
            loaded = Experiment.load(url_of(path), "test")
            assert facts(loaded) == known, (table, columns[place])
        except (StorageError, InputError):
            refused += 1
    assert refused > 20


def _bent(value: Any, rng: np.random.Generator) -> Any:
    """Something else in place of a value."""
    if isinstance(value, bytes):
        bent = bytearray(value)
        bent[rng.integers(len(bent))] ^= 1 << rng.integers(8)
        return bytes(bent)
    if isinstance(value, str):
        place = int(rng.integers(len(value) + 1))
        return value[:place] + "xyz019"[rng.integers(6)] + value[place + 1 :]
    return value + (1, -1, 0.5, 1e6)[rng.integers(4)]


def test_bit_flips(path: Path) -> None:
    """Bits of the file, one at a time: refused, or without effect."""
    test = new(url_of(path))
    run(test, 12)
    test._ledger.journal.close()
    rng, kept = np.random.default_rng(2), path.with_suffix(".kept")
    keep(path, kept)
    known, data = facts(Experiment.load(url_of(kept), "test")), kept.read_bytes()
    for _ in range(80):
        for leftover in path.parent.glob("test.db*"):
            leftover.unlink()
        bent = bytearray(data)
        bent[rng.integers(len(bent))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(bent))
        with suppress(StorageError, InputError):
            assert facts(Experiment.load(url_of(path), "test")) == known


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flipped_page_of_the_schema(path: Path, mask: int) -> None:
    """Names and statements of tables, of which SQLite's own words may not be text: a clear line in any case."""
    test = new(url_of(path))
    run(test, 3)
    test._ledger.journal.close()
    kept = path.with_suffix(".kept")
    keep(path, kept)
    data = kept.read_bytes()
    refused = []
    for place in range(100, 4096, 61):
        for leftover in path.parent.glob("test.db*"):
            leftover.unlink()
        path.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
        try:
            assert Experiment.load(url_of(path), "test").status().verdict.pulls == 3
            verify(path)
        except (StorageError, InputError) as error:
            refused.append(str(error))
    assert refused
    for text in refused:
        assert "\n" not in text
        assert "damaged" in text or "not a database" in text or "read-only" in text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("arm_retired", {"arm": "A"}),
        ("asked", {"arms": [0]}),
        ("told", {"reports": [[1, {"click": 1.0}]]}),
        ("closed", {}),
    ],
)
def test_events_that_cannot_be(kind: str, body: dict[str, Any]) -> None:
    """An arm retired twice, an ask of a retired arm, anything after closed: in a chain that is unbroken."""
    journal = MemoryJournal()
    test = new(journal)
    run(test, 3)
    test.retire_arm("A")
    if kind in ("told", "closed"):
        test.close()
    with journal.lock(journal.find("test")) as log:
        log.append(Event(len(test.history()) + 1, kind, 0.0, body))
    with pytest.raises(StorageError, match="is damaged"):
        Experiment.load(journal, "test").status()
    (found,) = verify(journal)
    assert not found.intact
    assert "is damaged" in str(found)


def test_long_journals_are_read_in_parts(make_journal: Callable[[], Journal], monkeypatch: Any) -> None:
    test = new(make_journal())
    run(test, 20)
    monkeypatch.setattr(ledger, "_EVENTS_AT_A_TIME", 3)
    assert facts(Experiment.load(make_journal(), "test")) == facts(test)


def test_refused_until_it_is_loaded_again(path: Path) -> None:
    """Cut off consistently, and gone on with by another: stale assignments are not taken for those of the other."""
    test = new(url_of(path))
    stale = test.ask(4)
    change(path, "DELETE FROM mobai_events WHERE seq > 1")
    change(path, "UPDATE mobai_experiments SET seq = 1, head = (SELECT hash FROM mobai_events WHERE seq = 1)")
    other = Experiment.load(url_of(path), "test")
    fresh = other.ask(4)
    for one in stale:
        with pytest.raises(StorageError, match="not the one this process has read"):
            test.tell(one, {"click": 1.0})
    other.tell_all([(one, {"click": 0.0}) for one in fresh])
    for action in (test.history, test.replay, test.verify):
        with pytest.raises(StorageError, match="not the one this process has read"):
            action()


def test_the_last_event_is_read_again(storage: str) -> None:
    test = new(storage)
    run(test, 5)
    engine = sa.create_engine(storage.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        last = "seq = (SELECT max(seq) FROM mobai_events)"
        connection.execute(sa.text(f"UPDATE mobai_events SET body = replace(body, 'click', 'clack') WHERE {last}"))
    engine.dispose()
    for action in (test.ask, test.status):
        with pytest.raises(StorageError, match="is damaged: it is not what was written"):
            action()


def test_names_are_part_of_the_journal(path: Path) -> None:
    run(new(url_of(path), "x"), 3)
    run(new(url_of(path), "y"), 5)
    for name, other in (("x", "q"), ("y", "x"), ("q", "y")):
        change(path, "UPDATE mobai_experiments SET name = ? WHERE name = ?", other, name)
    for name in ("x", "y"):
        with pytest.raises(StorageError, match="names or events were exchanged"):
            Experiment.load(url_of(path), name)
    assert not any(one.intact for one in verify(path))
