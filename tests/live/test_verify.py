"""Verifying a storage: what is as it was written, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.live.rounds import new, run
from tests.live.sqlite_files import change, url_of

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
