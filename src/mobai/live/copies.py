"""Copies of experiments, with their chains intact: backups, restored ones, one in another storage."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from mobai.errors import ConflictError, InputError, StorageError
from mobai.live.storage import open_journal
from mobai.live.verify import verify
from mobai.store.journal import Event, EventReader, Journal, Last
from mobai.store.sqlite_file import refuse_second_names
from mobai.views.words import plural

_EVENTS_AT_A_TIME = 10_000


def copy(storage: str | Path | Journal, name: str, to: str | Path | Journal) -> None:
    """Copy an experiment into another storage, under its name and with its chain; there must be none of that name."""
    source = open_journal(storage)
    source.find(name)
    first, *more = _events(source, name)
    open_journal(to, create=True).create(name, first, more)


def backup(storage: str | Path | Journal, path: str | Path) -> int:
    """Write all experiments of a storage into a new SQLite file, while others may write; return how many they are.

    It holds no secret of a service: of its tokens only that there were some, so that a copy that is served is closed.
    """
    from mobai.store.sql import SqlJournal

    goal, journal = Path(path), open_journal(storage)
    if goal.exists() or goal.is_symlink():
        raise InputError("path", f"there is something at {goal} already")
    if not goal.absolute().parent.is_dir():
        raise InputError("path", f"there is no folder {goal.absolute().parent}")
    with tempfile.TemporaryDirectory(dir=goal.absolute().parent, prefix=".mobai-backup-") as folder:
        made = Path(folder) / "backup.db"
        if isinstance(journal, SqlJournal) and journal.path is not None:
            before = {name: journal.last(journal.find(name)) for name in journal.names()}
            _copy_file(journal.path, made)
            copied, there = SqlJournal(f"sqlite:///{made}"), journal.names()
            copied.forget_secrets()
            target: Journal = copied
            _compare(target, {name: last for name, last in before.items() if name in there})
        else:
            target = open_journal(made, create=True)
            target.replace_all((name, _events(journal, name)) for name in journal.names())
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
        raise InputError("path", f"there is no file {source}")
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "fresh.db"
        _copy_file(source, fresh)
        restored = _opened(fresh, source)
        for one in verify(restored):
            wrong = [finding for finding in one.findings if not finding.holds]
            if wrong:
                raise StorageError(f"{source}: is not intact, nothing was restored: {one.name}: {wrong[0].detail}")
        journal, names = open_journal(storage, create=True), restored.names()
        there = journal.names()
        if there and not replace:
            count = plural(len(there), "experiment")
            raise ConflictError("storage", f"it has {count} already; replace=True (--replace) deletes them")
        journal.replace_all((name, _events(restored, name)) for name in names)
        restored.close()
    return len(names)


def _opened(fresh: Path, source: Path) -> Journal:
    """Open the copy of a backup; complaints name the backup."""
    try:
        return open_journal(fresh)
    except (InputError, StorageError) as error:
        raise InputError("path", f"{source} is no backup: {str(error).replace(str(fresh), str(source))}") from None


def _events(journal: EventReader, name: str) -> Iterator[Event]:
    """Return every event of an experiment, a part at a time."""
    handle, seq, head = journal.find(name), 0, ""
    while fresh := journal.read(handle, seq, _EVENTS_AT_A_TIME, head):
        yield from fresh
        seq, head = fresh[-1].seq, fresh[-1].hash
    if seq == 0:
        raise StorageError(f"{name}: the journal is empty; it must begin with 'created'")


def _compare(copied: EventReader, before: Mapping[str, Last]) -> None:
    """Refuse a copy that lacks what was there before it was made, or in which a chain is broken."""
    for name, last in before.items():
        copied.read(copied.find(name), last.seq, 1, last.hash)
    for name in copied.names():  # a broken chain is noticed now, not when it is needed
        deque(_events(copied, name), maxlen=0)


def _copy_file(source: Path, target: Path) -> None:
    """Copy a database of SQLite, page by page, into a file that may be in use."""
    file = source.resolve()  # its log is beside the file, not beside a link to it
    refuse_second_names(file)
    log = Path(f"{file}-wal")
    alone = not log.exists() or log.stat().st_size == 0
    uri = f"{file.as_uri()}?{'immutable=1' if alone else 'mode=ro'}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as one, closing(sqlite3.connect(target, timeout=60)) as two:
            one.backup(two)
    except sqlite3.Error as error:
        raise StorageError(f"{source}: cannot be copied: {error}") from error


def _settle(path: Path) -> None:
    """Put everything into the one file, for its owner alone, and onto the disk."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")  # what was taken out leaves no trace
    path.chmod(0o600)
    with path.open("rb") as file:
        os.fsync(file.fileno())
