"""Is an experiment what was written? The chain of its journal, what it adds up to, its snapshot, its database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mobai.errors import InputError, StorageError
from mobai.live import snapshots
from mobai.live.journal import Handle, Journal
from mobai.live.ledger import Ledger
from mobai.live.storage import open_journal


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
        The database, the chain, what it adds up to, the snapshot.
    choices
        Apart from that: whether the rule would choose the same today.
    """

    name: str
    events: int
    head: str
    findings: tuple[Finding, ...]
    choices: Finding

    @property
    def intact(self) -> bool:
        """Whether everything is as it was written."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        """Say it in a few lines."""
        lines = [f"{self.name}: {'intact' if self.intact else 'NOT intact'}, {self.events:,} events, head {self.head}"]
        return "\n".join([*lines, *(f"  {one.what}: {one.detail}" for one in (*self.findings, self.choices))])


def verify(storage: str | Path | Journal, name: str | None = None, *, head: str | None = None) -> list[Verification]:
    """Look at one experiment of a storage, or at all of them, also at those that cannot be loaded.

    ``head`` is the hash of a last event that was written down: everything up to it is still what it was if it is found.
    """
    if head is not None and (name is None or not re.fullmatch("[0-9a-f]{64}", head)):
        raise InputError(f"head must be the hash of an event, 64 digits from 0 to f, of one experiment, not {head!r}")
    journal = open_journal(storage)
    return [verify_experiment(journal, journal.find(one), head) for one in ([name] if name else journal.names())]


def verify_experiment(journal: Journal, handle: Handle, written_down: str | None = None) -> Verification:
    """Look at one experiment."""
    ledger = Ledger(journal, handle)
    damage = journal.damage()
    database = Finding("database", not damage, "; ".join(damage[:3]) or "sound")
    events, head, chain, place = _chain(journal, handle, written_down)
    state = _state(ledger) if chain.holds else Finding("state", False, "not looked at: the chain is broken")
    snapshot, choices = _snapshot(ledger, state.holds), _choices(ledger, state.holds)
    known = () if written_down is None else (_known(place),)
    return Verification(handle.name, events, head, (database, chain, *known, state, snapshot), choices)


class Chain(NamedTuple):
    """How many events are sound, the hash of the last, what that means, and which event has the hash written down."""

    events: int
    head: str
    finding: Finding
    place: int | None


def _chain(journal: Journal, handle: Handle, written_down: str | None) -> Chain:
    seq, head, at_a_time, place = 0, "", 1000, None
    while True:
        try:
            fresh = journal.read(handle, seq, at_a_time, head)
        except StorageError as error:
            if at_a_time == 1:
                return Chain(seq, head, Finding("chain", False, str(error)), place)
            at_a_time = 1  # to name the last event that is sound
            continue
        if not fresh:
            break
        place = next((event.seq for event in fresh if event.hash == written_down), place)
        seq, head = fresh[-1].seq, fresh[-1].hash
    return Chain(seq, head, Finding("chain", seq > 0, "unbroken" if seq else "there is no event"), place)


def _known(place: int | None) -> Finding:
    if place is None:
        return Finding("head", False, "no event has the hash that was written down")
    return Finding("head", True, f"that of event {place:,}, up to which everything is what it was")


def _state(ledger: Ledger) -> Finding:
    try:
        state = ledger.fold()
    except StorageError as error:
        return Finding("state", False, str(error))
    return Finding("state", True, f"{state.engine.told:,} pulls")


def _snapshot(ledger: Ledger, has_state: bool) -> Finding:
    kept = ledger.journal.snapshot(ledger.handle)
    if kept is None:
        return Finding("snapshot", True, "none")
    if snapshots.restore(kept) is None:
        return Finding(
            "snapshot", False, f"that of event {kept.seq:,} is damaged or of another version, and is not used"
        )
    if not has_state:
        return Finding("snapshot", False, "not compared: there is no state")
    same = snapshots.take(ledger.fold(until=kept.seq)).data == kept.data
    detail = f"that of event {kept.seq:,} " + ("agrees" if same else "is not what the journal adds up to")
    return Finding("snapshot", same, detail)


def _choices(ledger: Ledger, has_state: bool) -> Finding:
    if not has_state:
        return Finding("choices", False, "not made again: there is no state")
    differences = ledger.fold(compare=True).differences
    found = f"{len(differences):,} would be others today" if differences else "the rule would choose the same today"
    return Finding("choices", not differences, found)
