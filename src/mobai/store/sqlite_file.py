"""A database of SQLite is a file, which somebody may delete, move or replace under a process.

Its log (``-wal``) belongs to the file it was written for. SQLite does not check that: beside another file of the same
name it would be taken for that one's log, and moved into it. So a log whose file was replaced is put aside.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from mobai.errors import InputError, StorageError

_log = logging.getLogger(__name__)

SECONDS_TO_WAIT = 60.0
# What SQLite raises over a damaged file; the words about a damaged name cannot be decoded.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
# Experiments that lack an event, or whose last one is not the one that was written last.
_INCOMPLETE = """
    SELECT 1 FROM mobai_experiments e WHERE e.seq <> (SELECT count(*) FROM mobai_events v WHERE v.experiment = e.id)
    OR NOT EXISTS (SELECT 1 FROM mobai_events v WHERE v.experiment = e.id AND v.seq = e.seq AND v.hash = e.head)
"""
# The file, its log, and the index of that.
_PARTS = ("", "-wal", "-shm")

FileId = tuple[int, int]
Identity = tuple[FileId | None, ...]

# By path, the file and the log that this process last had open together.
_OPENED: dict[Path, tuple[FileId, FileId]] = {}


class SqliteFile:
    """The file of a database: it is opened, and known again.

    Parameters
    ----------
    path
        Where it is; links are followed, as SQLite does: the log is beside the file, not beside the link.
    read_only
        Whether it is only looked at; a file that cannot be written is.
    create
        Whether it may be made.
    """

    def __init__(self, path: Path, *, read_only: bool, create: bool) -> None:
        try:
            self.path = path.resolve()
        except (OSError, RuntimeError):
            raise InputError("storage", "the path leads in a circle of links") from None
        self.put_foreign_log_aside()
        self._check(create)
        self.read_only = read_only or (not create and not self._writable())
        self._create = create
        self.opened_id: FileId | None = None  # of the file that was opened first
        self._paths = [f"{self.path}{part}" for part in _PARTS]

    def connect(self) -> sqlite3.Connection:
        """Open it; a new one is for its owner alone. Transactions are left to us, and each of them is durable."""
        if self._create and not self.path.exists():
            with suppress(OSError):  # the next line says why
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._create = False  # what is gone later is not made again
        self.put_foreign_log_aside()
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
        return tuple(_id(_stat(path)) for path in self._paths)

    def opened(self) -> Identity:
        """Return which files a connection has just opened, and remember that they belong together."""
        now = self.identity()
        self.opened_id = self.opened_id or now[0]
        if now[0] is not None and now[1] is not None:
            _OPENED[self.path] = now[0], now[1]
        return now

    def still_has(self, opened: Identity) -> bool:
        """Whether the files that a connection has opened are still the ones that are there."""
        if self.read_only:
            return True
        now = self.identity()
        return now == opened or all(before in (None, after) for before, after in zip(opened, now, strict=True))

    def is_replaced(self) -> bool:
        """Whether another file is in the place of the one that was opened."""
        return self.opened_id is not None and _id(_stat(str(self.path))) not in (None, self.opened_id)

    def sizes(self) -> tuple[os.stat_result, os.stat_result] | None:
        """Return what is known of the file and its log as they are now, None if one is not there."""
        file, log = map(_stat, self._paths[:2])
        return None if self.read_only or file is None or log is None else (file, log)

    def read_without_log(self) -> sqlite3.Connection:
        """Open the file as it is, without its log."""
        return sqlite3.connect(f"{self.path.as_uri()}?immutable=1", uri=True)

    def give_up_log(self) -> None:
        """Put the log aside where the file was written over in place; what has it open finds it empty.

        It must not be moved into the file, which closing the last connection would do.
        """
        log = Path(f"{self.path}-wal")
        with suppress(OSError):
            if log.stat().st_size > 0:
                aside = _aside(log)
                shutil.copy2(log, aside)
                os.truncate(log, 0)
                _warn_of(self.path, aside)

    def put_foreign_log_aside(self) -> None:
        """Put a log aside that this process has seen beside another file at this path."""
        known, log = _OPENED.get(self.path), Path(f"{self.path}-wal")
        file, beside = _id(_stat(str(self.path))), _id(_stat(str(log)))
        if known is None or file is None or file == known[0] or beside != known[1]:
            return
        with suppress(OSError):
            if log.stat().st_size > 0:
                aside = _aside(log)
                log.rename(aside)
                _warn_of(self.path, aside)
            else:
                log.unlink()
            Path(f"{self.path}-shm").unlink(missing_ok=True)

    def put_strange_log_aside(self) -> None:
        """Put a log aside that does not fit the file, which was written later: somebody has copied over it.

        A process that is killed leaves its log behind, and cannot take it away from the file that is put in place.
        """
        log = Path(f"{self.path}-wal")
        file, beside = _stat(str(self.path)), _stat(str(log))
        if file is None or beside is None or beside.st_size == 0:
            return
        # A log is moved into its file right after it was written, which makes the file the later one for a moment.
        if max(file.st_mtime_ns, file.st_ctime_ns) < beside.st_mtime_ns or self._is_sound():
            return
        with suppress(OSError):
            aside = _aside(log)
            log.rename(aside)
            Path(f"{self.path}-shm").unlink(missing_ok=True)
            _warn_of(self.path, aside)

    def _is_sound(self) -> bool:
        """Whether file and log together are a database in which every experiment has all its events.

        True where nobody can say: it is locked, or of an earlier version.
        """
        try:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
                whole = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
                return whole and connection.execute(_INCOMPLETE).fetchone() is None
        except sqlite3.OperationalError as error:
            return "locked" in str(error) or "no such" in str(error)
        except _UNREADABLE:
            return False

    def _check(self, create: bool) -> None:
        """Refuse a file that is not there or not ours, before connecting makes it or changes it."""
        there = self.path.is_file() and self.path.stat().st_size > 0
        if there:
            refuse_second_names(self.path)
        if not there and not create:
            raise InputError("storage", f"there is nothing at {self.path}; creating an experiment makes it")
        if there:
            look = f"{self.path.as_uri()}?{self._mode_to_look()}"
            with suppress(*_UNREADABLE), closing(sqlite3.connect(look, uri=True)) as connection:
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


def refuse_second_names(path: Path) -> None:
    """Refuse a file that has another name: its log is beside one of them only, and what is in it would be lost."""
    if path.stat().st_nlink > 1:
        raise StorageError(
            f"sqlite:///{path}: is a hard link, and its log would be beside one of its names only; remove the other "
            "name, or copy the file"
        )
    if str(path) in _mounted_files():
        raise StorageError(
            f"sqlite:///{path}: is a file that is mounted by itself, so that its log would not be beside it; mount its "
            "folder"
        )


def _mounted_files() -> set[str]:
    """Return where something is mounted, as far as this system says."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {fields[4].replace("\\040", " ") for line in lines if len(fields := line.split()) > 4}


def _aside(log: Path) -> Path:
    """Return where a log goes whose file was replaced."""
    return log.with_name(f"{log.name}.of-replaced-file-{time.time_ns()}")


def _warn_of(path: Path, aside: Path) -> None:
    _log.warning("%s: was replaced; the log of the file before it is kept as %s", path, aside.name)


def _id(found: os.stat_result | None) -> FileId | None:
    return None if found is None else (found.st_dev, found.st_ino)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - many times per second
    except OSError:
        return None
