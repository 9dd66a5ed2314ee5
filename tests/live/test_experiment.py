from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.live.rounds import ARMS, OBJECTIVES, facts, measure, new, run

from mobai import Experiment, InputError, StorageError
from mobai.store.journal import Journal, MemoryJournal


def test_a_whole_experiment(make_journal: Callable[[], Journal]) -> None:
    _run_to_the_end(make_journal, "top-two")


@pytest.mark.parametrize("rule", ["mo-bai", "frank-wolfe", "track-and-stop", "d-tracking", "uniform"])
def test_a_whole_experiment_with(rule: str) -> None:
    journal = MemoryJournal()
    _run_to_the_end(lambda: journal, rule)


def _run_to_the_end(make_journal: Callable[[], Journal], rule: str) -> None:
    test = new(make_journal(), rule=rule, delta=0.2)
    for _ in range(400):
        run(test, 1)
        if test.verdict().stopped:
            break
    assert test.verdict().answers == ("B", "C")
    test.close()
    with pytest.raises(InputError, match="the experiment is closed"):
        test.ask()
    again = Experiment.load(make_journal(), "test")
    assert facts(again) == facts(test)
    assert str(again.replay().verdict) == str(test.verdict())


def test_pending_assignments_spread_the_next_ones() -> None:
    test = new(rule="uniform")
    assert [assignment.arm for assignment in test.ask(6)] == ["A", "B", "C"] * 2
    test = new()
    run(test, 30)
    arms = [assignment.arm for assignment in test.ask(60)]
    assert len(set(arms)) > 1
    assert test.status().pending == 60


def test_dropping() -> None:
    test = new()
    one, two = test.ask(2)
    test.drop(one)
    test.drop(one)
    assert test.status().asked.tolist() == [0, 1, 0]
    assert (test.status().dropped, test.status().pending) == (1, 1)
    with pytest.raises(InputError, match="assignment 1 was dropped"):
        test.tell(one, {"click": 1})
    test.tell(two, {"click": 1, "latency": 70.0})
    with pytest.raises(InputError, match="assignment 2 has been answered, or its windows are over, and cannot"):
        test.drop(two)
    (three,) = test.ask()
    test.tell(three, {"click": 1})
    with pytest.raises(InputError, match="assignment 3: there is no worst that latency could be"):
        test.drop(three)
    test.drop(three, reason="lost")
    events = len(test.history())
    test.drop(three, reason="lost")
    assert (len(test.history()), test.status().incomplete) == (events, 0)
    assert "assuming that what was lost (1) has nothing to do with any result" in str(test.status())
    # The first one goes on holding latency up, until somebody says that it was lost.
    (held_up,) = test.status().waiting
    assert held_up[:4] == ("latency", 1, 1, "A")
    test.drop(one, reason="lost")
    assert test.status().waiting == ()
    with pytest.raises(InputError, match="reason must be 'lost', or None"):
        test.drop(one, reason="bored")


def test_assignments_expire_and_what_comes_late_is_kept_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    test = new(expire_after=60.0)
    one, two = test.ask(2)
    now[0] += 30
    (three,) = test.ask()
    now[0] += 31
    (four,) = test.ask()
    status = test.status()
    assert (status.expired, status.pending) == (2, 2)
    assert four.arm == "A"
    test.tell(one, {"click": 1})
    test.tell(one, {"click": 1})
    assert (test.status().expired, test.status().late, len(test.history())) == (2, 1, 6)
    assert "came too late to be evidence, and kept aside: 1 result" in str(test.status())
    assert (test.status().answered <= test.status().asked).all()
    test.tell(three, {"click": 1})
    now[0] += 1000
    # What is missing of an assignment that was told in part is left out, too.
    status = test.status()
    assert (status.expired, status.incomplete, status.rewards.sum()) == (3, 0, 1)
    test.tell(three, {"latency": 4.0})
    assert test.status().late == 2
    test.drop(two)
    assert test.status().dropped == 1
    assert three.id == 3
    assert str(test.replay().verdict) == str(test.verdict())


def test_several_openings_see_each_other(make_journal: Callable[[], Journal]) -> None:
    one = new(make_journal(), rule="mo-bai")
    two = Experiment.load(make_journal(), "test")
    for n in range(30):
        asker, teller = (one, two) if n % 2 else (two, one)
        (assignment,) = asker.ask()
        teller.tell(assignment, measure(*assignment))
    assert facts(one) == facts(two)
    assert str(one.replay().verdict) == str(one.verdict())


def test_bad_calls() -> None:
    test = new()
    for n in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="n must be a whole number from 1 to 10,000"):
            test.ask(n)  # type: ignore[arg-type]
    (one,) = test.ask()
    with pytest.raises(InputError, match="metrics must be a mapping"):
        test.tell(one, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="names must be among click, latency, not 'clicks'"):
        test.tell(one, {"clicks": 1})
    with pytest.raises(InputError, match="reports must be pairs"):
        test.tell_all(None)  # type: ignore[arg-type]
    bad: list[Any] = ["abc", [1, 2, 3], {}]
    for sd in bad:
        with pytest.raises(InputError, match="sd must be"):
            test.add_arm("D", sd=sd)
    with pytest.raises(InputError, match="'id' cannot be the name of a metric"):
        Experiment.create(MemoryJournal(), "x", ARMS, ["id:bernoulli"])
    with pytest.raises(InputError, match="name must be a non-empty string"):
        Experiment.create(MemoryJournal(), "", ARMS, OBJECTIVES)
    assert len(test.history()) == 2


def test_threads_take_turns(storage: str) -> None:
    test = new(storage)
    rounds = 60

    def tell(_: int) -> None:
        for _ in range(rounds):
            (assignment,) = test.ask()
            test.tell(assignment, measure(*assignment))

    def look(_: int) -> None:
        for _ in range(rounds):
            status = test.status()
            assert status.verdict.pulls + status.pending == status.asked.sum()

    with ThreadPoolExecutor(4) as threads:
        jobs = [threads.submit(job, n) for job in (tell, look) for n in range(2)]
        for job in jobs:
            job.result()
    assert test.status().verdict.pulls == 2 * rounds
    assert facts(Experiment.load(storage, "test")) == facts(test)
    assert test.replay().verdict.pulls == 2 * rounds


def test_one_created_anew_is_another_experiment(make_journal: Callable[[], Journal]) -> None:
    old = new(make_journal())
    run(old, 5)
    make_journal().delete("test")
    with pytest.raises(InputError, match="no experiment 'test'"):
        old.status()
    fresh = new(make_journal())
    run(fresh, 10)
    for _ in range(2):
        for use in (old.status, old.ask, old.history):
            with pytest.raises(StorageError, match="deleted and created anew"):
                use()
    assert facts(Experiment.load(make_journal(), "test")) == facts(fresh)
