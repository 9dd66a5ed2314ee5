"""Several processes at once, and what can go wrong with a storage, for real."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from mobai import Experiment, InputError, StorageError
from mobai.live.ledger import Change
from mobai.live.operations import Operation
from mobai.live.transactions import carry_out
from mobai.store import schema, sql
from mobai.store.sql import SqlJournal

FLEET = Path(__file__).with_name("fleet.py")


def fleet(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, str(FLEET), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_six_processes(storage: str) -> None:
    found = fleet("work", storage, 16, 6, 0)
    assert found == {"errors": [], "ids_once": True, "told": 96, "pending": 0, "replay_equal": True}


def test_forked_processes_make_connections_of_their_own(storage: str) -> None:
    found = fleet("work", storage, 50, 4, 1)
    assert found == {"errors": [], "ids_once": True, "told": 200, "pending": 0, "replay_equal": True}


def test_killed_in_the_middle_of_tells(storage: str) -> None:
    """A slice of the full test (10,000 tells, 50 kills: ``python tests/live/fleet.py kill ... 10000 50 1``)."""
    found = fleet("kill", storage, 150, 5, 1)
    assert (found["lost"], found["twice"]) == (0, 0)
    assert (found["kills"], found["tells"]) == (5, 150)
    # A tell may be durable before its acknowledgement is out; never the other way round.
    assert 150 - 5 <= found["acknowledged"] <= 150
    assert found["replay_equal"]
    assert found["rewards_right"]


def make(path: Path) -> Experiment:
    test = Experiment.create(path, "x", ["A", "B"], ["value:gaussian=1"])
    for _ in range(5):
        test.tell(test.ask()[0], {"value": 1.0})
    return test


def _events(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        count = int(connection.execute("SELECT count(*) FROM mobai_events").fetchone()[0])
    connection.close()
    return count


def test_a_full_disk(tmp_path: Path) -> None:
    """The system refuses to let files grow: the error is plain, what was acknowledged stays, and it goes on after."""
    path = tmp_path / "x.db"
    script = f"""
import resource, signal, sys
from mobai import Experiment, InputError, StorageError
test = Experiment.create({str(path)!r}.join(["sqlite:///", ""]), "x", ["A", "B"], ["value:gaussian=1"])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
told = 0
try:
    while told < 5000:
        test.tell(test.ask()[0], {{"value": 1.0}})
        told += 1
except StorageError as error:
    print(told, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(test.status().verdict.pulls)
test.tell(test.ask()[0], {{"value": 1.0}})
print(test.status().verdict.pulls)
"""
    assert resource.RLIMIT_FSIZE
    assert signal.SIGXFSZ
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    first, second, third = done.stdout.splitlines()
    told, _, message = first.partition(" ")
    assert "nothing was changed" in message
    assert int(second) == int(told)
    assert int(third) == int(told) + 1
    assert Experiment.load(path, "x").replay().verdict.pulls == int(third)


def test_a_read_only_file(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make(path)
    before = _events(path)
    if os.geteuid() == 0:
        # Root may write everything; a database opened read-only is refused in the same words.
        url = f"sqlite:///file:{path}?mode=ro&uri=true"
    else:
        path.chmod(0o444)
        url = f"sqlite:///{path}"
    test = Experiment.load(url, "x")
    assert test.status().verdict.pulls == 5
    with pytest.raises(StorageError, match="is read-only"):
        test.ask()
    assert _events(path) == before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        make(tmp_path / "no" / "x.db")


@pytest.mark.parametrize("damage", ["text", "header", "middle"])
def test_a_damaged_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.db"
    if damage == "text":
        path.write_text("arm,clicks\nA,0.3\n" * 100)
    else:
        test = make(path)
        for _ in range(200):
            test.tell(test.ask()[0], {"value": 1.0})
        test._ledger.journal.close()
        data = bytearray(path.read_bytes())
        start, end = (0, 16) if damage == "header" else (4096, len(data))
        data[start:end] = os.urandom(end - start)
        path.write_bytes(data)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"not a database of mobai|is damaged"):
        Experiment.load(path, "x").status()
    assert path.read_bytes() == before


def test_a_foreign_database(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    with pytest.raises(StorageError, match="is a database of something else \\(it has a table 'songs'\\)"):
        make(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]
    connection.close()


def test_a_newer_schema(storage: str) -> None:
    journal = SqlJournal(storage)
    with journal._database.engine.begin() as connection:
        connection.execute(sa.update(schema.version).values(version=99))
    journal.close()
    with pytest.raises(StorageError, match=r"was written by a newer mobai \(schema 99, this one knows 4\)"):
        SqlJournal(storage)


def test_migrations_run_once_and_in_order(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older database is brought up to date where it stands."""
    old = Experiment.create(storage, "x", ["A", "B"], ["value:gaussian=1"])
    old.tell(old.ask()[0], {"value": 1.0})

    def add_notes(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE mobai_notes (note TEXT)"))

    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, add_notes])
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(sql, "VERSION", schema.VERSION)
    for _ in range(2):
        journal = SqlJournal(storage)
        with journal._database.engine.connect() as connection:
            assert connection.scalar(sa.select(schema.version.c.version)) == schema.VERSION
            assert "mobai_notes" in sa.inspect(connection).get_table_names()
        assert Experiment.load(journal, "x").verdict().pulls == 1
        journal.close()


def test_a_copy_is_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    test = make(path)
    test._ledger.journal.close()
    shutil.copy(path, tmp_path / "copy.db")
    assert Experiment.load(tmp_path / "copy.db", "x").verdict().pulls == 5


def cut_off_everybody(database: str) -> None:
    engine = sa.create_engine(database.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    others = "pid <> pg_backend_pid() AND datname = current_database()"
    with engine.connect() as connection:
        connection.execute(sa.text(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"))


def test_a_connection_that_is_cut(database: str) -> None:
    test = Experiment.create(database, "x", ["A", "B"], ["value:gaussian=1"])
    (assignment,) = test.ask()
    cut_off_everybody(database)
    test.tell(assignment, {"value": 1.0})

    def refuse(reason: BaseException) -> None:
        with test._ledger.journal.lock(test._ledger.handle):
            cut_off_everybody(database)
            raise reason

    def ask() -> None:
        def run(change: Change) -> None:
            change.add("asked", {"arms": [0]})
            cut_off_everybody(database)

        carry_out(test._ledger, Operation(run))

    for reason in (InputError("no"), KeyboardInterrupt()):
        with pytest.raises(type(reason)):
            refuse(reason)
    with pytest.raises(StorageError, match="terminating connection"):
        ask()
    assert len(test.history()) == 3
    (assignment,) = test.ask()
    test.tell(assignment, {"value": 2.0})
    assert test.replay().verdict.pulls == 2
