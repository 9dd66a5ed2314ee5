"""Reports: once, twice, in parts, in batches, wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.live.rounds import facts, measure, new, run

import mobai
from mobai import InputError
from mobai.store.journal import Journal


def test_telling_twice() -> None:
    test = new()
    one, two = test.ask(2)
    test.tell(one, {"click": 1, "latency": 80.0})
    before = len(test.history())
    test.tell(one, {"click": 1, "latency": 80.0})
    test.tell(one.id, {"click": 1})
    assert len(test.history()) == before
    with pytest.raises(InputError, match=r"assignment 1: metric 'click' was 1\.0 before, and is 0\.0 now"):
        test.tell(one, {"click": 0})
    for nearly in (80.0 + 1e-12, math.nextafter(80.0, 0.0)):
        with pytest.raises(InputError, match=r"assignment 1: metric 'latency' was 80\.0 before, and is "):
            test.tell(one, {"latency": nearly})
    for number in (3, 0, -1, 2.5, "1", True):
        with pytest.raises(InputError, match="must be an id that was handed out"):
            test.tell(number, {"click": 1})  # type: ignore[arg-type]
    for nothing in ({}, {"click": None}):
        with pytest.raises(InputError, match="metrics must hold at least one number"):
            test.tell(two, nothing)
    with pytest.raises(InputError, match="assignment 2 is for the arm 'B' here, not 'Y'"):
        test.tell(mobai.Assignment(2, "Y"), {"click": 1})
    assert test.status().rewards.sum() == 2
    assert test.status().pending == 1


def test_metrics_one_after_the_other() -> None:
    whole, parts = new(), new()
    for _ in range(20):
        (one,), (two,) = whole.ask(), parts.ask()
        assert one == two
        metrics = measure(*one)
        whole.tell(one, metrics)
        parts.tell(two, {"latency": metrics["latency"]})
        parts.tell(two, {"click": metrics["click"]})
    assert whole.status().rewards.tolist() == parts.status().rewards.tolist()
    assert whole.status().answered.tolist() == parts.status().answered.tolist()
    assert parts.verdict().pulls == 20


def test_batches_are_all_or_nothing(make_journal: Callable[[], Journal]) -> None:
    one, two = new(make_journal()), new()
    assignments = one.ask(40)
    assert assignments == two.ask(40)
    one.tell_all([(assignment, measure(*assignment)) for assignment in assignments])
    for assignment in assignments:
        two.tell(assignment, measure(*assignment))
    assert facts(one) == facts(two)
    more = one.ask(3)
    with pytest.raises(InputError, match=r"metric 'click' must be 0 or 1, not 2\.0"):
        one.tell_all([(more[0], {"click": 1}), (more[1], {"click": 2})])
    assert one.status().pending == 3
    one.tell_all([(more[0], {"click": 1}), (more[0], {"click": 1, "latency": 3})])
    with pytest.raises(InputError, match=r"'click' was 1\.0 before, and is 0\.0 now"):
        one.tell_all([(more[1], {"click": 1}), (more[1], {"click": 0})])
    assert one.status().pending == 2


def test_telling_and_asking_in_one_transaction() -> None:
    one, two = new(), new()
    waiting = one.ask(2)
    assert waiting == two.ask(2)
    for _ in range(15):
        reports = [(assignment, measure(*assignment)) for assignment in waiting]
        two.tell_all(reports)
        waiting = one.tell_all(reports, ask=2)
        assert waiting == two.ask(2)
    assert facts(one) == facts(two)
    with pytest.raises(InputError, match="ask must be a whole number from 0 to 10,000, not -1"):
        one.tell_all([], ask=-1)


def test_a_refused_report_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    test = new()
    run(test, 5)
    state = test._ledger._state
    with pytest.raises(InputError):
        test.tell(99, {"click": 1})
    assert test._ledger._state is state
    assert str(test.replay().verdict) == str(test.verdict())


@pytest.mark.parametrize("reports", [[5], [(1,)], [(1, {}, 3)], {1, 2}, "ab", [None]])
def test_reports_are_pairs(reports: Any) -> None:
    test = new()
    test.ask()
    with pytest.raises(InputError, match=r"reports must be pairs|there is none with the id"):
        test.tell_all(reports)
    assert len(test.history()) == 2


def test_reports_by_assignment() -> None:
    test = new()
    one, two = test.ask(2)
    test.tell_all({one: {"click": 1}, two: {"click": 0}})
    assert test.status().rewards[:, 0].sum() == 2


def test_nan_is_no_reward() -> None:
    test = new()
    (one,) = test.ask()
    with pytest.raises(InputError, match="'click' must be a number, not nan; leave it out if it is missing"):
        test.tell(one, {"click": math.nan, "latency": 3.0})
    assert test.status().pending == 1


def test_numbers_of_numpy() -> None:
    test = new(seed=np.int64(3), max_samples=np.int64(4))
    assert len(test.ask(np.int64(2))) == 2  # type: ignore[arg-type]
    assert len(test.tell_all([], ask=np.int64(1))) == 1  # type: ignore[arg-type]
    assert (test.settings.seed, test.settings.max_samples) == (3, 4)
    assert type(test.history()[0].body["max_samples"]) is int


def test_null_alone_is_no_report() -> None:
    """With a number, or after one, it is."""
    test = new()
    (one,) = test.ask()
    with pytest.raises(InputError, match=r"must hold at least one number \(null may come with it, or later\)"):
        test.tell(one, {"click": None})
    test.tell(one, {"latency": 80.0})
    test.tell(one, {"click": None})
    assert test.status().incomplete == 0


def test_complaints_name_the_report() -> None:
    test = new()
    test.ask(2)
    with pytest.raises(InputError, match=r"assignment 2: metric 'click' must be 0 or 1, not 7.0"):
        test.tell_all([(1, {"click": 1}), (2, {"click": 7})])
    with pytest.raises(InputError, match=r"row 2: metric 'click' must be 0 or 1, not 7.0"):
        test.record_all([("A", {"click": 1}), ("B", {"click": 7})])
    bad: list[Any] = [{"A": 1}, "AB", [("A", {}, 3)]]
    for rows in bad:
        with pytest.raises(InputError, match=r"reports must be pairs|metrics must be a mapping"):
            test.record_all(rows)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'detla'; did you mean 'delta'?"):
        new(detla=0.1)
    assert len(test.history()) == 2


def test_a_long_list_is_one_moment(make_journal: Callable[[], Journal]) -> None:
    """2,400 observations of two tied arms, sorted by value, in three events: looked at once, after the last."""
    journal = make_journal()
    test = mobai.Experiment.create(journal, "log", ["A", "B"], ["x:gaussian=1"])
    values = np.sort(np.random.default_rng(0).normal(size=(1200, 2)), axis=0)
    rows = [(arm, {"x": float(value)}) for arm, column in zip("AB", values.T, strict=True) for value in column]
    test.record_all(rows)
    assert [event.body.get("more", False) for event in test.history()[1:]] == [True, True, False]
    assert test.verdict().decisions == (None,)
    again = mobai.Experiment.load(journal, "log")
    assert again.verdict().evidence.tolist() == test.verdict().evidence.tolist()
    assert again.verdict().decisions == (None,)


def test_partial_answers_in_any_order_are_counted_once() -> None:
    """Metrics one after the other, over calls that overlap: the same counts as told at once."""
    for order in itertools.permutations(range(4)):
        test = new()
        one, two = test.ask(2)
        parts: list[tuple[mobai.Assignment, dict[str, float | None]]] = [
            (one, {"click": 1}),
            (one, {"latency": 80.0}),
            (two, {"click": 0, "latency": 70.0}),
            (one, {"click": 1}),
        ]
        for n in order:
            test.tell(*parts[n])
        status = test.status()
        assert status.rewards.tolist() == [[1, 1], [1, 1], [0, 0]]
        assert (status.answered.tolist(), status.pending) == ([1, 1, 0], 0)
        assert status.means[0, 1] == 80.0
