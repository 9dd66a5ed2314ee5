"""A journal in an SQL database: SQLite for one machine, PostgreSQL for several.

Every change is one transaction, in which the experiment is locked: on SQLite the whole database, on PostgreSQL the
experiment's row.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from mobai.errors import ConflictError, HistoryChangedError, StorageError
from mobai.store.database import Database, database_at
from mobai.store.interrupts import FORKS, ctrl_c_waits
from mobai.store.journal import (
    ANYTHING,
    Event,
    EventLog,
    Handle,
    Last,
    Snapshot,
    another_history,
    check_handle,
    check_next,
    encode,
    link,
    no_such,
    sealed,
)
from mobai.store.schema import VERSION, events, experiments, migrate, new_identity, snapshots, version
from mobai.store.sql_records import SqlRecords
from mobai.store.sqlite_file import SECONDS_TO_WAIT


class SqlJournal:
    """Experiments in a database that SQLAlchemy can reach; without ``create`` it must be there."""

    def __init__(self, url: str | sa.URL, *, create: bool = True) -> None:
        self._database = database_at(url, create=create)
        self._statements, self._records = _Statements(self._database), SqlRecords(self._database)
        with self._database.errors, FORKS, ctrl_c_waits():
            migrate(self._database.engine, create=create)
        with self._database.errors, self._database.driver("DEFERRED") as driver:
            self._identity = self._statements.identity(driver)

    @property
    def identity(self) -> str:
        """What tells this storage from a copy of it that was restored."""
        return self._identity

    @property
    def file_id(self) -> tuple[int, int] | None:
        """What tells its file from others, None for a database that is no file."""
        return self._database.file_id

    @property
    def path(self) -> Path | None:
        """The file of SQLite, None for another database."""
        return self._database.path

    def create(self, name: str, event: Event, more: Iterable[Event] = ()) -> Handle:
        """Begin an experiment with its first event, or several; InputError if there is one of that name."""
        check_next(event, 0)
        with self._database.errors, self._database.connection("IMMEDIATE") as connection:
            try:
                added = connection.execute(sa.insert(experiments).values(name=name).returning(experiments.c.id))
                handle = Handle(name, int(added.scalar_one()))
            except IntegrityError:
                raise ConflictError("name", f"there is an experiment {name!r} already") from None
            driver = connection.connection.driver_connection
            self._statements.make_durable(driver)
            self._append_all(driver, handle, chain([event], more))
        return handle

    def _append_all(self, driver: Any, handle: Handle, found: Iterable[Event]) -> None:
        log = _SqlLog(driver, _Row(handle.number, 0, "", VERSION, self._identity), self._statements)
        for one in found:
            log.append(one)
        log.write()

    def find(self, name: str) -> Handle:
        """Look an experiment up; InputError if there is none."""
        with self._database.errors, self._database.driver("DEFERRED") as driver:
            number = self._statements.number(driver, name)
            if number is None:
                raise no_such(name, self._statements.names(driver))
            return Handle(name, number)

    def names(self) -> list[str]:
        """Return the names of all experiments, in the order of their creation."""
        with self._database.errors, self._database.driver("DEFERRED") as driver:
            return self._statements.names(driver)

    @contextmanager
    def lock(self, handle: Handle) -> Iterator[EventLog]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self.lock_several([handle]) as (log,):
            yield log

    @contextmanager
    def lock_several(self, handles: Sequence[Handle]) -> Iterator[Sequence[EventLog]]:
        """Lock experiments for one transaction; all that is appended is kept, or nothing."""
        with self._database.errors, self._database.driver("IMMEDIATE") as driver:
            # In the order of their numbers: two transactions that wait for each other would wait for ever.
            ordered = sorted(set(handles), key=lambda handle: handle.number)
            rows = {handle: self._check(driver, handle, lock=True) for handle in ordered}
            logs = [_SqlLog(driver, rows[handle], self._statements) for handle in handles]
            yield logs
            for log in logs:
                log.write()

    def read(self, handle: Handle, after: int = 0, most: int | None = None, head: str = "") -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them, without locking."""
        with self._database.errors, self._database.driver("DEFERRED") as driver:
            return _SqlLog(driver, self._check(driver, handle), self._statements).after(after, head, most)

    def last(self, handle: Handle) -> Last:
        """Return the number and the hash of the last event."""
        with self._database.errors, self._database.driver("DEFERRED") as driver:
            row = self._check(driver, handle)
            return Last(row.seq, row.head)

    def snapshot(self, handle: Handle) -> Snapshot | None:
        """Return the latest snapshot, if there is any."""
        with self._database.errors, self._database.connection("DEFERRED") as connection:
            self._check(connection.connection.driver_connection, handle)
            found = sa.select(snapshots.c.seq, snapshots.c.data).where(snapshots.c.experiment == handle.number)
            row = connection.execute(found).first()
            if row is None:
                return None
            whole = isinstance(row.seq, int) and isinstance(row.data, bytes)
            return Snapshot(row.seq, row.data) if whole else Snapshot(-1, b"")

    def save_snapshot(self, handle: Handle, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        with self._database.errors, self._database.connection("IMMEDIATE") as connection:
            self._check(connection.connection.driver_connection, handle, lock=True)
            connection.execute(sa.delete(snapshots).where(snapshots.c.experiment == handle.number))
            row = {"experiment": handle.number, "seq": snapshot.seq, "data": snapshot.data}
            connection.execute(sa.insert(snapshots).values(row))

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        handle = self.find(name)
        with self._database.errors, self._database.connection("IMMEDIATE") as connection:
            self._check(connection.connection.driver_connection, handle, lock=True)
            for table, column in ((snapshots, snapshots.c.experiment), (events, events.c.experiment)):
                connection.execute(sa.delete(table).where(column == handle.number))
            connection.execute(sa.delete(experiments).where(experiments.c.id == handle.number))

    def damage(self) -> list[str]:
        """Return what SQLite finds wrong with its file (PostgreSQL does not say), and with the records."""
        if not self._database.sqlite:
            return self._records.damage()
        try:
            with self._database.driver("DEFERRED") as driver:
                rows = driver.execute("PRAGMA integrity_check(10)").fetchall()
            return [row[0] for row in rows if row[0] != "ok"] or self._records.damage()
        except (sqlite3.Error, UnicodeDecodeError, StorageError) as error:
            return [str(error)]

    def records(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the records of one kind, by key; StorageError if they are not what was written."""
        return self._records.read(kind)

    def put_record(self, kind: str, key: str, body: Mapping[str, Any] | None, *, was: object = ANYTHING) -> bool:
        """Keep a record, or with None remove it; False if it is not as it ``was``."""
        return self._records.put(kind, key, body, was=was)

    def forget_secrets(self) -> None:
        """Keep of every token that there was one, and no other record: for a copy that goes elsewhere."""
        self._records.forget_secrets()

    def replace_all(self, copies: Iterable[tuple[str, Iterable[Event]]]) -> None:
        """Put other experiments in place of all there are, in one transaction; the storage has another identity."""
        with self._database.errors, self._database.connection("IMMEDIATE") as connection:
            driver = connection.connection.driver_connection
            self._statements.make_durable(driver)
            self._statements.lock_all(driver)
            for table in (snapshots, events, experiments):
                connection.execute(sa.delete(table))
            for name, found in copies:
                added = connection.execute(sa.insert(experiments).values(name=name).returning(experiments.c.id))
                self._append_all(driver, Handle(name, int(added.scalar_one())), found)
            self._identity = new_identity(connection)

    def check(self) -> None:
        """Refuse a storage whose file is another one now, though nothing is asked of it."""
        self._database.check_file()

    def close(self) -> None:
        """Let go of files and connections."""
        self._database.close()

    def _check(self, driver: Any, handle: Handle, lock: bool = False) -> _Row:
        """Refuse a handle whose experiment is gone, and lock the row of one that is there on PostgreSQL.

        What the storage is, and which version of its tables, is read in the same statement: both can change under a
        process.
        """
        row = self._statements.row(driver, handle.name, lock)
        if row is None and self._statements.identity(driver) != self._identity:
            raise _restored()
        if row is not None and row.version != VERSION:
            raise StorageError(
                f"the storage was migrated by another version of mobai (schema {row.version}, this process knows "
                f"{VERSION}); start this process again with that version"
            )
        if row is not None and row.identity != self._identity:
            raise _restored()
        check_handle(handle, None if row is None else row.number, lambda: self._statements.names(driver))
        assert row is not None
        self._database.check_history(row.identity, row.number, row.seq)
        return row


def _restored() -> HistoryChangedError:
    return HistoryChangedError("the storage was restored from a backup; nothing was written; load the experiment again")


class _Row(NamedTuple):
    """An experiment as its row says: its number, its last event and that one's hash; and what the storage is.

    ``last`` has the last event as it stands in the journal, and ``before`` the hash of the one before it.
    """

    number: int
    seq: int
    head: str
    version: int
    identity: str
    before: str | None = None
    last: tuple[Any, Any, Any] | None = None


class _SqlLog:
    def __init__(self, driver: Any, row: _Row, statements: _Statements) -> None:
        self._driver, self._row, self._statements = driver, row, statements
        self._fresh: list[tuple[Event, str]] = []  # appended, and not written yet

    def after(self, seq: int, head: str = "", most: int | None = None) -> Sequence[Event]:
        """Return the events after one, whose hash must be ``head``, where it is given.

        The one before them is read, too: the chain goes on from there.
        """
        self.write()
        if seq > self._row.seq or (seq == self._row.seq and head and head != self._row.head):
            raise another_history(seq)
        if seq == self._row.seq:
            self._check_last()
            return []
        rows = self._statements.from_on(self._driver, self._row.number, seq, None if most is None else most + (seq > 0))
        if seq > 0:
            if not rows or rows[0][0] != seq or (head and rows[0][4] != head):
                raise another_history(seq)
            head, rows = rows[0][4], rows[1:]
        found = _linked(rows, seq, head if seq > 0 else "")
        complete = most is None or len(found) < most
        last = next((event.hash for event in found if event.seq == self._row.seq), None if complete else self._row.head)
        if last != self._row.head:
            raise StorageError(
                f"the journal was cut off or changed: event {self._row.seq:,} is not the one that was written last; "
                "`mobai verify` says more"
            )
        return found

    def _check_last(self) -> None:
        """Refuse a journal whose last event is not what was written."""
        if self._row.last is not None:
            kind, at, body = self._row.last
            _checked_link(self._row.before or "", self._row.seq, kind, at, body, self._row.head)

    def append(self, event: Event) -> Event:
        check_next(event, self._row.seq)
        text = encode(event.body)
        added = sealed(event, self._row.head, text)
        self._fresh.append((added, text))
        self._row = self._row._replace(seq=added.seq, head=added.hash, last=None)
        if len(self._fresh) >= _EVENTS_AT_A_TIME:
            self.write()
        return added

    def write(self) -> None:
        """Write what was appended."""
        if self._fresh:
            self._statements.append(self._driver, self._row.number, self._fresh)
            self._fresh = []


# A server may be set up to answer before commits are on disk; whoever wants that says so in the address.
_EVENTS_AT_A_TIME = 1_000
_DURABLE = (
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, true)"
)
_PATIENT = f"set_config('lock_timeout', '{SECONDS_TO_WAIT:g}s', true)"


class _Statements:
    """The statements of every call, as text: building them anew each time takes longer than running them."""

    def __init__(self, database: Database) -> None:
        self._locking = not database.sqlite
        mark = "%s" if self._locking else "?"
        self._number = f"SELECT id FROM {experiments.name} WHERE name = {mark}"
        # One statement is one way to the server: how long to wait for the lock, and that commits are on disk before
        # they are answered, is set for the transaction by the statement that locks.
        self._durable = "" if database.sqlite or database.commits_as_told else f", {_DURABLE}"
        columns = "e.id, e.seq, e.head, s.version, s.identity, p.hash, l.kind, l.at, l.body"
        there = (
            f"FROM {experiments.name} e LEFT JOIN {version.name} s ON 1 = 1 "
            f"LEFT JOIN {events.name} l ON l.experiment = e.id AND l.seq = e.seq "
            f"LEFT JOIN {events.name} p ON p.experiment = e.id AND p.seq = e.seq - 1 WHERE e.name = {mark}"
        )
        self._found = self._locked = f"SELECT {columns} {there}"
        if self._locking:
            self._locked = f"SELECT {columns}, {_PATIENT}{self._durable} {there} FOR UPDATE OF e"
        columns = "seq, kind, at, body, hash"
        self._append = f"INSERT INTO {events.name} (experiment, {columns}) VALUES ({', '.join([mark] * 6)})"
        self._advance = f"UPDATE {experiments.name} SET seq = {mark}, head = {mark} WHERE id = {mark}"
        self._from = f"SELECT {columns} FROM {events.name} WHERE experiment = {mark} AND seq >= {mark} ORDER BY seq"

    def number(self, driver: Any, name: str) -> int | None:
        """Return the number of an experiment, None if there is none."""
        row = driver.execute(self._number, (name,)).fetchone()
        return None if row is None else int(row[0])

    def row(self, driver: Any, name: str, lock: bool) -> _Row | None:
        """Return the row of an experiment, None if there is none; it is locked where the database is not."""
        rows = driver.execute(self._locked if lock else self._found, (name,)).fetchall()
        if len(rows) > 1 or (rows and rows[0][3] is None):
            raise StorageError("the storage is damaged: it must have one version of its tables")
        if not rows:
            return None
        number, seq, head, there, identity, before, kind, at, body, *_ = rows[0]
        return _Row(number, seq, head, there, identity, before, (kind, at, body))

    def lock_all(self, driver: Any) -> None:
        """Keep everybody else out until the transaction ends, on PostgreSQL; SQLite's write lock does it anyway."""
        if self._locking:
            driver.execute(f"LOCK TABLE {experiments.name} IN EXCLUSIVE MODE")

    def make_durable(self, driver: Any) -> None:
        """Have the transaction's commit on disk before it is answered."""
        if self._durable:
            driver.execute(f"SELECT {_DURABLE}")

    def identity(self, driver: Any) -> str:
        """Return what tells this storage from a copy of it that was restored."""
        return str(driver.execute(f"SELECT identity FROM {version.name}").fetchone()[0])

    def names(self, driver: Any) -> list[str]:
        """Return the names of all experiments."""
        return [row[0] for row in driver.execute(f"SELECT name FROM {experiments.name} ORDER BY id").fetchall()]

    def append(self, driver: Any, number: int, found: Sequence[tuple[Event, str]]) -> None:
        """Add events, each with its body as text, and note which one is the last."""
        rows = [(number, event.seq, event.kind, event.at, text, event.hash) for event, text in found]
        last = found[-1][0]
        end = (last.seq, last.hash, number)
        if self._locking and len(rows) == 1:  # in one statement, which is one way to the server
            driver.execute(f"WITH added AS ({self._append}) {self._advance}", (*rows[0], *end))
            return
        driver.cursor().executemany(self._append, rows)
        driver.execute(self._advance, end)

    def from_on(self, driver: Any, number: int, seq: int, most: int | None) -> list[Any]:
        """Return the rows of events from one on, at most ``most`` of them."""
        text = self._from if most is None else f"{self._from} LIMIT {most:d}"
        found: list[Any] = driver.execute(text, (number, seq)).fetchall()
        return found


def _linked(rows: Sequence[Any], seq: int, head: str) -> list[Event]:
    """Return rows of the table as events; StorageError where the chain breaks."""
    found = []
    for place, kind, at, body, hash_ in rows:
        if place != seq + 1:
            raise StorageError(f"event {seq + 1} is missing from the journal")
        seq, head = place, _checked_link(head, place, kind, at, body, hash_)
        found.append(Event(place, kind, at, _decode(place, body), head))
    return found


def _checked_link(head: str, seq: int, kind: Any, at: Any, body: Any, claimed: Any) -> str:
    """Return the hash of an event, which must be the one that was written with it."""
    whole = isinstance(kind, str) and isinstance(at, float) and isinstance(body, str)
    if not whole or link(head, seq, kind, at, body) != claimed:
        raise StorageError(f"event {seq} is damaged: it is not what was written; `mobai verify` says more")
    return str(claimed)


_read_json = json.JSONDecoder().decode


def _decode(seq: int, body: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = _read_json(body)
    except (ValueError, TypeError, RecursionError):
        raise StorageError(f"event {seq} is damaged: its body is no JSON") from None
    return found
