from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import mobai
from mobai import GLR, Experiment, InputError, Problem, StorageError
from mobai.live import ledger as module
from mobai.live import snapshots
from mobai.live.journal import Event, Handle, Journal, MemoryJournal, Snapshot
from mobai.live.state import State
from mobai.rules.stopping.roster import Roster

ARMS, OBJECTIVES = ["A", "B", "C"], ["click:bernoulli", "latency:min:unknown-variance"]
CHANCES, TIMES = {"A": 0.2, "B": 0.6, "C": 0.4}, {"A": 80.0, "B": 90.0, "C": 60.0}


def measure(number: int, arm: str) -> dict[str, float]:
    """What a pull brings: a function of its number and arm, so that any order of answers gives the same rewards."""
    rng = np.random.default_rng([number, ord(arm[0])])
    return {"click": float(rng.random() < CHANCES.get(arm, 0.3)), "latency": float(rng.normal(TIMES.get(arm, 85), 10))}


def new(storage: Any = None, **options: Any) -> Experiment:
    return Experiment.create(MemoryJournal() if storage is None else storage, "test", ARMS, OBJECTIVES, **options)


def run(test: Experiment, rounds: int) -> None:
    for _ in range(rounds):
        (assignment,) = test.ask()
        test.tell(assignment, measure(*assignment))


def facts(test: Experiment) -> str:
    """Everything that can be said about an experiment, to the last bit."""
    status = test.status()
    tables = (status.intervals.lower, status.intervals.upper, status.means, status.verdict.evidence)
    counts = (status.asked, status.answered, status.pulls, status.active)
    return json.dumps(
        [[np.asarray(table).tobytes().hex() for table in (*tables, *counts)], status.verdict.decisions, status.past]
    )


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


def test_replay_finds_a_forged_choice() -> None:
    journal = MemoryJournal()
    test = new(journal)
    run(test, 30)
    events = journal._events["test"]
    place = next(n for n, event in enumerate(events) if n > 20 and event.kind == "asked")
    events[place] = events[place]._replace(body={"arms": [(events[place].body["arms"][0] + 1) % 3]})
    with pytest.raises(StorageError, match=r"was arm . in the journal and is arm . now"):
        test.replay()


def test_telling_twice() -> None:
    test = new()
    one, two = test.ask(2)
    test.tell(one, {"click": 1, "latency": 80.0})
    before = len(test.history())
    test.tell(one, {"click": 1, "latency": 80.0})
    test.tell(one.id, {"click": 1})
    assert len(test.history()) == before
    with pytest.raises(InputError, match=r"assignment 1: 'click' was 1\.0 before, and is 0\.0 now"):
        test.tell(one, {"click": 0})
    for number in (3, 0, -1, 2.5, "1", True):
        with pytest.raises(InputError, match="assignment: there is none with the id"):
            test.tell(number, {"click": 1})  # type: ignore[arg-type]
    for nothing in ({}, {"click": None}, {"click": math.nan}):
        with pytest.raises(InputError, match="metrics: none was measured"):
            test.tell(two, nothing)
    with pytest.raises(InputError, match="assignment 2 is for the arm 'B' here, not 'Y'"):
        test.tell(mobai.Assignment(2, "Y"), {"click": 1})
    assert test.status().pulls.sum() == 2
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
    assert whole.status().pulls.tolist() == parts.status().pulls.tolist()
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
    with pytest.raises(InputError, match=r"rewards: 'click' is bernoulli, which 2\.0 is not"):
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
    with pytest.raises(InputError, match="ask must be a whole number, 0 or more, not -1"):
        one.tell_all([], ask=-1)


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
    test.tell(two, {"click": 1})
    with pytest.raises(InputError, match="assignment 2 has been answered and cannot be dropped"):
        test.drop(two)


def test_assignments_expire_and_may_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert test.status().expired == 1
    assert (test.status().answered <= test.status().asked).all()
    now[0] += 1000
    test.ask()
    assert test.status().expired == 3
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


@pytest.mark.parametrize("rule", ["top-two", "mo-bai"])
def test_snapshots_change_nothing(make_journal: Callable[[], Journal], rule: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 10)
    test = new(make_journal(), rule=rule)
    run(test, 20)
    test.add_arm("D")
    run(test, 20)
    test.retire_arm("A")
    run(test, 10)
    kept = make_journal().snapshot(make_journal().find("test"))
    assert kept is not None
    assert kept.seq > 50
    restored = snapshots.restore(kept)
    assert restored is not None
    again = Experiment.load(make_journal(), "test")
    assert facts(again) == facts(test)
    run(again, 5)
    run(test, 1)
    events = test.history()
    state = State(events[0])
    state.apply_all(events[1:])
    assert facts(Experiment(make_journal(), make_journal().find("test"), state)) == facts(test)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04"])
def test_a_damaged_snapshot_is_ignored(data: bytes) -> None:
    journal = MemoryJournal()
    test = new(journal)
    run(test, 10)
    journal.save_snapshot(journal.find("test"), Snapshot(5, data))
    assert facts(Experiment.load(journal, "test")) == facts(test)
    kept = snapshots.take(State(test.history()[0]))
    assert snapshots.restore(kept) is not None


def test_a_failed_write_leaves_no_trace() -> None:
    class Failing(MemoryJournal):
        fail = False

        def lock(self, handle: Handle) -> Any:
            inner = super().lock(handle)
            outer = self

            class Once:
                def __enter__(self) -> Any:
                    return inner.__enter__()

                def __exit__(self, *error: Any) -> Any:
                    if outer.fail and error[0] is None:
                        inner.__exit__(OSError, OSError("full"), None)
                        raise OSError("full")
                    return inner.__exit__(*error)

            return Once()

    journal = Failing()
    test = new(journal, rule="mo-bai")
    run(test, 10)
    before = facts(test)
    journal.fail = True
    with pytest.raises(OSError, match="full"):
        test.ask(3)
    journal.fail = False
    assert facts(test) == before
    run(test, 3)
    assert str(test.replay().verdict) == str(test.verdict())


def test_arms_come_and_go() -> None:
    test = new(delta=0.2)
    while not test.verdict().stopped:
        run(test, 1)
    assert test.verdict().answers == ("B", "C")
    test.add_arm("D")
    assert not test.verdict().stopped
    assert [name for name, _, _ in test.status().past] == ["click", "latency"]
    assert test.ask()[0].arm == "D"
    for _ in range(600):
        run(test, 1)
        if test.verdict().stopped:
            break
    assert test.verdict().answers == ("B", "C")
    test.retire_arm("A")
    assert test.verdict().stopped, "a loser that leaves changes nothing"
    test.retire_arm("B")
    assert test.verdict().decisions[0] is None
    assert test.verdict().answers[0] != "B"
    assert test.verdict().decisions[1] is not None
    assert {assignment.arm for assignment in test.ask(20)} <= {"C", "D"}
    for arm, message in (("A", "arm must be one of C, D, not 'A'"), ("C", "two arms are left"), ("X", "one of C, D")):
        with pytest.raises(InputError, match=message):
            test.retire_arm(arm)
    with pytest.raises(InputError, match="arm: there is an arm 'D' already"):
        test.add_arm("D")
    with pytest.raises(InputError, match="arm: the name must be"):
        test.add_arm(" ")
    assert str(test.replay().verdict) == str(test.verdict())
    with pytest.raises(InputError, match="reserve=0, so no arm can be added"):
        new(reserve=0).add_arm("D")


def test_a_newcomer_is_not_asked_again_and_again() -> None:
    test = new()
    run(test, 60)
    test.add_arm("D")
    arms = [assignment.arm for assignment in test.ask(40)]
    assert arms[0] == "D"
    assert 10 <= arms.count("D") <= 12


def test_a_refused_report_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    test = new()
    run(test, 5)
    state = test._ledger._state
    with pytest.raises(InputError):
        test.tell(99, {"click": 1})
    assert test._ledger._state is state
    assert str(test.replay().verdict) == str(test.verdict())


def test_a_snapshot_that_cannot_be_saved_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = MemoryJournal()

    def fail(name: str, snapshot: Snapshot) -> None:
        raise StorageError("full")

    monkeypatch.setattr(journal, "save_snapshot", fail)
    monkeypatch.setattr(module, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 3)
    test = new(journal)
    run(test, 10)
    assert test.verdict().pulls == 10


def test_noise_of_a_new_arm() -> None:
    journal = MemoryJournal()
    same = Experiment.create(journal, "same", ["A", "B"], ["x", "click:bernoulli"], sd=[2.0, math.nan])
    same.add_arm("C")
    assert same.problem.sd[2, 0] == 2.0
    differ = Experiment.create(journal, "differ", ["A", "B"], ["x"], sd=[[1.0], [2.0]])
    with pytest.raises(InputError, match="sd must be given for the new arm"):
        differ.add_arm("C")
    differ.add_arm("C", sd=3.0)
    assert Experiment.load(journal, "differ").problem.sd[:, 0].tolist() == [1, 2, 3]


def adversary(change: str, number: int, keep: bool = False) -> tuple[bool, bool]:
    """One run with a user who waits for an unlucky moment; whether it decided, and whether for a wrong arm.

    With ``keep``, what was decided before an arm was added is believed ever after: the control.
    """
    rng = np.random.default_rng([9, number])
    means = {"A": 0.0, "B": 1.5, "C": 3.0, "D": 3.0}
    arms = ["A", "B", "C"] if change == "retires the leader" else ["A", "B"]
    test = Experiment.create(MemoryJournal(), "x", arms, ["value"], delta=0.3, rule="uniform", seed=number)
    changed, old = False, None
    for _ in range(250):
        (assignment,) = test.ask()
        test.tell(assignment, {"value": rng.normal(means[assignment.arm])})
        verdict = test.verdict()
        answer = old if keep and old is not None else verdict.decisions[0]
        if answer is not None and changed:
            active = [arm for arm, there in zip(test.problem.arms, test.status().active, strict=True) if there]
            return True, means[test.problem.arms[answer.arm]] < max(means[arm] for arm in active)
        if not changed and verdict.evidence[0] > (0.8 if change == "retires the leader" else verdict.threshold[0]):
            changed, old = True, verdict.decisions[0]
            if change == "adds a better one":
                test.add_arm("D")
            else:
                test.retire_arm(test.problem.arms[verdict.leaders[0]])
    return False, False


@pytest.mark.parametrize("change", ["adds a better one", "retires the leader"])
def test_arms_that_come_and_go_keep_the_guarantee(change: str) -> None:
    runs = [adversary(change, number) for number in range(60)]
    decided, wrong = (sum(column) for column in zip(*runs, strict=True))
    assert decided > 30, "a simulation in which little is decided shows little"
    assert binomtest(wrong, len(runs)).proportion_ci(0.999).low <= 0.3


def test_decisions_kept_when_an_arm_is_added_would_be_wrong() -> None:
    runs = [adversary("adds a better one", number, keep=True) for number in range(20)]
    assert binomtest(sum(wrong for _, wrong in runs), len(runs)).proportion_ci(0.999).low > 0.3


def test_what_pairs_pay_sums_up_to_delta() -> None:
    """The union bound of docs/guarantee.md: initial pairs, all pairs of the start, and a thousand arms added later."""
    initial, objectives, reserve, delta = 5, 3, 0.1, 0.05
    arms = 1000 + initial
    roster = Roster(initial, np.ones(arms, np.bool_), reserve)
    level = GLR(reserve=reserve).level(Problem(initial, objectives), -math.log(delta))
    spent = objectives * (initial - 1) * math.exp(-level)
    assert spent == pytest.approx((1 - reserve) * delta)
    spent += objectives * initial * (initial - 1) / 2 * math.exp(-level - roster.all_pairs)
    assert spent == pytest.approx((1 - reserve / 2) * delta)
    later = sum(objectives * j * math.exp(-level - roster.surcharges[j]) for j in range(initial, arms))
    assert 0.99 * reserve / 2 * delta < later <= reserve / 2 * delta


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 2}, "delta must be a number between 0 and 1"),
        ({"rule": "best"}, "rule must be one of"),
        ({"rule": "successive-elimination:delta=0.1"}, "rule: successive-elimination stops by itself"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"expire_after": 0}, "expire_after must be a positive number of seconds"),
        ({"reserve": 0.9}, "reserve must be a number from 1e-100 to 0.5, or 0"),
        ({"sd": [1.0]}, "sd must be one number"),
        ({"rule": None}, "rule must be a name"),
        ({"expire_after": 10**400}, "expire_after must be"),
    ],
)
def test_bad_settings(options: dict[str, Any], message: str) -> None:
    journal = MemoryJournal()
    with pytest.raises(InputError, match=message):
        new(journal, **options)
    assert journal.names() == []


def test_bad_calls() -> None:
    test = new()
    for n in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="n must be a whole number, 1 or more"):
            test.ask(n)  # type: ignore[arg-type]
    (one,) = test.ask()
    with pytest.raises(InputError, match="metrics must be a mapping"):
        test.tell(one, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'clicks' is no objective"):
        test.tell(one, {"clicks": 1})
    with pytest.raises(InputError, match="reports must be pairs"):
        test.tell_all(None)  # type: ignore[arg-type]
    bad: list[Any] = ["abc", [1, 2, 3], {}]
    for sd in bad:
        with pytest.raises(InputError, match="sd must be"):
            test.add_arm("D", sd=sd)
    with pytest.raises(InputError, match="'id' cannot be the name of a metric"):
        Experiment.create(MemoryJournal(), "x", ARMS, ["id"])
    with pytest.raises(InputError, match="name must be a non-empty string"):
        Experiment.create(MemoryJournal(), "", ARMS, OBJECTIVES)
    assert len(test.history()) == 2


def test_names_and_deletion(tmp_path: Path) -> None:
    path = tmp_path / "ads.db"
    new(path)
    with pytest.raises(InputError, match="name: there is an experiment 'test' already"):
        new(path)
    assert mobai.experiment_names(f"sqlite:///{path}") == ["test"]
    with pytest.raises(InputError, match="there is no experiment 'tset'; there are 'test'"):
        Experiment.load(path, "tset")
    mobai.delete(path, "test")
    assert mobai.experiment_names(path) == []
    assert Experiment.create("memory:", "here", ARMS, OBJECTIVES).name in mobai.experiment_names("memory:")
    mobai.delete("memory:", "here")


def test_a_journal_that_is_not_one() -> None:
    with pytest.raises(StorageError, match="begins with 'asked'"):
        State(Event(1, "asked", 0.0, {}))
    test = new()
    state = State(test.history()[0])
    with pytest.raises(StorageError, match="event 2 is 'dreamt', which this mobai does not know"):
        state.apply(Event(2, "dreamt", 0.0, {}))
    with pytest.raises(StorageError, match="event 7 cannot follow event 1"):
        state.apply(Event(7, "closed", 0.0, {}))


@pytest.mark.parametrize("reports", [[5], [(1,)], [(1, {}, 3)], {1: {"click": 1}}, "ab", [None]])
def test_reports_are_pairs(reports: Any) -> None:
    test = new()
    test.ask()
    with pytest.raises(InputError, match=r"reports must be pairs|there is none with the id"):
        test.tell_all(reports)
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


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("asked", {"arms": [-1]}),
        ("asked", {"arms": [True]}),
        ("asked", {"arms": [99]}),
        ("asked", {"arms": [None]}),
        ("asked", {"arms": [0, None]}),
        ("asked", {"arms": 1}),
        ("asked", {}),
        ("told", {"reports": [[99, {"click": 1}]]}),
        ("told", {"reports": [[3, {"nothing": 1}]]}),
        ("told", {"reports": [[3, {}]]}),
        ("told", {"reports": [[3, None]]}),
        ("told", {"reports": [[3, [1.0, 2.0]]]}),
        ("told", {"reports": [[3]]}),
        ("told", {"reports": [[1, {"click": 1.0}]]}),
        ("told", {"reports": [[2, {"click": 1.0}]]}),
        ("dropped", {"ids": [1]}),
        ("dropped", {"ids": [0]}),
        ("expired", {"ids": [1]}),
        ("expired", {"ids": [2]}),
        ("arm_added", {"arm": "A", "sd": [None, None]}),
        ("arm_retired", {"arm": "nobody"}),
        ("exploded", {}),
    ],
)
def test_damaged_events_are_not_taken_in(kind: str, body: dict[str, Any]) -> None:
    """Assignment 1 is answered, 2 is dropped, 3 is pending."""
    journal = MemoryJournal()
    test = new(journal)
    test.ask(3)
    test.tell(1, {"click": 1, "latency": 80.0})
    test.drop(2)
    handle = journal.find("test")
    with journal.lock(handle) as log:
        log.append(Event(5, kind, 0.0, body))
    for use in (test.status, test.ask, lambda: Experiment.load(journal, "test")):
        with pytest.raises(StorageError, match=r"event 5 .*(is damaged|does not know)"):
            use()
    assert len(journal.read(handle)) == 5
