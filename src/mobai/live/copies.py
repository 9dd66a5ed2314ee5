"""Copies of experiments, with their chains intact: backups, restored ones, one in another storage."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from mobai.errors import InputError, StorageError
from mobai.live.journal import Event, Handle, Journal
from mobai.live.storage import open_journal
from mobai.live.verify import verify

_EVENTS_AT_A_TIME = 10_000


def copy(storage: str | Path | Journal, name: str, to: str | Path | Journal) -> None:
    """Copy an experiment into another storage, under its name and with its chain; there must be none of that name."""
    _copy(open_journal(storage), name, open_journal(to, create=True))


def backup(storage: str | Path | Journal, path: str | Path) -> int:
    """Write all experiments of a storage into a new SQLite file, while others may write; return how many they are."""
    goal, journal = Path(path), open_journal(storage)
    if goal.exists():
        raise InputError(f"path: there is something at {goal} already")
    if not goal.absolute().parent.is_dir():
        raise InputError(f"path: there is no folder {goal.absolute().parent}")
    with tempfile.TemporaryDirectory(dir=goal.absolute().parent, prefix=".mobai-backup-") as folder:
        made = Path(folder) / "backup.db"
        source = _file_of(journal)
        if source is None:
            target = open_journal(made, create=True)
            for name in journal.names():
                _copy(journal, name, target)
        else:
            _copy_file(source, made)
            target = open_journal(made)
        count = len(target.names())
        target.close()
        _settle(made)
        made.replace(goal)
    return count


def restore(path: str | Path, storage: str | Path, *, replace: bool = False) -> int:
    """Bring the experiments of a backup back into a storage; return how many they are.

    A storage with experiments is left alone, unless ``replace`` says that all of them may go. Processes that hold
    experiments of before are told so at their next call: the storage has another identity afterwards.
    """
    source = Path(path)
    if not source.is_file():
        raise InputError(f"path: there is no file {source}")
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "fresh.db"
        _copy_file(source, fresh)
        broken = [one for one in verify(fresh) if not one.intact]
        if broken:
            raise StorageError(f"{source}: is not intact, nothing was restored: {broken[0]}")
        journal, restored = open_journal(storage, create=True), open_journal(fresh)
        there, names = journal.names(), restored.names()
        if there and not replace:
            raise InputError(f"storage: it has {len(there)} experiments already; replace=True (--replace) lets them go")
        target = _file_of(journal)
        if target is None:
            for name in there:
                journal.delete(name)
            for name in names:
                _copy(restored, name, journal)
            journal.renew_identity()
        else:
            restored.renew_identity()
            journal.close()
            _copy_file(fresh, target)
        restored.close()
    return len(names)


def _copy(source: Journal, name: str, target: Journal) -> Handle:
    handle = source.find(name)
    (first,) = source.read(handle, most=1)
    return target.create(name, first, _events_after(source, handle, first))


def _events_after(journal: Journal, handle: Handle, last: Event) -> Iterator[Event]:
    while fresh := journal.read(handle, last.seq, _EVENTS_AT_A_TIME, last.hash):
        yield from fresh
        last = fresh[-1]


def _file_of(journal: Journal) -> Path | None:
    """Return the SQLite file of a journal, None if it has none."""
    found: Path | None = getattr(journal, "path", None)
    return found


def _copy_file(source: Path, target: Path) -> None:
    """Copy a database of SQLite, page by page, into a file that may be in use."""
    uri = f"{source.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as one, closing(sqlite3.connect(target, timeout=60)) as two:
            one.backup(two)
    except sqlite3.Error as error:
        raise StorageError(f"{source}: cannot be copied to {target}: {error}") from error


def _settle(path: Path) -> None:
    """Put everything into the one file, for its owner alone, and onto the disk."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    path.chmod(0o600)
    with path.open("rb") as file:
        os.fsync(file.fileno())
