"""The journals of a service, to read: histories, verification, copies and backups work as with any other storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from mobai.client.http import HttpClient
from mobai.client.reading import reading
from mobai.errors import InputError
from mobai.live.codec import events_of
from mobai.store.journal import ANYTHING, Event, EventLog, Handle, Last, Snapshot, another_history, check_handle

_EVENTS_AT_A_TIME = 5_000


class HttpJournal:
    """The experiments of a service; what changes one goes through :class:`mobai.Experiment`."""

    def __init__(self, client: HttpClient, history: str | None = None) -> None:
        self.client = client
        # Which history of an experiment is meant, where one is: another one is refused.
        self._headers = {} if history is None else {"Mobai-History": history}

    def __repr__(self) -> str:
        """Name the address."""
        return f"HttpJournal({self.client.address!r})"

    @property
    def identity(self) -> str:
        """The address."""
        return self.client.address

    def find(self, name: str) -> Handle:
        """Look an experiment up; NotFoundError if there is none."""
        with reading():
            facts = self.client.get("experiments", name, "settings")
            return Handle(name, int(facts["number"]))

    def names(self) -> list[str]:
        """Return the names of all experiments that the token may see, in the order of their creation."""
        found: list[str] = []
        while True:
            with reading():
                page = self.client.get("experiments", only="names", skip=len(found))
                found += page["names"]
                if not page["more"]:
                    return found

    def read(self, handle: Handle, after: int = 0, most: int | None = None, head: str = "") -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them; they are read in parts."""
        check_handle(handle, self.find(handle.name).number, self.names)
        found: list[Event] = []
        start = after - 1 if head and after else after
        while True:
            wanted = _EVENTS_AT_A_TIME if most is None else min(most + after - start - len(found), _EVENTS_AT_A_TIME)
            if wanted <= 0:
                break
            query = {"after": start + len(found), "limit": wanted}
            place = ("experiments", handle.name, "events")
            page = self.client.call("GET", *place, query=query, headers=self._headers).json()
            with reading():
                part = events_of(page["events"])
            found += part
            if len(part) < wanted:
                break
        if start < after:
            if not found or found[0].hash != head:
                raise another_history(after)
            found = found[1:]
        return found

    def last(self, handle: Handle) -> Last:
        """Return the number and the hash of the last event."""
        with reading():
            facts = self.client.get("experiments", handle.name)
            return Last(int(facts["events"]), str(facts["head"]))

    def snapshot(self, handle: Handle) -> Snapshot | None:  # noqa: ARG002
        """Return None: snapshots stay with the service."""
        return None

    def delete(self, name: str) -> None:
        """Remove an experiment with all its events."""
        self.client.call("DELETE", "experiments", name, only_once=True)

    def damage(self) -> list[str]:
        """Return what the storage of the service finds wrong with itself."""
        found: list[str] = self.client.get("storage", "damage")["damage"]
        return found

    def check(self) -> None:
        """Do nothing: the service looks after its storage."""

    def close(self) -> None:
        """Close the connection of this thread."""
        self.client.close()

    def create(self, name: str, event: Event, more: Iterable[Event] = ()) -> Handle:  # noqa: ARG002
        """Refuse: a service makes its events itself."""
        _refuse("takes no copies; copy to the storage it serves")

    def lock(self, handle: Handle) -> AbstractContextManager[EventLog]:  # noqa: ARG002
        """Refuse: a service makes its events itself."""
        _refuse("appends events itself; use Experiment.load")

    def lock_several(self, handles: Sequence[Handle]) -> AbstractContextManager[Sequence[EventLog]]:  # noqa: ARG002
        """Refuse: a service makes its events itself."""
        _refuse("appends events itself; use Experiment.load")

    def save_snapshot(self, handle: Handle, snapshot: Snapshot) -> None:
        """Do nothing: snapshots stay with the service."""

    def replace_all(self, copies: Iterable[tuple[str, Iterable[Event]]]) -> None:  # noqa: ARG002
        """Refuse: what is restored is restored where it is kept."""
        _refuse("is not restored into; restore the storage it serves")

    def records(self, kind: str) -> dict[str, dict[str, Any]]:  # noqa: ARG002
        """Refuse: secrets are not read over the wire."""
        _refuse("keeps these to itself; give the storage it serves")

    def put_record(
        self,
        kind: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        body: Mapping[str, Any] | None,  # noqa: ARG002
        *,
        was: object = ANYTHING,  # noqa: ARG002
    ) -> bool:
        """Refuse: secrets are not written over the wire."""
        _refuse("keeps these to itself; give the storage it serves")


def _refuse(why: str) -> NoReturn:
    raise InputError("storage", f"a service {why}")
