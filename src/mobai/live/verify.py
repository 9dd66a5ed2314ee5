"""Is an experiment what was written? The chain of its journal, what it adds up to, its snapshot, its database."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mobai.errors import InputError, StorageError
from mobai.live import snapshots
from mobai.live.state import State
from mobai.live.storage import open_journal
from mobai.store.journal import Event, EventReader, Handle, Journal, Snapshot

_EVENTS_AT_A_TIME = 1_000

# Called with the name of an experiment, how many of its events were looked at, and how many there are.
Progress = Callable[[str, int, int], None]


class Finding(NamedTuple):
    """One thing that was looked at: what it is, whether it is as it should be, and what was found."""

    what: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    """What was found of one experiment.

    Attributes
    ----------
    name
        The experiment.
    events, head
        How many events the chain has, and the hash of the last: compare it with one you wrote down.
    findings
        The database, the records of the service, the chain, what it adds up to, the snapshot.
    choices
        Apart from that: whether the rule would choose the same today; None if that was not asked for.
    """

    name: str
    events: int
    head: str
    findings: tuple[Finding, ...]
    choices: Finding | None = None

    @property
    def intact(self) -> bool:
        """Whether everything is as it was written."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        """Say it in a few lines."""
        lines = [f"{self.name}: {'intact' if self.intact else 'NOT intact'}, {self.events:,} events, head {self.head}"]
        found = (*self.findings, *(() if self.choices is None else (self.choices,)))
        return "\n".join([*lines, *(f"  {one.what}: {one.detail}" for one in found)])


def verify(
    storage: str | Path | Journal,
    name: str | None = None,
    *,
    head: str | None = None,
    choices: bool = False,
    progress: Progress | None = None,
) -> list[Verification]:
    """Look at one experiment of a storage, or at all of them, also at those that cannot be loaded.

    ``head`` is the hash of a last event that was written down: everything up to it is still what it was if it is found.
    With ``choices`` the rule makes every choice again, which takes several times as long.
    """
    if head is not None and name is None:
        raise InputError("head", "name the experiment that it is the head of")
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise InputError("head", f"must be the hash of an event, 64 digits from 0 to f, not {head!r}")
    journal = open_journal(storage)
    names = [name] if name else journal.names()
    damage = journal.damage()
    return [_Reading(journal, journal.find(one), head, choices, progress).verify(damage) for one in names]


def verify_experiment(journal: Journal, handle: Handle, *, choices: bool = True) -> Verification:
    """Look at one experiment."""
    return _Reading(journal, handle, None, choices, None).verify(journal.damage())


class _Reading:
    """One way through a journal: its chain, what it adds up to, and whether that agrees with the snapshot."""

    def __init__(
        self, journal: EventReader, handle: Handle, written_down: str | None, choices: bool, progress: Progress | None
    ) -> None:
        self._journal, self._handle = journal, handle
        self._written_down, self._choices, self._progress = written_down, choices, progress
        self._seq, self._head, self._place = 0, "", 0  # the place of the hash that was written down, 0 for none
        self._kept: Snapshot | None = None
        self._state: State | None = None
        self._snapshot_agrees: bool | None = None  # None as long as it was not compared
        self._broken: str | None = None  # why there is no state

    def verify(self, damage: Sequence[str]) -> Verification:
        """Read everything, given what is wrong with the storage itself."""
        self._kept = self._journal.snapshot(self._handle)
        chain = self._read_all()
        known = () if self._written_down is None else (self._found_head(),)
        sound = "sound, with the records of a service"
        database = Finding("database", not damage, "; ".join(damage[:3]) or sound)
        findings = (database, chain, *known, self._found_state(chain), self._found_snapshot())
        choices = self._found_choices() if self._choices else None
        return Verification(self._handle.name, self._seq, self._head, findings, choices)

    def _read_all(self) -> Finding:
        at_a_time, total = _EVENTS_AT_A_TIME, 0
        while True:
            try:
                total = total or self._journal.last(self._handle).seq
                fresh = self._journal.read(self._handle, self._seq, self._up_to_snapshot(at_a_time), self._head)
            except StorageError as error:
                if at_a_time == 1:
                    return Finding("chain", False, str(error).partition("; `mobai verify`")[0])
                at_a_time = 1  # to name the last event that is sound
                continue
            if not fresh:
                return Finding("chain", self._seq > 0, "unbroken" if self._seq else "there is no event")
            self._take_in(fresh)
            if self._progress is not None:
                self._progress(self._handle.name, self._seq, total)

    def _up_to_snapshot(self, most: int) -> int:
        """Return how many events to read: not beyond the one that the snapshot was taken after."""
        left = 0 if self._kept is None else self._kept.seq - self._seq
        return min(most, left) if left > 0 else most

    def _take_in(self, fresh: Sequence[Event]) -> None:
        self._place = next((event.seq for event in fresh if event.hash == self._written_down), self._place)
        self._seq, self._head = fresh[-1].seq, fresh[-1].hash
        if self._broken is None:
            try:
                self._fold(fresh)
            except StorageError as error:
                self._broken, self._state = str(error), None

    def _fold(self, fresh: Sequence[Event]) -> None:
        if self._state is None:
            self._state, fresh = State(fresh[0], compare=self._choices), fresh[1:]
            self._state.check_name(self._handle.name)
        self._state.apply_all(fresh)
        if self._kept is not None and self._seq == self._kept.seq:
            self._snapshot_agrees = snapshots.take(self._state).data == self._kept.data

    def _found_head(self) -> Finding:
        if not self._place:
            return Finding("head", False, "no event has the hash that was written down")
        return Finding("head", True, f"that of event {self._place:,}, up to which everything is what it was")

    def _found_state(self, chain: Finding) -> Finding:
        if not chain.holds:
            return Finding("state", False, "not looked at: the chain is broken")
        if self._state is None:
            return Finding("state", False, self._broken or "there is none")
        return Finding("state", True, f"{self._state.engine.told:,} pulls")

    def _found_snapshot(self) -> Finding:
        if self._kept is None:
            return Finding("snapshot", True, "none")
        if snapshots.is_of_another_version(self._kept):
            return Finding("snapshot", True, f"that of event {self._kept.seq:,} is of another version, and is not used")
        if snapshots.restore(self._kept) is None:
            words = f"that of event {self._kept.seq:,} is damaged, and is not used"
            return Finding("snapshot", False, words)
        if self._snapshot_agrees is None:
            return Finding("snapshot", False, "not compared: there is no state")
        words = "agrees" if self._snapshot_agrees else "is not what the journal adds up to"
        return Finding("snapshot", self._snapshot_agrees, f"that of event {self._kept.seq:,} {words}")

    def _found_choices(self) -> Finding:
        if self._state is None:
            return Finding("choices", False, "not made again: there is no state")
        count = len(self._state.differences)
        return Finding(
            "choices",
            not count,
            f"{count:,} would be others today" if count else "the rule would choose the same today",
        )
