"""Evidence in the order of asking: whatever is late, in whichever order it is told."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mobai import Experiment, InputError
from mobai.live import ledger
from mobai.store.journal import MemoryJournal


def new(*metrics: str, **options: Any) -> Experiment:
    objectives = list(metrics) or ["c:bernoulli"]
    return Experiment.create(MemoryJournal(), "x", ["A", "B", "C"], objectives, rule="uniform", **options)


@pytest.mark.parametrize("order", range(4))
def test_the_order_of_telling_changes_nothing(order: int) -> None:
    def told(seed: int) -> tuple[Any, ...]:
        test, luck = new("c:bernoulli", "s:bounded=0..1", delta=1e-9), random.Random(seed)
        values = random.Random(3)
        asked = [one for _ in range(60) for one in test.ask()]
        parts = [(one, {name: round(values.random())}) for one in asked for name in ("c", "s")]
        luck.shuffle(parts)
        for one, metrics in parts:
            test.tell(one, metrics)
        status = test.status()
        return status.verdict.evidence.tobytes(), status.means.tobytes(), status.waiting

    assert told(0) == told(order + 1)


def test_what_waits_is_told() -> None:
    test = new("c:bernoulli", "s:bernoulli")
    one, *others = test.ask(30)
    test.tell_all([(other, {"c": 1, "s": 0}) for other in others])
    assert [held[:4] for held in test.status().waiting] == [("c", 29, 1, "A"), ("s", 29, 1, "A")]
    assert test.status().rewards.sum() == 0
    assert test.verdict().pulls == 29
    assert "29 results of c wait for assignment 1 (A, asked 0 seconds ago): report it, or drop it" in str(test.status())
    test.tell(one, {"c": 1})
    assert [held[:4] for held in test.status().waiting] == [("s", 29, 1, "A")]
    assert "and reported without it): report it, or null if it will not come" in str(test.status())
    test.tell(one, {"s": None})
    assert test.status().waiting == ()
    assert test.status().rewards.sum(axis=0).tolist() == [30, 29]


def test_a_retired_arm_holds_nobody_up_in_any_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told after all, it counts in none: neither in the one that remembers it, nor in one that was loaded since."""
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 20)
    test = new(delta=1e-9)
    journal = test._ledger.journal
    asked = test.ask(3)
    for one in asked[:2]:
        test.tell(one, {"c": 1})
    test.retire_arm("C")
    for n in range(60):
        test.tell(test.ask()[0], {"c": n % 2})
    other = Experiment.load(journal, "x")
    test.tell(asked[2], {"c": 1})
    for n in range(60):
        other.tell(other.ask()[0], {"c": n % 2})
    assert test.verdict().pulls == other.verdict().pulls == 122
    assert test.verify().intact


def test_what_was_told_before_an_arm_was_retired_counts_in_its_order() -> None:
    def rewards_of_the_retired(late: bool) -> int:
        test = new(delta=1e-9)
        a, *others = test.ask(9)
        for one in others:
            if not (one.arm == "C" and one.id == 9):
                test.tell(one, {"c": 1})
        if not late:
            test.tell(a, {"c": 0})
        test.retire_arm("C")
        if late:
            test.tell(a, {"c": 0})
        return int(test.status().rewards[2, 0])

    assert rewards_of_the_retired(late=False) == rewards_of_the_retired(late=True) == 2


def test_reading_as_told_says_what_was_reported() -> None:
    test = new("c:bernoulli", "s:bernoulli", order="told")
    for one in test.ask(5):
        test.tell(one, {"c": 1})
    assert (test.verdict().pulls, test.status().incomplete, test.status().rewards.sum()) == (5, 5, 0)
    assert "Nothing has been reported yet" not in str(test.status())


def test_only_what_is_called_lost_is_left_out() -> None:
    test = new("c:bernoulli", "t:gaussian=1")
    for reason in ("abandoned", "bored", ""):
        with pytest.raises(InputError, match="reason must be 'lost', or None"):
            test.drop(test.ask()[0], reason=reason)
    asked = test.ask(3)
    test.tell(asked[0], {"c": 1})
    before = len(test.history())
    assert test.drop_older(0) == 5  # not the one of which only a metric without a range is missing
    assert test.drop_older(0) == 0
    assert len(test.history()) == before + 1
    assert test.status().worst == 5
    assert test.drop_older(0, reason="lost") == 6
    assert test.status().waiting == ()


def test_what_was_dropped_expires_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1e9]
    monkeypatch.setattr("time.time", lambda: clock[0])
    test = new("t:gaussian=1", expire_after=60)
    one, two = test.ask(2)
    test.drop(one)
    test.tell(two, {"t": 1.0})
    assert [held[:3] for held in test.status().waiting] == [("t", 1, 1)]
    clock[0] += 61
    assert test.status().waiting == ()
    assert (test.status().dropped, test.status().rewards.sum()) == (1, 1)
    assert test.verify().intact
