"""PostgreSQL as people run it: other defaults, a pooler between, locks that are not given back."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from tests.live.rounds import facts, measure, new, run

from mobai import Experiment, StorageError
from mobai.store import sql
from mobai.store.sql import SqlJournal


def execute(database: str, *statements: str) -> None:
    engine = sa.create_engine(
        database.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def name_of(database: str) -> str:
    return str(sa.make_url(database).database)


def together(storage: str, workers: int, rounds: int) -> list[BaseException]:
    """Let threads ask and tell, each with the experiment loaded for itself; return what went wrong."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            run(Experiment.load(storage, "test"), rounds)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_whatever_the_default_isolation(database: str, level: str) -> None:
    new(database)
    execute(database, f"ALTER DATABASE {name_of(database)} SET default_transaction_isolation = '{level}'")
    assert together(database, 4, 15) == []
    test = Experiment.load(database, "test")
    assert test.status().verdict.pulls == 60
    assert test.verify().intact


def test_behind_pgbouncer_in_transaction_mode(pgbouncer: str, database: str) -> None:
    """Connections to the server change from transaction to transaction; there are fewer of them than workers."""
    storage = f"{pgbouncer}/{name_of(database)}"
    new(storage)
    assert together(storage, 6, 15) == []
    test = Experiment.load(storage, "test")
    assert test.status().verdict.pulls == 90
    assert facts(Experiment.load(database, "test")) == facts(test)


@pytest.mark.parametrize(("option", "found"), [("", "on"), ("?options=-c%20synchronous_commit%3Doff", "off")])
def test_commits_are_durable_unless_told_otherwise(database: str, option: str, found: str) -> None:
    new(database)
    execute(database, f"ALTER DATABASE {name_of(database)} SET synchronous_commit = off")
    journal = SqlJournal(database + option)
    with journal.lock(journal.find("test")) as log:
        driver = log._driver  # type: ignore[attr-defined]
        assert driver.execute("SHOW synchronous_commit").fetchone() == (found,)
    with journal._database.driver("DEFERRED") as driver:
        assert driver.execute("SHOW synchronous_commit").fetchone() == ("off",)


def test_a_lock_that_is_not_given_back(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = new(database)
    run(test, 2)
    monkeypatch.setattr(sql, "_PATIENT", sql._PATIENT.replace("60s", "1s"))
    waiting = Experiment.load(SqlJournal(database), "test")
    locked = test._ledger.journal.lock(test._ledger.handle)
    with locked, pytest.raises(StorageError, match="was locked by somebody else for 60 seconds"):
        waiting.ask()
    (assignment,) = waiting.ask()
    waiting.tell(assignment, measure(*assignment))
