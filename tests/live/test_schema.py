"""Tables of earlier versions are brought up to date; rows that cannot be are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.live.rounds import new, run
from tests.live.sqlite_files import change, url_of

from mobai import Experiment, StorageError
from mobai.live import ledger
from mobai.live.verify import verify
from mobai.service.tokens import Tokens, create_token
from mobai.store.journal import MemoryJournal
from mobai.store.schema import VERSION
from mobai.store.sql import SqlJournal


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
        from mobai.store.journal import encode

        rows = [(1, event.seq, event.kind, event.at, encode(event.body)) for event in old.history()]
        connection.executemany("INSERT INTO mobai_events VALUES (?, ?, ?, ?, ?)", rows)
    taken = Experiment.load(url_of(path), "test")
    assert taken.history() == old.history()
    assert taken.verify().intact
    run(taken, 3)


def test_records_of_the_third_version_are_added_up(path: Path) -> None:
    journal = SqlJournal(url_of(path))
    secret = create_token(journal, "ci", "admin")
    journal.put_record("webhook", "w", {"url": "https://example.org"})
    journal.close()
    change(path, "ALTER TABLE mobai_schema DROP COLUMN records")
    change(path, "UPDATE mobai_schema SET version = 3")
    migrated = SqlJournal(url_of(path))
    assert migrated.damage() == []
    tokens = Tokens(lambda: migrated)
    tokens.refresh()
    assert tokens.check(secret) is not None
    change(path, "DELETE FROM mobai_records WHERE kind = 'token'")
    with pytest.raises(StorageError, match="the tokens of the service are damaged"):
        migrated.records("token")


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
