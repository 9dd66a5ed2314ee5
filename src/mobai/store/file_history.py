"""What was once in the file of a database stays there: one that was written over in place is noticed."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from typing import NamedTuple

from mobai.store.schema import experiments, version
from mobai.store.sqlite_file import SqliteFile


class _Content(NamedTuple):
    """What the file has, without its log: its identity, how many experiments were ever made, the last event of each."""

    identity: str
    made: int
    last: dict[int, tuple[int, str]]


class FileHistory:
    """What this process knows of a file, whoever of its journals and threads has learned it.

    ``cp old.db ads.db`` keeps the file and changes what is in it, while SQLite goes on with the pages it knows.
    """

    def __init__(self, file: SqliteFile) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._written, self._log_size = (0, 0), 0  # when the file was written last, and how large it and its log were
        self._known: _Content | None = None
        self._identity = ""  # of the storage, as the last transaction has read it
        self._seen: dict[int, int] = {}  # by experiment, the last event that a transaction has read

    def is_another(self, identity: str, number: int, seq: int) -> bool:
        """Whether the file lacks what it had, given what a transaction has just read of one experiment."""
        with self._lock:
            self._identity = identity
            lacks = self._look()
            self._seen[number] = max(seq, self._seen.get(number, 0)) if not lacks else seq
            return lacks

    def has_become_another(self) -> bool:
        """Whether the file, as it is now, lacks what it had; without a transaction."""
        with self._lock:
            return self._known is not None and self._look()

    def save_what_was_put_in_place(self) -> None:
        """Leave the log where the file was written over: SQLite would move it there with the last connection."""
        with suppress(OSError):
            if not self.file.read_only and not self.file.is_replaced() and self.has_become_another():
                self.file.give_up_log()

    def _look(self) -> bool:
        changed, cut = self._changes()
        return (changed or cut) and self._lacks_something(self._identity, cut)

    def _changes(self) -> tuple[bool, bool]:
        """Whether the file was written since the last look, and whether its log became shorter.

        Looked up here, one thread at a time: a size that another one has seen before looks like a log that was cut.
        """
        sizes = self.file.sizes()
        if sizes is None:
            return False, False
        file, log = sizes
        written = file.st_mtime_ns, file.st_size
        changed, cut = written != self._written, log.st_size < self._log_size
        self._written, self._log_size = written, log.st_size
        return changed, cut

    def _lacks_something(self, identity: str, cut: bool) -> bool:
        there = self._content()
        if there is None:  # being written just now, unless its log is gone
            self._written = (0, 0)
            return cut
        known, self._known = self._known, there
        if cut and any(number in there.last and there.last[number][0] < seq for number, seq in self._seen.items()):
            return True
        if known is None:
            return False
        # A storage that was restored has another identity, in the file as for everybody.
        foreign = there.identity not in (known.identity, identity)
        return foreign or there.made < known.made or any(_is_behind(there, *one) for one in known.last.items())

    def _content(self) -> _Content | None:
        """Return what the file has, without its log; None if it cannot be read."""
        try:
            with closing(self.file.read_without_log()) as connection:
                (identity,) = connection.execute(f"SELECT identity FROM {version.name}").fetchone()
                made = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (experiments.name,))
                (count,) = made.fetchone() or (0,)
                rows = connection.execute(f"SELECT id, seq, head FROM {experiments.name}")
                return _Content(identity, count, {number: (seq, head) for number, seq, head in rows})
        except (sqlite3.Error, TypeError, ValueError):
            return None


def _is_behind(there: _Content, number: int, known: tuple[int, str]) -> bool:
    """Whether an experiment has fewer events than it had, or another last one. It may have been deleted."""
    now = there.last.get(number)
    return now is not None and (now[0] < known[0] or (now[0] == known[0] and now[1] != known[1]))
