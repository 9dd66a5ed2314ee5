"""An SQL database: its connections, its transactions, and its complaints in plain words.

SQLite runs in WAL mode with full synchronisation and takes its write lock at the start (``BEGIN IMMEDIATE``), so
writers wait for each other instead of failing. PostgreSQL runs at READ COMMITTED, whatever the server's default, and
without statements prepared on the server, which a pooler between would lose.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from mobai.errors import FileReplacedError, HistoryChangedError, StorageError
from mobai.extras import need
from mobai.store.addresses import Address
from mobai.store.file_history import FileHistory
from mobai.store.interrupts import FORKS, ctrl_c_waits
from mobai.store.sqlite_file import SECONDS_TO_WAIT, SqliteFile

_SECONDS_TO_CONNECT = 10


class Database:
    """A database that SQLAlchemy can reach. :func:`database_at` returns the one of an address."""

    def __init__(self, address: Address, file: SqliteFile | None) -> None:
        self._file = file
        self.engine = _postgresql(address.url) if file is None else _sqlite(address.url, file)
        self.sqlite = file is not None
        # Whether the user has said how commits on PostgreSQL are to be durable.
        self.commits_as_told = "synchronous_commit" in str(address.url.query.get("options", ""))
        self.errors = _Errors(self.engine, address)
        self._history = None if file is None else FileHistory(file)
        self._lost: str | None = None  # why this one, which all journals of the address share, is of no use any more
        self._idle: deque[sa.PoolProxiedConnection] = deque()
        # Whoever forgets to close it still leaves no connection behind.
        weakref.finalize(self, _let_go, self.engine, self._idle, self._history)

    @property
    def path(self) -> Path | None:
        """The file of SQLite, None for another database."""
        return None if self._file is None else self._file.path

    @property
    def file_id(self) -> tuple[int, int] | None:
        """What tells its file from others, None for a database that is no file."""
        return None if self._file is None else self._file.opened_id

    @contextmanager
    def driver(self, mode: str) -> Iterator[Any]:
        """Open a transaction on the driver's own connection: the calls that are made all the time go this way.

        On SQLite one connection stays at hand: to the pool and back takes longer than a statement. Others may be cut
        off before they are needed again, which the pool finds out.
        """
        under_way: list[Any] = []
        with FORKS, ctrl_c_waits(lambda: _cancel(under_way)):
            self._refuse_if_lost()
            pooled = self._connect()
            driver: Any = pooled.driver_connection
            under_way.append(driver)
            try:
                self._check_files(pooled, "nothing was written")
                if self.sqlite:
                    driver.execute(f"BEGIN {mode}")
                yield driver
                driver.commit()
                if mode == "IMMEDIATE":
                    self._check_files(pooled, "what was told just now may be lost")
            except BaseException:
                self._undo(pooled)
                raise
            under_way.clear()
            if self.sqlite and not self._idle:
                self._idle.append(pooled)
            else:
                pooled.close()

    @contextmanager
    def connection(self, mode: str) -> Iterator[sa.Connection]:
        """Open a transaction of SQLAlchemy's."""
        self._refuse_if_lost()
        with FORKS, ctrl_c_waits(), self.engine.connect().execution_options(begin=mode) as connection:
            self._check_files(connection.connection, "nothing was written")
            try:
                with connection.begin():
                    yield connection
            except FileReplacedError:
                connection.invalidate()
                raise
            if mode == "IMMEDIATE":
                self._check_files(connection.connection, "what was written just now may be lost")

    def close(self) -> None:
        """Close every connection that is not in use; a log whose file was replaced does not stay beside another.

        Nor is it moved into one that was written over it, which SQLite does when the last connection is closed.
        """
        _let_go(self.engine, self._idle, self._history)

    def _connect(self) -> sa.PoolProxiedConnection:
        try:
            return self._idle.pop()
        except IndexError:
            return self.engine.raw_connection()

    def _check_files(self, pooled: sa.PoolProxiedConnection, consequence: str) -> None:
        """Refuse to go on with a file that is no longer the one at its path."""
        if self._file is None or self._file.still_has(pooled.info["files"]):
            return
        # What is in the log goes into the file that was opened, in case that was only moved.
        driver: Any = pooled.driver_connection
        with suppress(sqlite3.Error):
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if self._file.is_replaced():
            pooled.invalidate()
            self._lose(f"was replaced under this process; {consequence}")
        pooled.invalidate()
        self.close()
        raise HistoryChangedError(
            f"sqlite:///{self._file.path}: was deleted, moved or replaced under this process, or its log was; "
            f"{consequence}; load the experiment again"
        )

    def check_history(self, identity: str, number: int, seq: int) -> None:
        """Refuse a file that was written over in place, given what a transaction has just read of an experiment."""
        if self._history is not None and self._history.is_another(identity, number, seq):
            self._lose("was written over with another one, or its log was cut; nothing was written")

    def check_file(self) -> None:
        """Refuse a file that is another one now, though nobody has asked for anything."""
        self._refuse_if_lost()
        if self._file is not None and not self._file.read_only:
            if self._file.is_replaced():
                self._lose("was replaced under this process")
            if self._history is not None and self._history.has_become_another():
                self._lose("was written over with another one")

    def _lose(self, what: str) -> NoReturn:
        """Let go of a file that is another one now, for all who have it open; whoever opens it anew reads that one."""
        assert self._file is not None
        self._lost = f"sqlite:///{self._file.path}: {what}; load the experiment again"
        if not self._file.is_replaced():
            self._file.give_up_log()
        self.close()
        raise FileReplacedError(self._lost)

    def _refuse_if_lost(self) -> None:
        if self._lost is not None:
            raise FileReplacedError(self._lost)

    @property
    def usable(self) -> bool:
        """Whether its file is still the one that was opened, or is away."""
        return self._lost is None and (self._file is None or not self._file.is_replaced())

    def _undo(self, pooled: sa.PoolProxiedConnection) -> None:
        """Roll back, and throw the connection away if even that fails: what went wrong before is what counts.

        One to a file that is another one now is thrown away, too: it would keep others from opening that.
        """
        try:
            if pooled.is_valid:
                pooled.rollback()
                if self._lost is not None:
                    pooled.invalidate()
        except self.engine.dialect.loaded_dbapi.Error:
            pooled.invalidate()
        pooled.close()


def _cancel(under_way: Sequence[Any]) -> None:
    """Ask PostgreSQL to leave off what is under way: it may be waiting for a lock."""
    for driver in under_way:
        if hasattr(driver, "cancel_safe"):
            driver.cancel_safe(timeout=_SECONDS_TO_CONNECT)


class _Errors:
    """Turns the database's complaints into one line that names the storage."""

    def __init__(self, engine: sa.Engine, address: Address) -> None:
        # A complaint about tables whose very names are damaged cannot be decoded.
        self._complaints = (SQLAlchemyError, engine.dialect.loaded_dbapi.Error, UnicodeDecodeError)
        self._shown, self._secrets = address.shown, address.secrets

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._complaints):
            # A cause that holds a secret stays out of tracebacks, too.
            cause = None if any(secret in str(error) for secret in self._secrets) else error
            raise StorageError(f"{self._shown}: {_plainly(error, self._secrets)}") from cause


def _let_go(engine: sa.Engine, idle: deque[sa.PoolProxiedConnection], history: FileHistory | None) -> None:
    if history is not None:
        history.save_what_was_put_in_place()
    while idle:
        idle.pop().close()
    engine.dispose()
    if history is not None:
        history.file.put_foreign_log_aside()


# One per address, however many experiments are loaded.
_OPEN: weakref.WeakValueDictionary[tuple[str, bool], Database] = weakref.WeakValueDictionary()


def database_at(url: str | sa.URL, *, create: bool) -> Database:
    """Return the database at an address, the same as long as somebody has it; a file is made only with ``create``."""
    address = Address.parse(url)
    file = None
    if address.path is not None:
        file = SqliteFile(address.path, read_only=address.read_only, create=create)
    text = address.url.render_as_string(hide_password=False) if file is None else str(file.path)
    key = text, file is not None and file.read_only
    known = _OPEN.get(key)
    if known is not None:
        with suppress(FileReplacedError):
            known.check_file()
    if known is None or not known.usable or (create and file is not None and not file.path.exists()):
        if file is not None:
            file.put_strange_log_aside()
        known = _OPEN[key] = Database(address, file)
    return known


def _close_all() -> None:
    for database in list(_OPEN.values()):
        database.close()


# A forked process must not inherit connections: it would share PostgreSQL's with its parent, and SQLite would take the
# parent's locks for its own. So all of them are closed before a fork, and opened anew when needed.
FORKS.before_fork(_close_all)


def _sqlite(url: sa.URL, file: SqliteFile) -> sa.Engine:
    engine = sa.create_engine(url, creator=file.connect)
    sa.event.listen(engine, "connect", lambda _, record: record.info.update(files=file.opened()))
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('begin', 'IMMEDIATE')}")


def _postgresql(url: sa.URL) -> sa.Engine:
    need("psycopg")
    return sa.create_engine(
        url,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": _SECONDS_TO_CONNECT, "prepare_threshold": None},
    )


_DAMAGED = "is damaged; bring a backup back with `mobai restore`"
_PLAIN = {
    "readonly database": "is read-only",
    "unable to open": "cannot be opened: is its folder there, and may it be written?",
    "disk is full": "the disk is full; nothing was changed",
    "disk i/o error": "cannot be written (disk error, no space left, or its file was replaced); nothing was changed",
    "not a database": "is not a database of mobai",
    "malformed": _DAMAGED,
    "no such column": _DAMAGED,
    "no such table": _DAMAGED,
    "foreign key mismatch": _DAMAGED,
    "unsupported file format": _DAMAGED,
    "codec can't decode": _DAMAGED,
    "is locked": f"was locked by somebody else for {SECONDS_TO_WAIT:g} seconds",
    "lock timeout": f"was locked by somebody else for {SECONDS_TO_WAIT:g} seconds",
    "timeout expired": f"did not answer within {_SECONDS_TO_CONNECT:g} seconds",
}


def _plainly(error: Exception, secrets: Sequence[str] = ()) -> str:
    """Return the cause in words where we know them, else the first line of the driver's message, without secrets."""
    message = str(getattr(error, "orig", None) or error)
    for secret in secrets:
        message = message.replace(secret, "***")
    for sign, words in _PLAIN.items():
        if sign in message.lower():
            return words
    return message.strip().splitlines()[0]
