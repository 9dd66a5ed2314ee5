"""Verifying a storage: what is as it was written, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.live.rounds import new, run
from tests.live.sqlite_files import change, url_of

from mobai import InputError, StorageError
from mobai.live.verify import verify
from mobai.service.tokens import create_token
from mobai.store.journal import Journal
from mobai.store.sql import SqlJournal


def test_verify(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    run(test, 30)
    found = test.verify()
    assert found.intact
    assert found.choices is not None
    assert found.choices.holds
    assert (found.events, found.head) == (test.status().events, test.status().head)
    assert str(found).startswith(f"test: intact, {found.events:,} events, head {found.head}")


def test_verify_says_what_is_wrong(path: Path) -> None:
    test = new(url_of(path))
    run(test, 6)
    test._ledger.journal.close()
    change(path, "UPDATE mobai_events SET body = replace(body, 'click', 'clack') WHERE seq = 3")
    (found,) = verify(path)
    assert not found.intact
    assert found.events == 2
    assert "event 3 is damaged" in str(found)


def test_a_head_that_was_written_down(make_journal: Callable[[], Journal]) -> None:
    """Found as long as everything up to it is what it was, however the experiment went on."""
    journal = make_journal()
    test = new(journal)
    run(test, 5)
    head, events = test.status().head, len(test.history())
    run(test, 5)
    (found,) = verify(journal, "test", head=head)
    assert found.intact
    assert ("head", True, f"that of event {events:,}, up to which everything is what it was") in found.findings
    (other,) = verify(journal, "test", head="0" * 64)
    assert not other.intact
    assert ("head", False, "no event has the hash that was written down") in other.findings
    for bad in ("x", head[:10]):
        with pytest.raises(InputError, match="head must be the hash of an event, 64 digits from 0 to f"):
            verify(journal, "test", head=bad)
    with pytest.raises(InputError, match="head: name the experiment"):
        verify(journal, head=head)


def test_it_says_how_far_it_is(make_journal: Callable[[], Journal]) -> None:
    journal, heard = make_journal(), []
    test = new(journal)
    run(test, 600)
    (found,) = verify(journal, progress=lambda *about: heard.append(about))
    assert found.intact
    assert found.choices is None
    assert heard[-1] == ("test", found.events, found.events)
    assert len(heard) > 1


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE mobai_records SET body = replace(body, 'admin', 'tell') WHERE kind = 'token'",
        "UPDATE mobai_records SET key = 'cj' WHERE key = 'ci'",
        "UPDATE mobai_records SET kind = 'tokem' WHERE kind = 'token'",
        "DELETE FROM mobai_records",
        "UPDATE mobai_schema SET records = replace(records, 'token', 'tokem')",
        "UPDATE mobai_schema SET records = '{}'",
        "UPDATE mobai_schema SET records = ''",
        "INSERT INTO mobai_records VALUES ('token', 'me', '{}')",
    ],
)
def test_records_that_are_not_what_was_written(path: Path, harm: str) -> None:
    journal = SqlJournal(url_of(path))
    new(journal)
    create_token(journal, "ci", "admin")
    assert verify(path)[0].intact
    journal.close()
    change(path, harm)
    (found,) = verify(path)
    assert not found.intact
    assert "damaged" in str(found)
    with pytest.raises(StorageError, match="damaged"):
        SqlJournal(url_of(path)).records("token")
