from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mobai import InputError, StorageError
from mobai.live.journal import Event, Journal, MemoryJournal
from mobai.live.sql import SqlJournal
from mobai.testing import check_journal


def test_conformance(make_journal: Callable[[], Journal]) -> None:
    check_journal(make_journal)


class Forgetful(MemoryJournal):
    def read(self, name: str, after: int = 0) -> Sequence[Event]:
        return super().read(name, after)[:2]


class Careless(MemoryJournal):
    def lock(self, name: str) -> Any:
        journal = self

        class Now:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *error: object) -> None:
                pass

            def after(self, seq: int) -> Sequence[Event]:
                return journal.read(name, seq)

            def append(self, event: Event) -> None:
                journal._events[name].append(event)

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


def test_an_experiment_created_anew_is_another_one(storage: str) -> None:
    one, two = SqlJournal(storage), SqlJournal(storage)
    one.create("x", Event(1, "created", 0.0, {}))
    assert len(two.read("x")) == 1
    one.delete("x")
    one.create("x", Event(1, "created", 1.0, {}))
    with pytest.raises(StorageError, match="was deleted and created anew"):
        two.read("x")
    assert len(two.read("x")) == 1
