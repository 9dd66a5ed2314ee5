"""What a journal is: experiments by name, each an append-only list of events; and one that lives in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol

from mobai.errors import InputError, StorageError


class Event(NamedTuple):
    """Something that happened: its number in the experiment, counted from 1, what it was, when, and its details."""

    seq: int
    kind: str
    at: float
    body: dict[str, Any]


class Snapshot(NamedTuple):
    """The state after so many events, as bytes: a shortcut for readers, never the truth."""

    seq: int
    data: bytes


class Log(Protocol):
    """One experiment's events, locked against other writers; what is appended is durable when the lock is released."""

    def after(self, seq: int) -> Sequence[Event]:
        """Give the events after one."""
        ...

    def append(self, event: Event) -> None:
        """Add the next event."""
        ...


class Journal(Protocol):
    """Where experiments are kept."""

    def create(self, name: str, event: Event) -> None:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        ...

    def names(self) -> list[str]:
        """Give the names of all experiments, in the order of their creation."""
        ...

    def lock(self, name: str) -> AbstractContextManager[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        ...

    def read(self, name: str, after: int = 0) -> Sequence[Event]:
        """Give the events after one, without locking."""
        ...

    def snapshot(self, name: str) -> Snapshot | None:
        """Give the latest snapshot, if there is any."""
        ...

    def save_snapshot(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        ...

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def no_such(name: str, names: Sequence[str]) -> InputError:
    """Say that there is no experiment of this name, and which there are."""
    there = ", ".join(map(repr, names[:10])) if names else "none"
    return InputError(f"name: there is no experiment {name!r}; there are {there}")


def check_next(event: Event, last: int) -> None:
    """Refuse an event that is not the next one."""
    if event.seq != last + 1:
        raise StorageError(f"event {event.seq} cannot follow event {last}")


class MemoryJournal:
    """A journal that ends with the process, for tests and simulations."""

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._lock = threading.RLock()

    def create(self, name: str, event: Event) -> None:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        with self._lock:
            if name in self._events:
                raise InputError(f"name: there is an experiment {name!r} already")
            check_next(event, 0)
            self._events[name] = [event]

    def names(self) -> list[str]:
        """Give the names of all experiments, in the order of their creation."""
        return list(self._events)

    @contextmanager
    def lock(self, name: str) -> Iterator[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self._lock:
            log = _MemoryLog(self._of(name))
            yield log
            self._of(name).extend(log.fresh)

    def read(self, name: str, after: int = 0) -> Sequence[Event]:
        """Give the events after one, without locking."""
        return self._of(name)[after:]

    def snapshot(self, name: str) -> Snapshot | None:
        """Give the latest snapshot, if there is any."""
        return self._snapshots.get(name)

    def save_snapshot(self, name: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        self._of(name)
        self._snapshots[name] = snapshot

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        with self._lock:
            self._of(name)
            del self._events[name]
            self._snapshots.pop(name, None)

    def close(self) -> None:
        """Nothing is open."""

    def _of(self, name: str) -> list[Event]:
        if name not in self._events:
            raise no_such(name, self.names())
        return self._events[name]


class _MemoryLog:
    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self.fresh: list[Event] = []

    def after(self, seq: int) -> Sequence[Event]:
        return [*self._events[seq:], *self.fresh]

    def append(self, event: Event) -> None:
        check_next(event, len(self._events) + len(self.fresh))
        self.fresh.append(event)
