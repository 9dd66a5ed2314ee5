"""What a journal is: experiments by name, each an append-only list of events; and one that lives in memory.

Events are chained: the hash of each covers its own text and the hash of the one before, so that whoever knows one event
notices when another history has taken its place.
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol

from mobai.errors import ConflictError, HistoryChangedError, NotFoundError, StorageError


class Event(NamedTuple):
    """Something that happened: its number in the experiment, counted from 1, what it was, when, and its details.

    ``hash`` is that of the chain up to it, empty before it is in a journal.
    """

    seq: int
    kind: str
    at: float
    body: dict[str, Any]
    hash: str = ""


encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def link(previous: str, seq: int, kind: str, at: float, text: str) -> str:
    """Return the hash of an event whose body is this text, after one with the hash ``previous`` ("" for the first)."""
    return hashlib.sha256(f"{previous}\n{seq}\n{kind}\n{at!r}\n{text}".encode()).hexdigest()


def sealed(event: Event, previous: str, text: str | None = None) -> Event:
    """Return an event with its hash, given its body as text, or not; StorageError if it has another one already."""
    made = link(previous, event.seq, event.kind, event.at, encode(event.body) if text is None else text)
    if event.hash not in ("", made):
        raise StorageError(f"event {event.seq} does not belong here: its hash is of another history")
    return event._replace(hash=made)


class Snapshot(NamedTuple):
    """The state after the events up to ``seq``, as bytes: a shortcut for readers, never the truth."""

    seq: int
    data: bytes


class Handle(NamedTuple):
    """Which experiment: its name, and a number that no other one in the storage has or had."""

    name: str
    number: int


class Last(NamedTuple):
    """The last event of an experiment: its number, and its hash."""

    seq: int
    hash: str


# What a record may have been when it does not matter.
ANYTHING = object()


class EventLog(Protocol):
    """One experiment's events, locked against other writers; what is appended is durable when the lock is released."""

    def after(self, seq: int, head: str = "") -> Sequence[Event]:
        """Return the events after one; StorageError if that one does not have the hash ``head``, where it is given."""
        ...

    def append(self, event: Event) -> Event:
        """Add the next event, and return it with its hash."""
        ...


class EventReader(Protocol):
    """Experiments by name, to be read.

    A handle is refused once its experiment is gone (InputError), also if another one has its name (StorageError).
    """

    def find(self, name: str) -> Handle:
        """Look an experiment up; InputError if there is none."""
        ...

    def names(self) -> list[str]:
        """Return the names of all experiments, in the order of their creation."""
        ...

    def read(self, handle: Handle, after: int = 0, most: int | None = None, head: str = "") -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them, without locking.

        StorageError if the one before them does not have the hash ``head``, where it is given, or if one is damaged.
        """
        ...

    def last(self, handle: Handle) -> Last:
        """Return the number and the hash of the last event."""
        ...

    def snapshot(self, handle: Handle) -> Snapshot | None:
        """Return the latest snapshot, if there is any."""
        ...


class EventStore(EventReader, Protocol):
    """Experiments by name, to be read and written."""

    def create(self, name: str, event: Event, more: Iterable[Event] = ()) -> Handle:
        """Begin an experiment with its first event, or several; InputError if there is one of that name."""
        ...

    def lock(self, handle: Handle) -> AbstractContextManager[EventLog]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        ...

    def lock_several(self, handles: Sequence[Handle]) -> AbstractContextManager[Sequence[EventLog]]:
        """Lock experiments for one transaction; all that is appended is kept, or nothing."""
        ...

    def save_snapshot(self, handle: Handle, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        ...

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        ...


class RecordStore(Protocol):
    """What a service keeps beside the experiments: tokens, webhooks, what was delivered."""

    def records(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return what a service keeps in the storage beside the experiments, of one kind, by key.

        StorageError if they are not what was written.
        """
        ...

    def put_record(self, kind: str, key: str, body: Mapping[str, Any] | None, *, was: object = ANYTHING) -> bool:
        """Keep a record, or with None remove it; return False, and change nothing, if it is not as it ``was``."""
        ...


class Journal(EventStore, RecordStore, Protocol):
    """A storage: experiments, the records of a service, and the care of both."""

    @property
    def identity(self) -> str:
        """What tells this storage from a copy of it that was restored."""
        ...

    def damage(self) -> list[str]:
        """Return what is wrong with the storage itself: its database, and the records of a service."""
        ...

    def check(self) -> None:
        """Refuse a storage that is no longer the one that was opened, as far as that costs nothing to find out."""
        ...

    def replace_all(self, copies: Iterable[tuple[str, Iterable[Event]]]) -> None:
        """Put other experiments, by name with all their events, in place of all there are, in one transaction.

        Handles of before are refused from then on: the storage was restored from a copy.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def check_handle(handle: Handle, number: int | None, names: Callable[[], Sequence[str]]) -> None:
    """Refuse a handle whose experiment is gone, given the number of the one that has its name now."""
    if number is None:
        raise no_such(handle.name, names())
    if number != handle.number:
        raise HistoryChangedError(f"the experiment {handle.name!r} was deleted and created anew; load it again")


def no_such(name: str, names: Sequence[str]) -> NotFoundError:
    """Say that there is no experiment of this name, and which there are."""
    there = ", ".join(map(repr, names[:10])) if names else "none"
    parts = any(one.startswith(f"{name}@") for one in names)
    more = f"; `mobai segments {name}` shows all of its segments" if parts else ""
    return NotFoundError("name", f"there is no experiment {name!r}", hint=f"there are {there}{more}")


def check_next(event: Event, last: int) -> None:
    """Refuse an event that is not the next one."""
    if event.seq != last + 1:
        raise StorageError(f"event {event.seq} cannot follow event {last}")


def another_history(seq: int) -> HistoryChangedError:
    """Say that the journal is not the one that was read."""
    return HistoryChangedError(
        f"the journal is not the one this process has read: it has no such event {seq}, so it was replaced or restored "
        "from an older copy; nothing was written; load the experiment again"
    )


class MemoryJournal:
    """A journal that ends with the process, for tests and simulations."""

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._numbers: dict[str, int] = {}
        self._created = 0
        self._snapshots: dict[str, Snapshot] = {}
        self._records: dict[tuple[str, str], str] = {}
        self.identity = uuid.uuid4().hex
        self._lock = threading.RLock()

    def create(self, name: str, event: Event, more: Iterable[Event] = ()) -> Handle:
        """Begin an experiment with its first event, or several; InputError if there is one of that name."""
        with self._lock:
            if name in self._events:
                raise ConflictError("name", f"there is an experiment {name!r} already")
            check_next(event, 0)
            log = _MemoryLog([sealed(event, "")])
            for one in more:
                log.append(one)
            self._created += 1
            self._events[name], self._numbers[name] = list(log.after(0)), self._created
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
    def lock(self, handle: Handle) -> Iterator[EventLog]:
        """Lock an experiment for reading and appending; nothing is kept if the block raises."""
        with self.lock_several([handle]) as (log,):
            yield log

    @contextmanager
    def lock_several(self, handles: Sequence[Handle]) -> Iterator[Sequence[EventLog]]:
        """Lock experiments for one transaction; all that is appended is kept, or nothing."""
        with self._lock:
            logs = [_MemoryLog(self._of(handle)) for handle in handles]
            yield logs
            for handle, log in zip(handles, logs, strict=True):
                self._of(handle).extend(log.fresh)

    def read(self, handle: Handle, after: int = 0, most: int | None = None, head: str = "") -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them, without locking."""
        return _after(self._of(handle), after, head)[:most]

    def last(self, handle: Handle) -> Last:
        """Return the number and the hash of the last event."""
        event = self._of(handle)[-1]
        return Last(event.seq, event.hash)

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

    def damage(self) -> list[str]:
        """Return nothing: memory is not looked into."""
        return []

    def records(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the records of one kind, by key."""
        with self._lock:
            return {key: json.loads(text) for (one, key), text in sorted(self._records.items()) if one == kind}

    def put_record(self, kind: str, key: str, body: Mapping[str, Any] | None, *, was: object = ANYTHING) -> bool:
        """Keep a record, or with None remove it; False if it is not as it ``was``."""
        with self._lock:
            if was is not ANYTHING and self.records(kind).get(key) != was:
                return False
            if body is None:
                self._records.pop((kind, key), None)
            else:
                self._records[kind, key] = encode(dict(body))
            return True

    def check(self) -> None:
        """Do nothing: nobody else has this memory."""

    def replace_all(self, copies: Iterable[tuple[str, Iterable[Event]]]) -> None:
        """Put other experiments in place of all there are."""
        with self._lock:
            before = self._events, self._numbers, self._snapshots
            self._events, self._numbers, self._snapshots = {}, {}, {}
            try:
                for name, found in copies:
                    first, *more = found
                    self.create(name, first, more)
                self.identity = uuid.uuid4().hex
            except BaseException:
                self._events, self._numbers, self._snapshots = before
                raise

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _of(self, handle: Handle) -> list[Event]:
        check_handle(handle, self._numbers.get(handle.name), self.names)
        return self._events[handle.name]


class _MemoryLog:
    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self.fresh: list[Event] = []

    def after(self, seq: int, head: str = "") -> Sequence[Event]:
        return _after([*self._events, *self.fresh], seq, head)

    def append(self, event: Event) -> Event:
        last = (self.fresh or self._events)[-1]
        check_next(event, last.seq)
        self.fresh.append(sealed(event, last.hash))
        return self.fresh[-1]


def _after(events: list[Event], seq: int, head: str) -> list[Event]:
    if head and (len(events) < seq or events[seq - 1].hash != head):
        raise another_history(seq)
    return events[seq:]
