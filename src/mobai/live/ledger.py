"""The journal of an experiment and the state folded from it, kept in step."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mobai.errors import HistoryChangedError, StorageError
from mobai.live import snapshots
from mobai.live.reports import Report
from mobai.live.state import State
from mobai.store.interrupts import FORKS, ctrl_c_waits
from mobai.store.journal import Event, EventLog, Handle, Journal, Snapshot

_log = logging.getLogger(__name__)

# A process that ends after one call folds what came after the last snapshot: a fiftieth of the journal, or less.
_LEAST_EVENTS_BETWEEN_SNAPSHOTS = 200
_SHARE_BETWEEN_SNAPSHOTS = 1 / 50
_EVENTS_AT_A_TIME = 1_000


class Change:
    """A change under way: the experiment is locked, and the state is up to date."""

    def __init__(self, state: State, log: EventLog) -> None:
        self.state, self._log = state, log
        self.written = 0  # events, of which the last one may not be in the journal yet
        self._stopped: bool | None = None

    def add(self, kind: str, body: dict[str, Any], reports: list[Report] | None = None) -> Event:
        """Take the next event in, and put it into the journal as it then is.

        The ``reports`` of one that tells are given if they were checked just now.
        """
        self.written += 1
        self._stopped = None
        event = self._log.append(self.state.apply(Event(self.state.seq + 1, kind, time.time(), body), reports))
        self.state.head = event.hash
        return event

    @property
    def stopped(self) -> bool:
        """Whether every objective is decided by now."""
        if self._stopped is None:
            self._stopped = self.state.engine.stopped()
        return self._stopped


class Ledger:
    """One experiment in a journal, and as much of its state as this process knows. Threads take turns."""

    def __init__(self, journal: Journal, handle: Handle, state: State | None = None) -> None:
        self.journal, self.handle = journal, handle
        self._state = state
        self._saved = 0
        self._lost: HistoryChangedError | None = None  # why nothing can be done with it any more
        self._turn, self._writers = threading.RLock(), threading.RLock()

    @contextmanager
    def in_turn(self, *, alone: bool = True) -> Iterator[None]:
        """Let threads take turns; once the journal is another one, nothing is done with it until it is loaded again.

        Not ``alone``, it may be the journal of another experiment.
        """
        with FORKS, self._turn, self._noting_loss(alone):
            yield

    @contextmanager
    def writing(self, *, alone: bool = True) -> Iterator[None]:
        """Let one thread at a time wait for the journal's lock; those that read need not wait with it."""
        with FORKS, self._writers, self._noting_loss(alone):
            yield

    @contextmanager
    def _noting_loss(self, alone: bool) -> Iterator[None]:
        if self._lost is not None:
            raise type(self._lost)(str(self._lost))
        try:
            yield
        except HistoryChangedError as error:
            self._lost = error if alone else None
            raise

    @contextmanager
    def look(self) -> Iterator[State]:
        """Catch up with others, and give the state to read; it is forgotten if that goes wrong."""
        with self.in_turn():
            state = self.known()
            try:
                self._catch_up(state)
            except BaseException:
                self.forget()
                raise
            yield state

    def forget(self) -> None:
        """Forget the state, which may no longer be that of the journal; it is read anew."""
        self._state = None

    def history(self) -> Sequence[Event]:
        """Return every event from the beginning."""
        with self.in_turn():
            self._compare()
            return self.journal.read(self.handle)

    def events(self, until: int) -> Iterator[Event]:
        """Yield the events from the beginning up to one, read a part at a time."""
        seq, head = 0, ""
        while seq < until:
            with self.in_turn():
                part = self.journal.read(self.handle, seq, min(_EVENTS_AT_A_TIME, until - seq), head)
            if not part:
                return
            yield from part
            seq, head = part[-1].seq, part[-1].hash

    def check(self) -> None:
        """Refuse a journal that is no longer the one that was read."""
        with self.in_turn():
            self._compare()

    def _compare(self) -> None:
        if self._state is not None:
            self.journal.read(self.handle, self._state.seq, 1, self._state.head)

    def fold(self, *, compare: bool = False, until: int | None = None) -> State:
        """Return the state folded from the journal, up to an event, with ``compare`` making every choice anew."""
        first = self.journal.read(self.handle, most=1)
        if not first:
            raise StorageError(f"{self.handle.name}: the journal is empty; it must begin with 'created'")
        state = State(first[0], compare=compare)
        state.check_name(self.handle.name)
        self._catch_up(state, until)
        return state

    def _catch_up(self, state: State, until: int | None = None) -> None:
        """Take in what others have appended, a part at a time: a long journal does not fit into memory at once."""
        while until is None or state.seq < until:
            most = _EVENTS_AT_A_TIME if until is None else min(_EVENTS_AT_A_TIME, until - state.seq)
            fresh = self.journal.read(self.handle, state.seq, most, state.head)
            state.apply_all(fresh)
            if len(fresh) < most:
                return

    def known(self) -> State:
        """Return the state as far as this process knows it, at first from a snapshot."""
        kept = None
        if self._state is None:
            kept = self.journal.snapshot(self.handle)
            self._saved = 0 if kept is None else kept.seq
            with ctrl_c_waits():
                self._state = None if kept is None else snapshots.restore(kept)
            if self._state is not None and not self._agrees(self._state):
                self._state = None
            if self._state is not None:
                self._state.check_name(self.handle.name)
            if kept is not None and self._state is None:
                _log.warning("%s: the snapshot of event %d is not usable; reading all", self.handle.name, kept.seq)
        if self._state is None:
            before = None if kept is None else snapshots.decided_before(kept)
            self._state = self.fold()
            if before is not None and kept is not None:
                self._state.let_stand(before, kept.seq)
        return self._state

    def _agrees(self, state: State) -> bool:
        """Whether the journal has the event that a snapshot was taken after."""
        try:
            self.journal.read(self.handle, state.seq, 1, state.head)
        except StorageError:
            return False
        return True

    def due_snapshot(self, state: State) -> Snapshot | None:
        """Return a snapshot once the journal has grown by its share: loading reads little, and saving costs little."""
        due = max(_LEAST_EVENTS_BETWEEN_SNAPSHOTS, int(_SHARE_BETWEEN_SNAPSHOTS * state.seq))
        if state.seq - self._saved < due:
            return None
        self._saved = state.seq
        with ctrl_c_waits():
            return snapshots.take(state)

    def save(self, snapshot: Snapshot | None) -> None:
        """Save a snapshot, if there is one: what was asked or told is safe already, loading only takes longer."""
        if snapshot is not None:
            try:
                with ctrl_c_waits():
                    self.journal.save_snapshot(self.handle, snapshot)
            except StorageError as error:
                _log.warning("%s: no snapshot was saved after event %d: %s", self.handle.name, snapshot.seq, error)
