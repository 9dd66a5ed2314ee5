"""Verifying a storage: what is as it was written, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.live.rounds import new, run
from tests.live.sqlite_files import change, url_of

from mobai import InputError
from mobai.live.journal import Journal
from mobai.live.verify import verify


def test_verify(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    run(test, 30)
    found = test.verify()
    assert found.intact
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
    for name, bad in (("test", "x"), ("test", head[:10]), (None, head)):
        with pytest.raises(InputError, match="head must be the hash of an event, 64 digits from 0 to f, of one"):
            verify(journal, name, head=bad)
