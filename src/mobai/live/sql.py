"""A journal in an SQL database: SQLite for one machine, PostgreSQL for several.

Every change is one transaction. SQLite runs in WAL mode with full synchronisation and takes its write lock at the start
(``BEGIN IMMEDIATE``), so writers wait for each other instead of failing; on PostgreSQL the experiment's row is locked.
"""

from __future__ import annotations

import json
import os
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from mobai.errors import InputError, StorageError
from mobai.live.journal import Event, Log, Snapshot, check_next, no_such
from mobai.live.schema import events, experiments, migrate, snapshots

_SECONDS_TO_WAIT = 60.0
# Connections that came along when this process was forked: kept, so that nothing closes them.
_OF_PARENTS: list[object] = []
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class SqlJournal:
    """Experiments in a database that SQLAlchemy can reach."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self._shown = self._engine.url.render_as_string(hide_password=True)
        self._ids: dict[str, int] = {}
        self._text = _Text(self._engine.dialect.name)
        self._errors = _Errors(self._engine, self._shown)
        self._at_hand: deque[sa.PoolProxiedConnection] = deque()
        self._process = os.getpid()
        # Whoever forgets to close it still leaves no connection behind.
        weakref.finalize(self, _let_go, self._engine, self._at_hand)
        with self._errors:
            migrate(self._engine)

    def create(self, name: str, event: Event) -> None:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        check_next(event, 0)
        with self._errors, self._write() as connection:
            try:
                added = connection.execute(sa.insert(experiments).values(name=name).returning(experiments.c.id))
                key = added.scalar_one()
            except IntegrityError:
                raise InputError(f"name: there is an experiment {name!r} already") from None
            self._text.append(connection.connection.driver_connection, key, event)

    def names(self) -> list[str]:
        """Give the names of all experiments, in the order of their creation."""
        with self._errors, self._read() as connection:
            return list(connection.scalars(sa.select(experiments.c.name).order_by(experiments.c.id)))

    @contextmanager
    def lock(self, name: str) -> Iterator[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self._errors, self._transaction("IMMEDIATE") as driver:
            yield _SqlLog(driver, self._key(driver, name, lock=True), self._text)

    def read(self, name: str, after: int = 0) -> Sequence[Event]:
        """Give the events after one, without locking."""
        with self._errors, self._transaction("DEFERRED") as driver:
            return self._text.after(driver, self._key(driver, name), after)

    def snapshot(self, name: str) -> Snapshot | None:
        """Give the latest snapshot, if there is any."""
        with self._errors, self._read() as connection:
            key = self._key(connection.connection.driver_connection, name)
            found = sa.select(snapshots.c.seq, snapshots.c.data).where(snapshots.c.experiment == key)
            row = connection.execute(found).first()
            return None if row is None else Snapshot(row.seq, row.data)

    def save_snapshot(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        with self._errors, self._write() as connection:
            key = self._key(connection.connection.driver_connection, name, lock=True)
            connection.execute(sa.delete(snapshots).where(snapshots.c.experiment == key))
            connection.execute(sa.insert(snapshots).values(experiment=key, seq=snapshot.seq, data=snapshot.data))

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        with self._errors, self._write() as connection:
            key = self._key(connection.connection.driver_connection, name, lock=True)
            for table, column in ((snapshots, snapshots.c.experiment), (events, events.c.experiment)):
                connection.execute(sa.delete(table).where(column == key))
            connection.execute(sa.delete(experiments).where(experiments.c.id == key))
        self._ids.pop(name, None)

    def close(self) -> None:
        """Let go of files and connections."""
        _let_go(self._engine, self._at_hand)

    def _key(self, driver: Any, name: str, lock: bool = False) -> int:
        """Give the number of an experiment, and on PostgreSQL lock its row."""
        key = self._text.key(driver, name, lock)
        if key is None:
            raise no_such(name, self._text.names(driver))
        if self._ids.setdefault(name, key) != key:
            del self._ids[name]
            raise StorageError(f"{self._shown}: the experiment {name!r} was deleted and created anew; load it again")
        return int(key)

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Any]:
        """Open a transaction on the driver's own connection: the calls that are made all the time go this way.

        On SQLite the connection stays at hand: to the pool and back takes longer than a statement. Others may have
        been cut off meanwhile, which the pool finds out.
        """
        self._leave_to_parent()
        try:
            pooled = self._at_hand.pop()
        except IndexError:
            pooled = self._engine.raw_connection()
        driver: Any = pooled.driver_connection
        sqlite, keep = self._engine.dialect.name == "sqlite", False
        try:
            if sqlite:
                driver.execute(f"BEGIN {mode}")
            yield driver
            driver.commit()
            keep = sqlite
        except BaseException:
            driver.rollback()
            raise
        finally:
            if keep:
                self._at_hand.append(pooled)
            else:
                pooled.close()

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        self._leave_to_parent()
        with self._engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
            yield connection

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        self._leave_to_parent()
        with self._engine.connect().execution_options(begin="DEFERRED") as connection, connection.begin():
            yield connection

    def _leave_to_parent(self) -> None:
        """In a forked process, make connections anew: those of its parent are not used, not even to close them."""
        if self._process != os.getpid():
            _OF_PARENTS.append((self._engine.pool, tuple(self._at_hand)))
            self._at_hand.clear()
            self._engine.dispose(close=False)
            self._process = os.getpid()


class _Errors:
    """Turns the database's complaints into one line that names the storage."""

    def __init__(self, engine: sa.Engine, shown: str) -> None:
        self._complaints, self._shown = (SQLAlchemyError, engine.dialect.loaded_dbapi.Error), shown

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._complaints):
            raise StorageError(f"{self._shown}: {_plainly(error)}") from error


class _SqlLog:
    def __init__(self, driver: Any, key: int, text: _Text) -> None:
        self._driver, self._key, self._text = driver, key, text
        self._last: int | None = None

    def after(self, seq: int) -> Sequence[Event]:
        found = self._text.after(self._driver, self._key, seq)
        self._last = found[-1].seq if found else seq
        return found

    def append(self, event: Event) -> None:
        if self._last is None:
            self._last = self._text.last(self._driver, self._key)
        check_next(event, self._last)
        self._text.append(self._driver, self._key, event)
        self._last = event.seq


class _Text:
    """The statements of every call, as text: building them anew each time takes longer than running them."""

    def __init__(self, dialect: str) -> None:
        self._locking = dialect == "postgresql"
        mark = "%s" if self._locking else "?"
        self._key = f"SELECT id FROM {experiments.name} WHERE name = {mark}"
        self._last = f"SELECT max(seq) FROM {events.name} WHERE experiment = {mark}"
        self._append = f"INSERT INTO {events.name} (experiment, seq, kind, at, body) VALUES ({', '.join([mark] * 5)})"
        self._after = (
            f"SELECT seq, kind, at, body FROM {events.name} WHERE experiment = {mark} AND seq > {mark} ORDER BY seq"
        )

    def key(self, driver: Any, name: str, lock: bool) -> int | None:
        """Give the number of an experiment, its row locked where the database itself is not."""
        text = f"{self._key} FOR UPDATE" if lock and self._locking else self._key
        row = driver.execute(text, (name,)).fetchone()
        return None if row is None else int(row[0])

    def names(self, driver: Any) -> list[str]:
        """Give the names of all experiments."""
        return [row[0] for row in driver.execute(f"SELECT name FROM {experiments.name} ORDER BY id").fetchall()]

    def last(self, driver: Any, key: int) -> int:
        """Give the number of the last event."""
        return int(driver.execute(self._last, (key,)).fetchone()[0] or 0)

    def append(self, driver: Any, key: int, event: Event) -> None:
        """Add an event."""
        driver.execute(self._append, (key, event.seq, event.kind, event.at, _encode(event.body)))

    def after(self, driver: Any, key: int, seq: int) -> list[Event]:
        """Give the events after one."""
        found = driver.execute(self._after, (key, seq)).fetchall()
        return [Event(number, kind, at, json.loads(body)) for number, kind, at, body in found]


def _let_go(engine: sa.Engine, at_hand: deque[sa.PoolProxiedConnection]) -> None:
    """Close every connection that is not in use."""
    while at_hand:
        at_hand.pop().close()
    engine.dispose()


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
    # A log that is begun again soon is overwritten, which takes half as long to synchronise as letting it grow.
    connection.execute("PRAGMA wal_autocheckpoint = 100")


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('begin', 'IMMEDIATE')}")


_PLAIN = {
    "readonly database": "is read-only",
    "unable to open": "cannot be opened: is its folder there, and may it be written?",
    "disk is full": "the disk is full; nothing was changed",
    "disk i/o error": "cannot be written (disk error, or no space left); nothing was changed",
    "not a database": "is not a database of mobai",
    "malformed": "is damaged; what can be saved, `sqlite3 FILE .recover` saves",
    "is locked": f"was locked by somebody else for {_SECONDS_TO_WAIT:g} seconds",
}


def _plainly(error: Exception) -> str:
    """Give the cause in words where we know them, else the first line of the driver's message."""
    message = str(getattr(error, "orig", None) or error)
    for sign, words in _PLAIN.items():
        if sign in message.lower():
            return words
    return message.strip().splitlines()[0]
