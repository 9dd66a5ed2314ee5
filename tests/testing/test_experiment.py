"""Experiments do the same wherever they are kept: in memory, SQLite, PostgreSQL, and behind a service of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.serving import running

from mobai.live import codec
from mobai.store.journal import MemoryJournal
from mobai.testing import check_experiment


def test_in_memory() -> None:
    check_experiment(MemoryJournal())


def test_in_a_database(storage: str) -> None:
    check_experiment(storage)


def test_behind_a_service(storage: str) -> None:
    with running(storage) as (client, _):
        check_experiment(client.address)


def test_differences_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that answers otherwise is caught."""
    nothing: dict[str, object] = {"pairs": [], "limits": [], "next_arm": None, "reason": "", "sentences": []}
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        monkeypatch.setattr(codec, "explanation_json", lambda _: nothing)
        with pytest.raises(AssertionError, match="explain"):
            check_experiment(client.address)
