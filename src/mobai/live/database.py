"""An SQL database: its connections, its transactions, and its complaints in plain words.

SQLite runs in WAL mode with full synchronisation and takes its write lock at the start (``BEGIN IMMEDIATE``), so
writers wait for each other instead of failing.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from mobai.errors import InputError, StorageError, did_you_mean
from mobai.extras import need

_SECONDS_TO_WAIT = 60.0
_SECONDS_TO_CONNECT = 10
_ACCEPTED = "sqlite:///FILE, postgresql://USER@HOST/NAME or memory:"


class Database:
    """A database that SQLAlchemy can reach; a file is made only with ``create``."""

    def __init__(self, url: str | sa.URL, *, create: bool) -> None:
        self.engine = _engine(url, create)
        self.sqlite = self.engine.dialect.name == "sqlite"
        self.path = _path_of(str(self.engine.url.database)) if self.sqlite else None
        self.errors = _Errors(self.engine)
        self._idle: deque[sa.PoolProxiedConnection] = deque()
        # Whoever forgets to close it still leaves no connection behind.
        weakref.finalize(self, _let_go, self.engine, self._idle)
        _OPEN.add(self)

    @contextmanager
    def driver(self, mode: str) -> Iterator[Any]:
        """Open a transaction on the driver's own connection: the calls that are made all the time go this way.

        On SQLite one connection stays at hand: to the pool and back takes longer than a statement. Others may be cut
        off before they are needed again, which the pool finds out.
        """
        pooled = self._connect()
        driver: Any = pooled.driver_connection
        try:
            if self.sqlite:
                driver.execute(f"BEGIN {mode}")
            yield driver
            driver.commit()
        except BaseException:
            self._undo(pooled)
            raise
        if self.sqlite and not self._idle:
            self._idle.append(pooled)
        else:
            pooled.close()

    @contextmanager
    def connection(self, mode: str) -> Iterator[sa.Connection]:
        """Open a transaction of SQLAlchemy's."""
        with self.engine.connect().execution_options(begin=mode) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close every connection that is not in use."""
        _let_go(self.engine, self._idle)

    def _connect(self) -> sa.PoolProxiedConnection:
        try:
            return self._idle.pop()
        except IndexError:
            return self.engine.raw_connection()

    def _undo(self, pooled: sa.PoolProxiedConnection) -> None:
        """Roll back, and throw the connection away if even that fails: what went wrong before is what counts."""
        try:
            pooled.rollback()
        except self.engine.dialect.loaded_dbapi.Error:
            pooled.invalidate()
        pooled.close()


class _Errors:
    """Turns the database's complaints into one line that names the storage."""

    def __init__(self, engine: sa.Engine) -> None:
        self._complaints = (SQLAlchemyError, engine.dialect.loaded_dbapi.Error)
        self._shown, self._secrets = shown(engine.url), _secrets(engine.url)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._complaints):
            # A cause that holds a secret stays out of tracebacks, too.
            cause = None if any(secret in str(error) for secret in self._secrets) else error
            raise StorageError(f"{self._shown}: {_plainly(error, self._secrets)}") from cause


def _let_go(engine: sa.Engine, idle: deque[sa.PoolProxiedConnection]) -> None:
    while idle:
        idle.pop().close()
    engine.dispose()


# A forked process must not inherit connections: it would share PostgreSQL's with its parent, and SQLite would take the
# parent's locks for its own. So all that are not in use are closed before a fork, and opened anew when needed.
_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()


def _close_all() -> None:
    for database in list(_OPEN):
        database.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_all)


def _engine(url: str | sa.URL, create: bool) -> sa.Engine:
    # What was given is never shown: it may hold a password, wherever a slip of the pen has put it.
    try:
        parsed = sa.make_url(url)
    except (SQLAlchemyError, ValueError):
        raise InputError(f"storage must be {_ACCEPTED}") from None
    if parsed.get_backend_name() != "sqlite" and isinstance(url, str) and url.count("@") > 1:
        raise InputError("storage: a password with @, / or ? in it must be percent-encoded (%40, %2F, %3F)")
    scheme = parsed.drivername.partition("+")[0]
    if scheme in ("postgres", "postgresql"):
        return _postgresql(parsed)
    if scheme != "sqlite" or parsed.host or parsed.database in (None, "", ":memory:"):
        kind = f", not {scheme}:" if scheme.isalpha() and scheme != "sqlite" else ""
        raise InputError(f"storage must be {_ACCEPTED}{kind}{did_you_mean(scheme, ('sqlite', 'postgresql'), 0.7)}")
    path = _path_of(parsed.database)
    _check_file(path, create)
    if not create and not _writable(path):
        parsed = _read_only(parsed, path)
    engine = sa.create_engine(parsed.set(drivername="sqlite"), connect_args={"timeout": _SECONDS_TO_WAIT})
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgresql(url: sa.URL) -> sa.Engine:
    need("psycopg")
    patience = {"connect_timeout": _SECONDS_TO_CONNECT}
    return sa.create_engine(url.set(drivername="postgresql+psycopg"), pool_pre_ping=True, connect_args=patience)


def _writable(path: Path) -> bool:
    """Whether a database of SQLite can be written: the file, and the folder for its log."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def _read_only(url: sa.URL, path: Path) -> sa.URL:
    """Return the address under which a database that cannot be written can be looked at.

    Without a log beside it nothing is missing from the file, and it can be read as it is.
    """
    log = path.with_name(path.name + "-wal")
    complete = not log.exists() or log.stat().st_size == 0
    uri = path.absolute().as_uri() + ("?immutable=1" if complete else "?mode=ro")
    return url.set(database=uri, query={"uri": "true"})


def shown(url: sa.URL) -> str:
    """Return an address without its secrets: the password, and whatever comes after a question mark."""
    return url.set(query={}).render_as_string(hide_password=True)


def _secrets(url: sa.URL) -> list[str]:
    """Return the password, and what is given after a question mark under a name like it."""
    given = [str(value) for key, value in url.query.items() if "pass" in key.lower()]
    return [secret for secret in (url.password, *given) if secret]


def _path_of(database: str) -> Path:
    """Return the path of a database of SQLite, which may be written as a URI."""
    return Path(unquote(database.removeprefix("file:").partition("?")[0]) if database[:5] == "file:" else database)


def _check_file(path: Path, create: bool) -> None:
    """Refuse a file that is not there or not ours, before connecting makes it or changes it."""
    there = path.is_file() and path.stat().st_size > 0
    if not there and not create:
        raise InputError(f"storage: there is nothing at {path}; creating an experiment makes it")
    if there:
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as look:
            tables = [row[0] for row in look.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if tables and "mobai_schema" not in tables:
                raise StorageError(f"sqlite:///{path}: is a database of something else (it has a table {tables[0]!r})")


def _set_up_sqlite(connection: Any, record: Any) -> None:  # noqa: ARG001
    """Leave transactions to us, and make each of them durable."""
    connection.isolation_level = None
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        with suppress(sqlite3.OperationalError):  # read-only: it can be looked at all the same
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


def _plainly(error: Exception, secrets: Sequence[str] = ()) -> str:
    """Return the cause in words where we know them, else the first line of the driver's message, without secrets."""
    message = str(getattr(error, "orig", None) or error)
    for secret in secrets:
        message = message.replace(secret, "***")
    for sign, words in _PLAIN.items():
        if sign in message.lower():
            return words
    return message.strip().splitlines()[0]
