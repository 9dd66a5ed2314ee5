"""A database of SQLite is a file, which somebody may delete, move or replace under a process."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from mobai.errors import InputError, StorageError

SECONDS_TO_WAIT = 60.0
# The file, its log, and the index of that.
_PARTS = ("", "-wal", "-shm")

Identity = tuple[tuple[int, int] | None, ...]


class SqliteFile:
    """The file of a database: it is opened, and known again.

    Parameters
    ----------
    path
        Where it is.
    read_only
        Whether it is only looked at; a file that cannot be written is.
    create
        Whether it may be made.
    """

    def __init__(self, path: Path, *, read_only: bool, create: bool) -> None:
        self.path = path.absolute()
        self._check(create)
        self.read_only = read_only or (not create and not self._writable())
        self._create = create
        self._written: tuple[int, int] = (0, 0)
        self._log_size, self.log_was_cut = 0, False
        self._paths = [f"{self.path}{part}" for part in _PARTS]
        self._seen: tuple[os.stat_result | None, os.stat_result | None] = (None, None)

    def connect(self) -> sqlite3.Connection:
        """Open it; a new one is for its owner alone. Transactions are left to us, and each of them is durable."""
        if self._create and not self.path.exists():
            with suppress(OSError):  # the next line says why
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._create = False  # what is gone later is not made again
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?{self._mode_to_look() if self.read_only else 'mode=rw'}",
            uri=True,
            timeout=SECONDS_TO_WAIT,
            check_same_thread=False,
            isolation_level=None,
        )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def identity(self) -> Identity:
        """Return which files are there now; None for one that is not."""
        found = [_stat(path) for path in self._paths]
        self._seen = found[0], found[1]
        return tuple(None if one is None else (one.st_dev, one.st_ino) for one in found)

    def still_has(self, opened: Identity) -> bool:
        """Whether the files that a connection has opened are still the ones that are there."""
        if self.read_only:
            return True
        now = self.identity()
        return now == opened or all(before in (None, after) for before, after in zip(opened, now, strict=True))

    def has_changed(self) -> bool:
        """Whether the file was written, or its log became shorter, since this was asked last; as it was last seen."""
        file, log = self._seen
        if self.read_only or file is None or log is None:
            return False
        written = file.st_mtime_ns, file.st_size
        changed, self.log_was_cut = written != self._written, log.st_size < self._log_size
        self._written, self._log_size = written, log.st_size
        return changed or self.log_was_cut

    def rows_without_log(self, statement: str) -> list[Any] | None:
        """Return the rows of a statement as the file alone has them; None if it is being written just now."""
        try:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?immutable=1", uri=True)) as connection:
                return connection.execute(statement).fetchall()
        except sqlite3.Error:
            self._written = (0, 0)
            return None

    def _check(self, create: bool) -> None:
        """Refuse a file that is not there or not ours, before connecting makes it or changes it."""
        there = self.path.is_file() and self.path.stat().st_size > 0
        if not there and not create:
            raise InputError(f"storage: there is nothing at {self.path}; creating an experiment makes it")
        if there:
            look = f"{self.path.as_uri()}?{self._mode_to_look()}"
            with suppress(sqlite3.Error), closing(sqlite3.connect(look, uri=True)) as connection:
                tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                if tables and "mobai_schema" not in tables:
                    raise StorageError(
                        f"sqlite:///{self.path}: is a database of something else (it has a table {tables[0]!r})"
                    )

    def _writable(self) -> bool:
        """Whether it can be written: the file, and the folder for its log."""
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    def _mode_to_look(self) -> str:
        """Return how to open it for reading: what has no log beside it can be read as it is, without making one."""
        log = Path(f"{self.path}-wal")
        return "mode=ro" if log.exists() and log.stat().st_size > 0 else "immutable=1"

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if self.read_only:
            return
        self._begin_a_log(connection)
        # A log that is begun again soon is overwritten, which takes half as long to synchronise as letting it grow.
        connection.execute("PRAGMA wal_autocheckpoint = 100")
        # Reading opens the log and its index, which belong to what is opened.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _begin_a_log(self, connection: sqlite3.Connection) -> None:
        """Have changes written ahead; where that is not to be had, nothing is."""
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while True:
            try:
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:  # two that do it at the same time do not wait for each other
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        if mode != "wal":
            raise StorageError(
                f"sqlite:///{self.path}: cannot have a write-ahead log here, without which it is not safe"
            )


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - many times per second
    except OSError:
        return None
