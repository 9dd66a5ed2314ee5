"""What an operator can see in the log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.live.rounds import new, run

from mobai import Experiment
from mobai.store.journal import MemoryJournal, Snapshot


def test_operators_can_listen(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.INFO, logger="mobai"):
        test = new(tmp_path / "a.db")
        (one,) = test.ask()
        test.drop(one)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "making the tables of schema 4" in said
    assert "test: assignment 1 was dropped" in said
    journal = MemoryJournal()
    test = new(journal)
    run(test, 3)
    journal.save_snapshot(journal.find("test"), Snapshot(5, b"damaged"))
    with caplog.at_level(logging.WARNING, logger="mobai"):
        Experiment.load(journal, "test")
    assert "the snapshot of event 5 is not usable" in caplog.text


def test_silent_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    journal = MemoryJournal()
    test = new(journal)
    journal.save_snapshot(journal.find("test"), Snapshot(1, b"damaged"))
    test.drop(test.ask()[0])
    Experiment.load(journal, "test")
    assert capfd.readouterr() == ("", "")
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("mobai").handlers)
