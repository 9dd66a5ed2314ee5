"""A journal in an SQL database: SQLite for one machine, PostgreSQL for several.

Every change is one transaction. SQLite runs in WAL mode with full synchronisation and takes its write lock at the start
(``BEGIN IMMEDIATE``), so writers wait for each other instead of failing; on PostgreSQL the experiment's row is locked.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from mobai.errors import InputError, StorageError
from mobai.live.journal import Event, Log, Snapshot, check_next, no_such
from mobai.live.schema import events, experiments, migrate, snapshots

_SECONDS_TO_WAIT = 60.0


class SqlJournal:
    """Experiments in a database that SQLAlchemy can reach."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self._shown = self._engine.url.render_as_string(hide_password=True)
        self._ids: dict[str, int] = {}
        # Whoever forgets to close it still leaves no connection behind.
        weakref.finalize(self, self._engine.dispose)
        with self._errors():
            migrate(self._engine)

    def create(self, name: str, event: Event) -> None:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        check_next(event, 0)
        with self._errors(), self._write() as connection:
            try:
                added = connection.execute(sa.insert(experiments).values(name=name).returning(experiments.c.id))
                key = added.scalar_one()
            except IntegrityError:
                raise InputError(f"name: there is an experiment {name!r} already") from None
            connection.execute(sa.insert(events), _row(key, event))

    def names(self) -> list[str]:
        """Give the names of all experiments, in the order of their creation."""
        with self._errors(), self._read() as connection:
            return list(connection.scalars(sa.select(experiments.c.name).order_by(experiments.c.id)))

    @contextmanager
    def lock(self, name: str) -> Iterator[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self._errors(), self._write() as connection:
            key = self._key(connection, name, lock=True)
            yield _SqlLog(connection, key)

    def read(self, name: str, after: int = 0) -> Sequence[Event]:
        """Give the events after one, without locking."""
        with self._errors(), self._read() as connection:
            return _events_after(connection, self._key(connection, name), after)

    def snapshot(self, name: str) -> Snapshot | None:
        """Give the latest snapshot, if there is any."""
        with self._errors(), self._read() as connection:
            key = self._key(connection, name)
            found = sa.select(snapshots.c.seq, snapshots.c.data).where(snapshots.c.experiment == key)
            row = connection.execute(found).first()
            return None if row is None else Snapshot(row.seq, row.data)

    def save_snapshot(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        with self._errors(), self._write() as connection:
            key = self._key(connection, name, lock=True)
            connection.execute(sa.delete(snapshots).where(snapshots.c.experiment == key))
            connection.execute(sa.insert(snapshots).values(experiment=key, seq=snapshot.seq, data=snapshot.data))

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        with self._errors(), self._write() as connection:
            key = self._key(connection, name, lock=True)
            for table, column in ((snapshots, snapshots.c.experiment), (events, events.c.experiment)):
                connection.execute(sa.delete(table).where(column == key))
            connection.execute(sa.delete(experiments).where(experiments.c.id == key))
        self._ids.pop(name, None)

    def close(self) -> None:
        """Let go of files and connections."""
        self._engine.dispose()

    def _key(self, connection: sa.Connection, name: str, lock: bool = False) -> int:
        """Give the number of an experiment, and on PostgreSQL lock its row."""
        found = sa.select(experiments.c.id).where(experiments.c.name == name)
        key = connection.scalar(found.with_for_update() if lock else found)
        if key is None:
            names = list(connection.scalars(sa.select(experiments.c.name).order_by(experiments.c.id)))
            raise no_such(name, names)
        if self._ids.setdefault(name, key) != key:
            del self._ids[name]
            raise StorageError(f"{self._shown}: the experiment {name!r} was deleted and created anew; load it again")
        return int(key)

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        with self._engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
            yield connection

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with self._engine.connect().execution_options(begin="DEFERRED") as connection, connection.begin():
            yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the database's complaints into one line that names the storage."""
        try:
            yield
        except SQLAlchemyError as error:
            raise StorageError(f"{self._shown}: {_plainly(error)}") from error


class _SqlLog:
    def __init__(self, connection: sa.Connection, key: int) -> None:
        self._connection, self._key = connection, key
        self._last: int | None = None

    def after(self, seq: int) -> Sequence[Event]:
        found = _events_after(self._connection, self._key, seq)
        self._last = found[-1].seq if found else self._last
        return found

    def append(self, event: Event) -> None:
        if self._last is None:
            last = sa.select(sa.func.max(events.c.seq)).where(events.c.experiment == self._key)
            self._last = self._connection.scalar(last) or 0
        check_next(event, self._last)
        self._connection.execute(sa.insert(events), _row(self._key, event))
        self._last = event.seq


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except SQLAlchemyError:
        raise InputError(f"storage: {url!r} is no address such as sqlite:///ads.db or postgresql://host/name") from None
    if parsed.get_backend_name() == "postgresql":
        return sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        raise InputError(f"storage must be sqlite:///FILE, postgresql://... or memory:, not {url!r}")
    engine = sa.create_engine(parsed, connect_args={"timeout": _SECONDS_TO_WAIT})
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, record: Any) -> None:  # noqa: ARG001
    """Leave transactions to us, and make each of them durable."""
    connection.isolation_level = None
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('begin', 'IMMEDIATE')}")


def _row(key: int, event: Event) -> dict[str, Any]:
    body = json.dumps(event.body, separators=(",", ":"), allow_nan=False)
    return {"experiment": key, "seq": event.seq, "kind": event.kind, "at": event.at, "body": body}


def _events_after(connection: sa.Connection, key: int, seq: int) -> list[Event]:
    found = (
        sa.select(events.c.seq, events.c.kind, events.c.at, events.c.body)
        .where(events.c.experiment == key, events.c.seq > seq)
        .order_by(events.c.seq)
    )
    return [Event(row.seq, row.kind, row.at, json.loads(row.body)) for row in connection.execute(found)]


_PLAIN = {
    "readonly database": "is read-only",
    "unable to open": "cannot be opened: is its folder there, and may it be written?",
    "disk is full": "the disk is full; nothing was changed",
    "disk i/o error": "cannot be written (disk error, or no space left); nothing was changed",
    "not a database": "is not a database of mobai",
    "malformed": "is damaged; what can be saved, `sqlite3 FILE .recover` saves",
    "is locked": f"was locked by somebody else for {_SECONDS_TO_WAIT:g} seconds",
}


def _plainly(error: SQLAlchemyError) -> str:
    """Give the cause in words where we know them, else the first line of the driver's message."""
    message = str(getattr(error, "orig", None) or error)
    for sign, words in _PLAIN.items():
        if sign in message.lower():
            return words
    return message.strip().splitlines()[0]
