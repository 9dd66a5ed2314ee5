"""Journals for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mobai.store.journal import Journal, MemoryJournal
from mobai.store.sql import SqlJournal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def make_journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Journal]]:
    """A function that opens the same storage again and again; one for each kind."""
    if request.param == "memory":
        journal = MemoryJournal()
        yield lambda: journal
        return
    url = f"sqlite:///{tmp_path / 'test.db'}" if request.param == "sqlite" else request.getfixturevalue("database")
    opened: list[SqlJournal] = []

    def open_again() -> SqlJournal:
        opened.append(SqlJournal(url))
        return opened[-1]

    yield open_again
    for one in opened:
        one.close()
