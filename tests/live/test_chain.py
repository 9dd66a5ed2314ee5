"""A journal that is no longer the one that was read, and bytes that change at rest: noticed, or without effect."""

from __future__ import annotations

import io
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.live.rounds import facts, new, run

import mobai
from mobai import Experiment, InputError, StorageError
from mobai.live import ledger, snapshots
from mobai.live.copies import backup, copy, restore
from mobai.live.journal import Event, Journal, MemoryJournal, Snapshot, link
from mobai.live.schema import VERSION
from mobai.live.sql import SqlJournal
from mobai.live.storage import open_journal
from mobai.live.verify import verify


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def keep(path: Path, copy_: Path) -> None:
    """Copy a storage as somebody would who knows no better, with everything in its log."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(path, copy_)


def test_hashes_cover_everything(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    run(test, 5)
    events = test.history()
    assert len({event.hash for event in events}) == len(events)
    assert test.status().head == events[-1].hash
    from mobai.live.journal import encode

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


def test_verify(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    run(test, 30)
    found = test.verify()
    assert found.intact
    assert found.choices.holds
    assert (found.events, found.head) == (test.status().events, test.status().head)
    assert str(found).startswith(f"test: intact, {found.events:,} events, head {found.head}")


def test_verify_says_what_is_wrong(path: Path) -> None:
    test = new(url_of(path))
    run(test, 6)
    test._ledger.journal.close()
    change(path, "UPDATE mobai_events SET body = replace(body, 'click', 'clack') WHERE seq = 3")
    (found,) = verify(path)
    assert not found.intact
    assert found.events == 2
    assert "event 3 is damaged" in str(found)


def test_backup_while_others_write_and_restore(path: Path, tmp_path: Path) -> None:
    test = new(url_of(path))
    run(test, 5)
    saved = tmp_path / "saved.db"
    assert backup(path, saved) == 1
    assert saved.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in saved.parent.glob("saved.db*")] == ["saved.db"]
    before = facts(test)
    with pytest.raises(InputError, match="there is something at"):
        backup(path, saved)
    run(test, 5)
    with pytest.raises(InputError, match="it has 1 experiments already"):
        restore(saved, url_of(path))
    assert restore(saved, url_of(path), replace=True) == 1
    with pytest.raises(StorageError, match=r"restored from a backup|not the one|replaced"):
        test.ask()
    again = Experiment.load(path, "test")
    assert facts(again) == before
    run(again, 3)
    assert again.verify().intact


def test_a_damaged_backup_is_not_restored(path: Path, tmp_path: Path) -> None:
    test, saved = new(url_of(path)), tmp_path / "saved.db"
    run(test, 5)
    backup(path, saved)
    change(saved, "UPDATE mobai_events SET at = 0.0 WHERE seq = 2")
    with pytest.raises(StorageError, match="is not intact, nothing was restored"):
        restore(saved, url_of(path), replace=True)
    run(test, 1)


def test_between_storages(storage: str, tmp_path: Path) -> None:
    """To a file and back, with the chain; a backup of any storage is a file."""
    test = new(storage)
    run(test, 5)
    copy(storage, "test", tmp_path / "copy.db")
    copied = Experiment.load(tmp_path / "copy.db", "test")
    assert copied.history() == test.history()
    assert facts(copied) == facts(test)
    with pytest.raises(InputError, match="there is an experiment 'test' already"):
        copy(storage, "test", tmp_path / "copy.db")
    assert backup(storage, tmp_path / "all.db") == 1
    mobai.delete(storage, "test")
    assert restore(tmp_path / "all.db", storage) == 1
    back = Experiment.load(storage, "test")
    assert back.history() == copied.history()
    with pytest.raises((StorageError, InputError)):
        test.ask()


def test_a_storage_of_the_first_version(path: Path) -> None:
    """Events get their hashes when it is opened."""
    old = new(MemoryJournal())
    run(old, 5)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in (
            "CREATE TABLE mobai_schema (version INTEGER NOT NULL)",
            "CREATE TABLE mobai_experiments (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)",
            "CREATE TABLE mobai_events (experiment INTEGER NOT NULL REFERENCES mobai_experiments (id), seq INTEGER NOT "
            "NULL, kind TEXT NOT NULL, at DOUBLE NOT NULL, body TEXT NOT NULL, PRIMARY KEY (experiment, seq)) "
            "WITHOUT ROWID",
            "CREATE TABLE mobai_snapshots (experiment INTEGER PRIMARY KEY, seq INTEGER NOT NULL, data BLOB NOT NULL)",
            "INSERT INTO mobai_schema VALUES (1)",
            "INSERT INTO mobai_experiments (name) VALUES ('test')",
            "INSERT INTO mobai_snapshots VALUES (1, 3, x'00')",
        ):
            connection.execute(statement)
        from mobai.live.journal import encode

        rows = [(1, event.seq, event.kind, event.at, encode(event.body)) for event in old.history()]
        connection.executemany("INSERT INTO mobai_events VALUES (?, ?, ?, ?, ?)", rows)
    taken = Experiment.load(url_of(path), "test")
    assert taken.history() == old.history()
    assert taken.verify().intact
    run(taken, 3)


def test_migrated_under_a_process(storage: str) -> None:
    test = new(storage)
    run(test, 2)
    engine = sa.create_engine(storage.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE mobai_schema SET version = {VERSION + 1}"))
    engine.dispose()
    for action in (test.ask, test.status):
        with pytest.raises(StorageError, match="was migrated by another version of mobai"):
            action()
    with pytest.raises(StorageError, match="was written by a newer mobai"):
        SqlJournal(storage)


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


def test_restoring_is_one_transaction(storage: str, tmp_path: Path) -> None:
    """Somebody who is in the middle of it sees all of before or all of after; one that fails changes nothing."""
    for name in ("x", "y"):
        run(new(storage, name), 3)
    backup(storage, tmp_path / "saved.db")
    held = Experiment.load(storage, "x")
    run(held, 3)
    before, events = facts(held), held.history()

    def failing() -> Any:
        yield "x", iter(events)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_journal(storage).replace_all(failing())
    assert facts(Experiment.load(storage, "x")) == before
    assert mobai.experiment_names(storage) == ["x", "y"]
    restore(tmp_path / "saved.db", storage, replace=True)
    for _ in range(2):
        with pytest.raises(StorageError, match="was restored from a backup"):
            held.ask()
    assert Experiment.load(storage, "x").status().verdict.pulls == 3


def test_a_damaged_storage_is_not_backed_up(path: Path, tmp_path: Path) -> None:
    run(new(url_of(path)), 5)
    change(path, "UPDATE mobai_events SET at = at + 1 WHERE seq = 3")
    with pytest.raises(StorageError, match="event 3 is damaged"):
        backup(path, tmp_path / "saved.db")
    assert not (tmp_path / "saved.db").exists()


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
def test_what_is_no_backup_is_named(path: Path, tmp_path: Path, content: bytes) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(content)
    with pytest.raises((InputError, StorageError), match=r"bad\.db") as found:
        restore(bad, url_of(path))
    assert "\n" not in str(found.value)
    assert [one.name for one in tmp_path.glob("bad*")] == ["bad.db"]


def test_copying_nothing_makes_nothing(path: Path, tmp_path: Path) -> None:
    new(url_of(path))
    with pytest.raises(InputError, match="there is no experiment 'nope'"):
        copy(path, "nope", tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is something at"):
        backup(path, tmp_path / "link")


@pytest.mark.parametrize("statement", ["UPDATE mobai_schema SET version = 1", "UPDATE mobai_snapshots SET seq = 'x'"])
def test_rows_that_cannot_be(path: Path, statement: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    run(new(url_of(path)), 12)
    change(path, statement)
    if "version" in statement:
        with pytest.raises(StorageError, match="is damaged: its tables are newer than their version"):
            verify(path)
    else:
        assert not verify(path)[0].intact
