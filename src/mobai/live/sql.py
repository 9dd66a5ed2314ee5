"""A journal in an SQL database: SQLite for one machine, PostgreSQL for several.

Every change is one transaction, in which the experiment is locked: on SQLite the whole database, on PostgreSQL the
experiment's row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from mobai.errors import InputError, StorageError
from mobai.live.database import Database
from mobai.live.journal import Event, Handle, Log, Snapshot, check_handle, check_next, no_such
from mobai.live.schema import events, experiments, migrate, snapshots

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class SqlJournal:
    """Experiments in a database that SQLAlchemy can reach; without ``create`` it must be there."""

    def __init__(self, url: str | sa.URL, *, create: bool = True) -> None:
        self._database = Database(url, create=create)
        self._statements = _Statements(self._database.engine.dialect.name)
        with self._database.errors:
            migrate(self._database.engine, create=create)

    def create(self, name: str, event: Event) -> Handle:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        check_next(event, 0)
        with self._database.errors, self._database.connection("IMMEDIATE") as connection:
            try:
                added = connection.execute(sa.insert(experiments).values(name=name).returning(experiments.c.id))
                handle = Handle(name, int(added.scalar_one()))
            except IntegrityError:
                raise InputError(f"name: there is an experiment {name!r} already") from None
            self._statements.append(connection.connection.driver_connection, handle.number, event)
        return handle

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
    def lock(self, handle: Handle) -> Iterator[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self._database.errors, self._database.driver("IMMEDIATE") as driver:
            self._check(driver, handle, lock=True)
            yield _SqlLog(driver, handle.number, self._statements)

    def read(self, handle: Handle, after: int = 0, most: int | None = None) -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them, without locking."""
        with self._database.errors, self._database.driver("DEFERRED") as driver:
            self._check(driver, handle)
            return self._statements.after(driver, handle.number, after, most)

    def snapshot(self, handle: Handle) -> Snapshot | None:
        """Return the latest snapshot, if there is any."""
        with self._database.errors, self._database.connection("DEFERRED") as connection:
            self._check(connection.connection.driver_connection, handle)
            found = sa.select(snapshots.c.seq, snapshots.c.data).where(snapshots.c.experiment == handle.number)
            row = connection.execute(found).first()
            return None if row is None else Snapshot(row.seq, row.data)

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

    def close(self) -> None:
        """Let go of files and connections."""
        self._database.close()

    def _check(self, driver: Any, handle: Handle, lock: bool = False) -> None:
        """Refuse a handle whose experiment is gone, and lock the row of one that is there on PostgreSQL."""
        check_handle(handle, self._statements.number(driver, handle.name, lock), lambda: self._statements.names(driver))


class _SqlLog:
    def __init__(self, driver: Any, number: int, statements: _Statements) -> None:
        self._driver, self._number, self._statements = driver, number, statements
        self._last: int | None = None

    def after(self, seq: int) -> Sequence[Event]:
        return self._statements.after(self._driver, self._number, seq)

    def append(self, event: Event) -> None:
        if self._last is None:
            self._last = self._statements.last(self._driver, self._number)
        check_next(event, self._last)
        self._statements.append(self._driver, self._number, event)
        self._last = event.seq


class _Statements:
    """The statements of every call, as text: building them anew each time takes longer than running them."""

    def __init__(self, dialect: str) -> None:
        self._locking = dialect == "postgresql"
        mark = "%s" if self._locking else "?"
        self._number = f"SELECT id FROM {experiments.name} WHERE name = {mark}"
        self._last = f"SELECT coalesce(max(seq), 0) FROM {events.name} WHERE experiment = {mark}"
        self._append = f"INSERT INTO {events.name} (experiment, seq, kind, at, body) VALUES ({', '.join([mark] * 5)})"
        self._after = (
            f"SELECT seq, kind, at, body FROM {events.name} WHERE experiment = {mark} AND seq > {mark} ORDER BY seq"
        )

    def number(self, driver: Any, name: str, lock: bool = False) -> int | None:
        """Return the number of an experiment, None if there is none; its row is locked where the database is not."""
        text = f"{self._number} FOR UPDATE" if lock and self._locking else self._number
        row = driver.execute(text, (name,)).fetchone()
        return None if row is None else int(row[0])

    def names(self, driver: Any) -> list[str]:
        """Return the names of all experiments."""
        return [row[0] for row in driver.execute(f"SELECT name FROM {experiments.name} ORDER BY id").fetchall()]

    def last(self, driver: Any, number: int) -> int:
        """Return the number of the last event."""
        return int(driver.execute(self._last, (number,)).fetchone()[0])

    def append(self, driver: Any, number: int, event: Event) -> None:
        """Add an event."""
        driver.execute(self._append, (number, event.seq, event.kind, event.at, _encode(event.body)))

    def after(self, driver: Any, number: int, seq: int, most: int | None = None) -> list[Event]:
        """Return the events after one, at most ``most`` of them."""
        text = self._after if most is None else f"{self._after} LIMIT {most:d}"
        found = driver.execute(text, (number, seq)).fetchall()
        return [Event(place, kind, at, _decode(place, body)) for place, kind, at, body in found]


def _decode(seq: int, body: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        raise StorageError(f"event {seq} is damaged: its body is no JSON") from None
    return found
