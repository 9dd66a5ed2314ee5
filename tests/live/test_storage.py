"""Addresses of storages: what is accepted, and what is never shown."""

from __future__ import annotations

import builtins
import os
import traceback
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.live.rounds import new, run

import mobai
from mobai import Experiment, InputError, StorageError, experiment_names
from mobai.cli.main import group
from mobai.store import database

SECRETS = [
    "postgres://u:sekret@127.0.0.1:1/x",
    "mysql://u:sekret@host/x",
    "u:sekret@host",
    "postgresql://u@127.0.0.1:1/x?password=sekret",
    "postgresql://u:sekret@host:port/x",
    "postgresql://u:sekret@127.0.0.1:1/x?sekret=1",
    "sqlite://u:sekret@host/x",
    "u:sekret@host:5432/x?sslmode=require",
    "postgresql://u:hun@sekret@localhost:1/db",
    "postgresql://u:hun@sekret/y@localhost:1/db",
    "postgresql://u:hun@sekret?z@localhost:1/db",
]


@pytest.mark.parametrize("url", SECRETS)
def test_no_message_shows_a_password(url: str) -> None:
    """Nor does any traceback."""
    with pytest.raises((InputError, StorageError)) as found:
        experiment_names(url)
    text = "".join(line for line in traceback.format_exception(found.value) if url not in line)
    assert "sekret" not in str(found.value)
    assert "sekret" not in text.replace(repr(url), "")


@pytest.mark.parametrize(("url", "guess"), [("sqlit:///x.db", "sqlite"), ("postgesql://h/x", "postgresql")])
def test_a_mistyped_scheme(url: str, guess: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{guess}'"):
        experiment_names(url)


def test_psycopg_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"this needs psycopg: pip install 'mobai\[postgresql\]'"):
        experiment_names("postgresql://u@127.0.0.1:1/x")


def test_a_silent_port_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(database, "_SECONDS_TO_CONNECT", 2)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with pytest.raises(StorageError, match="did not answer within"):
            experiment_names(f"postgresql://u@127.0.0.1:{listener.getsockname()[1]}/x")


@pytest.mark.parametrize("with_log", [False, True])
def test_a_read_only_database_can_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_log: bool) -> None:
    path = tmp_path / "x.db"
    test = new(f"sqlite:///{path}")
    run(test, 5)
    if not with_log:
        test._ledger.journal.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    looked = Experiment.load(f"sqlite:///{path}", "test")
    assert looked.status().verdict.pulls == 5
    with pytest.raises(StorageError, match=r"is read-only|cannot be opened"):
        looked.ask()


def test_nothing_is_imported_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def guarded(name: str, *rest: Any) -> Any:
        assert not name.startswith("sqlalchemy")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", guarded)
    experiment_names("memory:")


def test_what_is_acknowledged_is_on_disk(tmp_path: Path) -> None:
    from mobai.store.sql import SqlJournal

    journal = SqlJournal(f"sqlite:///{tmp_path / 'x.db'}", create=True)
    for mode in ("IMMEDIATE", "DEFERRED"):
        with journal._database.driver(mode) as driver:
            assert driver.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
            assert driver.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert driver.execute("PRAGMA foreign_keys").fetchone() == (1,)


@pytest.mark.parametrize("command", ["status x", "ask x", "tell x 1 click=1", "export x", "experiments"])
def test_reading_makes_no_storage(command: str, tmp_path: Path) -> None:
    for path in (tmp_path / "mistyped.db", tmp_path / "folder" / "a.db"):
        result = CliRunner().invoke(group, [*command.split(), "--storage", f"sqlite:///{path}"])
        assert isinstance(result.exception, InputError)
        assert f"storage: there is nothing at {path}; creating an experiment makes it" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_reading_from_python_makes_no_storage(tmp_path: Path) -> None:
    path = tmp_path / "mistyped.db"
    for read in (Experiment.load, mobai.delete):
        with pytest.raises(InputError, match="there is nothing at"):
            read(path, "x")
    with pytest.raises(InputError, match="there is nothing at"):
        mobai.experiment_names(path)
    path.touch()
    with pytest.raises(InputError, match="there is nothing at"):
        mobai.experiment_names(path)
    assert path.stat().st_size == 0
    new(path)
    assert mobai.experiment_names(path) == ["test"]


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="is a database of something else"):
        new(path)
    with pytest.raises(StorageError, match="is a database of something else"):
        Experiment.load(path, "x")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["theirs.db"]


def test_paths_are_paths(tmp_path: Path) -> None:
    for name in ("what?.db", "pct%41.db", "a b#c.db"):
        new(tmp_path / name)
        assert (tmp_path / name).is_file()
        assert mobai.experiment_names(tmp_path / name) == ["test"]
    assert len([path for path in tmp_path.iterdir() if path.suffix == ".db"]) == 3


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("sqlite:///file:{folder}/typo.db?uri=true", "there is nothing at"),
        ("postgresql://127.0.0.1:abc/x", "storage must be sqlite:///FILE"),
        (
            "mysql://host/x",
            "storage must be sqlite:///FILE, postgresql://USER@HOST/NAME, http://HOST:PORT or memory:, not mysql",
        ),
        (None, "storage must be an address, a path or a journal, not None"),
    ],
)
def test_addresses_that_lead_nowhere(storage: Any, message: str, tmp_path: Path) -> None:
    address = storage.format(folder=tmp_path) if storage else storage
    with pytest.raises(InputError, match=message):
        Experiment.load(address, "x")
    assert list(tmp_path.iterdir()) == []
