from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mobai import Experiment, InputError, Problem, StorageError
from mobai.live.settings import new_settings, to_body
from mobai.live.state import State
from mobai.rules.stopping import Decision
from mobai.store.journal import Event, Handle, Journal, MemoryJournal, Snapshot, sealed
from mobai.store.sql import SqlJournal
from mobai.testing import check_journal


def test_conformance(make_journal: Callable[[], Journal]) -> None:
    check_journal(make_journal)


class Forgetful(MemoryJournal):
    def read(self, handle: Handle, after: int = 0, most: int | None = None, head: str = "") -> Sequence[Event]:
        return super().read(handle, after, most, head)[:2]


class Careless(MemoryJournal):
    def lock(self, handle: Handle) -> Any:
        journal = self

        class Now:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *error: object) -> None:
                pass

            def after(self, seq: int, head: str = "") -> Sequence[Event]:
                return journal.read(handle, seq, head=head)

            def append(self, event: Event) -> Event:
                events = journal._events[handle.name]
                events.append(sealed(event, events[-1].hash))
                return events[-1]

        return Now()


@pytest.mark.parametrize(
    ("kind", "message"),
    [(Forgetful, "come back as they were appended"), (Careless, "in a block that raised must be gone")],
)
def test_the_suite_catches(kind: type[MemoryJournal], message: str) -> None:
    journal = kind()
    with pytest.raises(AssertionError, match=message):
        check_journal(lambda: journal)


@pytest.mark.parametrize("url", ["sqlite://", "mysql://host/db", "nonsense", "sqlite:///:memory:?x"])
def test_other_addresses(url: str) -> None:
    with pytest.raises((InputError, StorageError), match=r"storage|cannot|no address|:memory:"):
        SqlJournal(url)


def test_connections_go_back_to_the_pool(tmp_path: Path) -> None:
    journal = SqlJournal(f"sqlite:///{tmp_path / 'x.db'}")
    handle = journal.create("x", Event(1, "created", 0.0, {}))

    def read(_: int) -> int:
        return len(journal.read(handle))

    with ThreadPoolExecutor(12) as threads:
        assert set(threads.map(read, range(200))) == {1}
    pool: Any = journal._database.engine.pool
    assert pool.checkedout() <= 1
    journal.close()
    assert (pool.checkedout(), journal.names()) == (0, ["x"])


JOURNALS = Path(__file__).with_name("journals")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_journals_of_every_version(version: int) -> None:
    """What each version wrote is read, to the same assignments and rewards, and can be gone on with if it is open."""
    rows = json.loads((JOURNALS / f"version-{version}.json").read_text())
    events = [Event(*row) for row in rows]
    state = State(events[0])
    state.apply_all(events[1:])
    told = sum(len(event.body["reports"]) for event in events if event.kind == "told")
    told += sum(len(event.body["rows"]) for event in events if event.kind == "recorded")
    asked = sum(len(event.body["arms"]) for event in events if event.kind == "asked")
    recorded = sum(len(event.body["rows"]) for event in events if event.kind == "recorded")
    assert state.assignments.count == asked + recorded
    assert state.engine.told <= told
    assert state.closed_at == events[-1].at
    journal = MemoryJournal()
    journal.create("test", events[0], events[1:])
    status = Experiment.load(journal, "test").status()
    assert status.weighed_otherwise == (version < 4)
    assert status.verdict.pulls == state.engine.asks.answered >= state.engine.told


def test_what_an_earlier_version_decided_stands() -> None:
    """It is in that version's last snapshot, and is written into the journal with the next change."""
    created = {"name": "x", **to_body(new_settings(Problem(["A", "B"], ["click:bernoulli", "late:bernoulli"])))}
    first = sealed(Event(1, "created", 1.0, {**created, "evidence": 2}), "")
    journal = MemoryJournal()
    handle = journal.create("x", first)
    facts = {"layout": 12, "seq": 1, "decisions": [[1, 40, 7.0], None], "arrays": []}
    text = json.dumps(facts).encode()
    data = len(text).to_bytes(8, "big") + text
    journal.save_snapshot(handle, Snapshot(1, hashlib.sha256(data).digest() + data))
    test = Experiment.load(journal, "x")
    assert test.verdict().decisions == (Decision(1, 40, 7.0), None)
    assert test.status().weighed_otherwise
    assert test.verify().intact
    assert [event.kind for event in test.history()] == ["created"]
    # Rewards are read as they were told, reward by reward, whatever was asked before.
    one, two = test.ask(2)
    assert [event.kind for event in test.history()] == ["created", "stood", "asked"]
    test.tell(two, {"click": 1})
    assert test.status().rewards.sum() == 1
    again = Experiment.load(journal, "x")
    assert again.verdict().decisions == test.replay().verdict.decisions == (Decision(1, 40, 7.0), None)
    assert again.verify().intact
    test.drop(one)
    assert test.status().waiting == ()
