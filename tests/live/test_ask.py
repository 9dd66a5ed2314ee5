"""Asking once everything is decided."""

from __future__ import annotations

import time

import pytest
from tests.live.rounds import new, run

from mobai import ConflictError, Experiment, InputError
from mobai.store.journal import MemoryJournal


@pytest.fixture(scope="module")
def decided() -> Experiment:
    test = new(delta=0.3)
    while not test.verdict().stopped:
        run(test, 20)
    return test


def test_stop(decided: Experiment) -> None:
    before = len(decided.history())
    assert decided.ask(3, if_decided="stop") == []
    assert len(decided.history()) == before


def test_the_winner(decided: Experiment) -> None:
    answers = decided.verdict().answers
    for objective, answer in zip(("click", "latency"), answers, strict=True):
        assert [one.arm for one in decided.ask(2, if_decided=f"winner={objective}")] == [answer] * 2
    assert decided.replay().verdict.answers == answers


def test_before_it_is_decided_the_rule_chooses() -> None:
    test, plain = new(), new()
    for word in ("stop", "winner=click", "go-on"):
        assert test.ask(4, if_decided=word) == plain.ask(4)


@pytest.mark.parametrize("word", ["winner", "winner=clicks", "halt", "", None])
def test_bad_words(decided: Experiment, word: str) -> None:
    with pytest.raises(InputError, match="if_decided must be one of go-on, stop, winner=click, winner=latency, not"):
        decided.ask(if_decided=word)


def test_not_too_many_at_once() -> None:
    with pytest.raises(InputError, match="n must be a whole number from 1 to 10,000, not 10001"):
        new().ask(10_001)


def test_experiments_and_status_can_be_printed(decided: Experiment) -> None:
    click, latency = decided.verdict().answers
    first, second, *_ = str(decided).splitlines()
    assert first == f"You may stop. Best for click: {click}; best for latency: {latency}."
    assert second.startswith("test: decided, ")
    assert str(decided) == str(decided.status())
    assert "<table>" in decided._repr_html_()


def test_overdue_assignments_are_not_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    test = new(expire_after=60.0)
    test.ask(3)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert (test.status().pending, test.status().expired) == (0, 3)


def test_assignments_that_expired_make_room_for_others() -> None:
    """Also those that nobody has marked yet: they are when somebody asks."""
    test = new(MemoryJournal(), max_samples=2, expire_after=0.2)
    assert len(test.ask(5)) == 2
    with pytest.raises(ConflictError, match="max_samples = 2 is reached, and nothing more is handed out"):
        test.ask()
    time.sleep(0.3)
    assert test.status().ending is None
    assert [one.id for one in test.ask(5)] == [3, 4]
    assert (test.status().expired, test.status().pending) == (2, 2)
