"""What a journal is: experiments by name, each an append-only list of events; and one that lives in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
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
    """The state after the events up to ``seq``, as bytes: a shortcut for readers, never the truth."""

    seq: int
    data: bytes


class Handle(NamedTuple):
    """Which experiment: its name, and a number that no other one in the storage has or had."""

    name: str
    number: int


class Log(Protocol):
    """One experiment's events, locked against other writers; what is appended is durable when the lock is released."""

    def after(self, seq: int) -> Sequence[Event]:
        """Return the events after one."""
        ...

    def append(self, event: Event) -> None:
        """Add the next event."""
        ...


class Journal(Protocol):
    """Where experiments are kept.

    A handle is refused once its experiment is gone (InputError), also if another one has its name (StorageError).
    """

    def create(self, name: str, event: Event) -> Handle:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        ...

    def find(self, name: str) -> Handle:
        """Look an experiment up; InputError if there is none."""
        ...

    def names(self) -> list[str]:
        """Return the names of all experiments, in the order of their creation."""
        ...

    def lock(self, handle: Handle) -> AbstractContextManager[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        ...

    def read(self, handle: Handle, after: int = 0, most: int | None = None) -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them, without locking."""
        ...

    def snapshot(self, handle: Handle) -> Snapshot | None:
        """Return the latest snapshot, if there is any."""
        ...

    def save_snapshot(self, handle: Handle, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        ...

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def check_handle(handle: Handle, number: int | None, names: Callable[[], Sequence[str]]) -> None:
    """Refuse a handle whose experiment is gone, given the number of the one that has its name now."""
    if number is None:
        raise no_such(handle.name, names())
    if number != handle.number:
        raise StorageError(f"the experiment {handle.name!r} was deleted and created anew; load it again")


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
        self._numbers: dict[str, int] = {}
        self._created = 0
        self._snapshots: dict[str, Snapshot] = {}
        self._lock = threading.RLock()

    def create(self, name: str, event: Event) -> Handle:
        """Begin an experiment with its first event; InputError if there is one of that name."""
        with self._lock:
            if name in self._events:
                raise InputError(f"name: there is an experiment {name!r} already")
            check_next(event, 0)
            self._created += 1
            self._events[name], self._numbers[name] = [event], self._created
            return self.find(name)

    def find(self, name: str) -> Handle:
        """Look an experiment up; InputError if there is none."""
        if name not in self._numbers:
            raise no_such(name, self.names())
        return Handle(name, self._numbers[name])

    def names(self) -> list[str]:
        """Return the names of all experiments, in the order of their creation."""
        return list(self._events)

    @contextmanager
    def lock(self, handle: Handle) -> Iterator[Log]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self._lock:
            log = _MemoryLog(self._of(handle))
            yield log
            self._of(handle).extend(log.fresh)

    def read(self, handle: Handle, after: int = 0, most: int | None = None) -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them, without locking."""
        return self._of(handle)[after:][:most]

    def snapshot(self, handle: Handle) -> Snapshot | None:
        """Return the latest snapshot, if there is any."""
        self._of(handle)
        return self._snapshots.get(handle.name)

    def save_snapshot(self, handle: Handle, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        self._of(handle)
        self._snapshots[handle.name] = snapshot

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        with self._lock:
            self.find(name)
            del self._events[name], self._numbers[name]
            self._snapshots.pop(name, None)

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _of(self, handle: Handle) -> list[Event]:
        check_handle(handle, self._numbers.get(handle.name), self.names)
        return self._events[handle.name]


class _MemoryLog:
    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self.fresh: list[Event] = []

    def after(self, seq: int) -> Sequence[Event]:
        return [*self._events[seq:], *self.fresh]

    def append(self, event: Event) -> None:
        check_next(event, len(self._events) + len(self.fresh))
        self.fresh.append(event)
