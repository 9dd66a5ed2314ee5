"""A service over an empty storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.receiving import Receiver
from tests.service.serving import Client, running

from mobai.service import webhooks
from mobai.store.sql import SqlJournal


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (found, _):
        yield found


@pytest.fixture
def journal(tmp_path: Path) -> SqlJournal:
    return SqlJournal(f"sqlite:///{tmp_path / 'test.db'}")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(webhooks, "_PAUSES", (0.2, 0.2))
    monkeypatch.setattr(webhooks, "_SECONDS_BETWEEN_LOOKS", 0.2)
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()
