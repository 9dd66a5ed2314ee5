"""Live experiments on items and in rounds: handed out, late, lost, interrupted, looked at."""

from __future__ import annotations

import math
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobai import Assignment, ConflictError, Experiment, InputError, PlacedAssignment
from mobai.engine.paired import PairedEngine
from mobai.live import snapshots
from mobai.live.codec import status_json, status_of
from mobai.store.journal import MemoryJournal

ARMS = ["a", "b", "c"]
METRICS = ["score:bounded=0..1", "seconds:min:bounded=0..60"]
GAPS = np.array([0.0, 0.05, -0.1])
RNG = np.random.default_rng(11)
LEVELS = RNG.random((400, 1)) * 0.6 + 0.2
SCORES = np.clip(LEVELS + GAPS + RNG.normal(0, 0.05, (400, 3)), 0, 1)
SECONDS = 3 + 20 * LEVELS + np.array([0, 2.0, 4.0]) + RNG.normal(0, 0.5, (400, 3))


def new(journal: Any = None, **how: Any) -> Experiment:
    how = {"items": 400, **how}
    return Experiment.create(MemoryJournal() if journal is None else journal, "x", ARMS, METRICS, **how)


def measured(one: Any, item: int | None = None) -> dict[str, float]:
    arm, j = ARMS.index(one.arm), one.index % 400 if item is None else item
    return {"score": float(SCORES[j, arm]), "seconds": float(SECONDS[j, arm])}


def go(test: Experiment, most: int = 2000, n: int = 1) -> int:
    """Ask and tell until there is nothing left to do."""
    made = 0
    while made < most:
        given = test.ask(n, if_decided="stop")
        if not given:
            break
        test.tell_all([(one, measured(one)) for one in given])
        made += len(given)
    return made


def test_assignments_say_what_is_measured() -> None:
    test = new(items=[f"q{n}" for n in range(400)])
    (one,) = test.ask()
    assert isinstance(one, PlacedAssignment)
    assert (one.id, one.index) == (1, 0)
    assert str(one.item).startswith("q")
    again = pickle.loads(pickle.dumps(one))
    assert (again, again.index, again.item) == (one, one.index, one.item)
    others = test.ask(2)
    assert {one.arm, *(other.arm for other in others)} == set(ARMS)
    assert {other.item for other in others} == {one.item}
    rows = list(test.iterate_records())
    assert rows[0]["item"] == one.item
    assert rows[0]["index"] == 0


def test_every_item_comes_once_and_in_the_order_of_the_seed() -> None:
    def order(seed: int) -> list[Any]:
        test = new(items=50, seed=seed)
        found = []
        while given := test.ask(3):
            found += [one.item for one in given[:1]]
            test.tell_all([(one, {"score": 0.5, "seconds": 1.0}) for one in given])
        return found

    first = order(0)
    assert sorted(first) == list(range(50))
    assert order(0) == first != order(1)


@pytest.mark.parametrize("how", [{"items": 400}, {"items": "stream"}, {"rounds": True, "items": None}])
def test_decided_long_before_everything_is_measured(how: dict[str, Any]) -> None:
    test = new(**how)
    made = go(test, 4000)
    status = test.status()
    assert status.verdict.answers == ("b", "a")
    assert status.state == "decided"
    assert made < 1200 * 2
    assert test.ask(if_decided="stop") == []
    assert test.verify().intact
    assert "You may stop" in str(status)
    by_arm = {(one.objective, one.arm): one for one in status.standings}
    assert by_arm["score", "c"].out_by in ("a", "b")
    assert by_arm["score", "b"].out_at is None
    assert 0 < by_arm["score", "c"].out_at < by_arm["score", "a"].out_at  # type: ignore[operator]
    for one in status.standings:
        if one.lower is not None and one.upper is not None and one.difference is not None:
            assert one.lower <= one.difference <= one.upper


def test_with_certainty_nothing_else_is_needed() -> None:
    """At a delta that no evidence can reach, a finite benchmark is measured to its end, and exactly right."""
    test = new(delta=1e-300)
    made = go(test, 2000)
    assert made <= 1200
    status = test.status()
    assert status.verdict.answers == tuple(ARMS[i] for i in (SCORES.sum(axis=0).argmax(), SECONDS.sum(axis=0).argmin()))
    assert status.verdict.stopped


def test_results_in_any_order_decide_the_same() -> None:
    """A pool of workers that tell what they have whenever it is ready, slow ones last."""
    found = []
    for seed in range(3):
        rng, test = np.random.default_rng(seed), new(ahead=40)
        under_way: list[Any] = []
        while True:
            under_way += test.ask(40 - len(under_way), if_decided="stop")
            if not under_way:
                break
            one = under_way.pop(int(rng.integers(len(under_way))))
            test.tell(one, {"seconds": measured(one)["seconds"]})
            test.tell(one, {"score": measured(one)["score"]})
        status = test.status()
        found.append((status.verdict.answers, [one.out_by is None for one in status.standings]))
    assert all(one == found[0] for one in found)


def test_arms_wait_for_each_other() -> None:
    test = new(ahead=3)
    given = test.ask(100)
    assert len(given) == 9
    assert test.ask(5) == []
    test.tell(given[0], measured(given[0]))
    assert test.ask() == []  # something of the first item is still to come
    test.tell_all([(one, measured(one)) for one in given[1:3]])
    assert len(test.ask(100)) == 3


def test_what_is_lost_goes_out_again_and_what_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    test = new(expire_after=60)
    one, two, three = test.ask(3)
    test.drop(one, reason="lost")
    (again,) = test.ask()
    assert (again.arm, again.index) == (one.arm, 0)
    test.tell(again, measured(again))
    now[0] += 100
    fresh = test.ask(2)
    assert {(other.arm, other.index) for other in fresh} == {(two.arm, 0), (three.arm, 0)}
    test.tell_all([(other, measured(other)) for other in fresh])
    test.tell(two, measured(two))  # too late, and kept aside
    assert test.status().late == 2
    go(test, 60, 3)
    assert {one.measured for one in test.status().standings} == {21}
    assert test.verify().intact


def test_what_is_dropped_by_hand_counts_as_the_worst() -> None:
    test = new(items=30)
    given = test.ask(3)
    test.drop(given[0])
    test.tell_all([(one, measured(one)) for one in given[1:]])
    with test._ledger.look() as state:
        assert isinstance(state.engine, PairedEngine)
        seen, arm = state.engine.comparison, ARMS.index(given[0].arm)
        assert seen.at(0, arm).tolist() == [-math.inf, -math.inf]
        assert seen.until[arm].tolist() == [1, 1]
    assert test.status().worst == 2


def test_rounds_are_complete_and_their_order_is_random() -> None:
    test = new(items=None, rounds=True)
    orders = []
    for j in range(200):
        given = test.ask(3)
        assert {one.index for one in given} == {j}
        assert {one.arm for one in given} == set(ARMS)
        orders.append("".join(one.arm for one in given))
        test.tell_all([(one, {"score": 0.5, "seconds": 1.0}) for one in given])
    counts = [orders.count(one) for one in set(orders)]
    assert len(counts) == 6
    assert max(counts) < 60  # 33 expected, sd 5.3


def test_a_round_is_finished_with_the_arms_it_began_with() -> None:
    test = new(items=None, rounds=True)
    for _ in range(400):
        given = test.ask(2)
        if len({one.index for one in given}) > 1:
            break
        test.tell_all([(one, measured(one)) for one in given])
    rounds: dict[int, set[str]] = {}
    for row in test.iterate_records():
        rounds.setdefault(row["index"], set()).add(row["arm"])
    sizes = [len(arms) for _, arms in sorted(rounds.items())][:-1]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    "how",
    [
        {"items": 400},
        {"items": "stream"},
        {"items": 400, "guardrails": ["seconds:at-most=15"]},
        {"items": "stream", "guardrails": ["score:within=0.12:of=b"], "baseline": "b"},
        {"rounds": True, "items": None},
    ],
)
def test_snapshots_and_journals_say_the_same(how: dict[str, Any]) -> None:
    journal = MemoryJournal()
    test = new(journal, **how)
    go(test, 130, 5)
    test.drop(test.ask()[0], reason="lost")
    with test._ledger.look() as state:
        restored = snapshots.restore(snapshots.take(state))
        assert restored is not None
        other = Experiment.load(journal, "x")
        with other._ledger.look() as folded:
            for one in (restored, folded):
                assert one.verdict().decisions == state.verdict().decisions
                assert np.array_equal(one.verdict().evidence, state.verdict().evidence)
                assert one.engine.standings() == state.engine.standings()
                assert one.engine.limits() == state.engine.limits()
                assert one.engine.room() == state.engine.room()
    assert test.verify().intact


def test_the_best_that_keeps_its_limits_is_found() -> None:
    test = new(guardrails=["seconds:at-most=13.7:eps=0.5"], baseline="a")
    go(test)
    status = test.status()
    assert status.verdict.answers == ("a", "a")  # b has the better score, and takes longer than it may
    assert status.barred.tolist() == [False, True, True]
    assert [status.verdict.limit_status(0, arm) for arm in range(3)] == ["kept", "broken", "broken"]
    assert "breaks a limit" in str(status)
    assert status.intervals.lower[1, 1] >= 13.7
    assert status.differences is not None
    assert status.differences.words(1, 0) == "better"
    found = status_of(status_json(status), test.settings)
    assert found.verdict.limits == status.verdict.limits
    nobody = new(guardrails=["seconds:at-most=3"])
    go(nobody)
    assert nobody.verdict().stopped
    assert nobody.verdict().answers == ("none qualifies", "none qualifies")
    assert nobody.ask(if_decided="stop") == []


def test_a_status_is_read_back_from_what_a_service_sends() -> None:
    test = new(baseline="a")
    go(test, 90)
    status = test.status()
    found = status_of(status_json(status), test.settings)
    assert found.standings == status.standings
    assert found.hardest == status.hardest
    assert [one.objective for one in status.hardest][:5] == ["score"] * 5
    assert status.hardest[0].lost >= status.hardest[1].lost > 0
    assert found.verdict.problem == status.verdict.problem
    assert str(found) == str(status)
    assert status.differences is not None
    assert (status.differences.lower <= status.differences.upper).all()


@pytest.mark.parametrize(
    ("do", "about"),
    [
        (lambda test: test.record("a", {"score": 1.0}), "what nobody asked for is none of 400 items"),
        (lambda test: test.add_arm("d"), "none can be added to 400 items"),
        (lambda test: test.retire_arm("c"), "until they are ruled out"),
        (lambda test: test.ask(unit="u"), "not for 400 items"),
    ],
)
def test_what_is_not_for_items_is_refused_and_changes_nothing(do: Any, about: str) -> None:
    test = new()
    with pytest.raises(InputError, match=about):
        do(test)
    assert len(test.history()) == 1


@pytest.mark.parametrize(
    ("how", "about"),
    [
        ({"items": 0}, "1 to 10,000,000 items"),
        ({"items": True}, "1 to 10,000,000 items"),
        ({"items": 2.5}, "must be how many there are"),
        ({"items": "many"}, "stream"),
        ({"items": []}, "one item at least"),
        ({"items": ["a", "a"]}, "'a' is there twice"),
        ({"items": ["a", 3]}, "must be names"),
        ({"items": 5, "rounds": True}, "one of the two"),
        ({"rounds": "yes"}, "True or False"),
        ({"rule": "uniform"}, "must be race"),
        ({"order": "told"}, "may come in any order"),
        ({"ahead": 0}, "1 or more"),
        ({"guardrails": ["score:at-least=0.1"], "rounds": True, "items": None}, "no mean keeps a limit"),
        ({"guardrails": ["score:at-least=0.1"], "on_broken": "tell"}, "must be bar"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(how: dict[str, Any], about: str) -> None:
    with pytest.raises(InputError, match=about):
        new(**how)


def test_ahead_is_for_items() -> None:
    with pytest.raises(InputError, match="ahead is for items and rounds"):
        Experiment.create("memory:", "no items", ARMS, METRICS, ahead=3)
    with pytest.raises(InputError, match="race is for items"):
        Experiment.create("memory:", "no items", ARMS, METRICS, rule="race")


def test_late_metrics_hold_nobody_up_for_long() -> None:
    test = new(ahead=5)
    given = test.ask(15)
    for one in given:
        test.tell(one, {"score": measured(one)["score"]})
    assert test.ask() == []
    for one in given[:3]:
        test.tell(one, {"seconds": measured(one)["seconds"]})
    assert len(test.ask(10)) == 3
    (first,) = (one for one in test.status().standings if (one.objective, one.arm) == ("score", "a"))
    assert first.measured == 5


def test_many_processes_share_one_race(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'x.db'}"
    tests = [new(storage), *(Experiment.load(storage, "x") for _ in range(3))]
    made, idle = 0, 0
    while idle < 4:
        test = tests[made % 4]
        given = test.ask(2, if_decided="stop")
        idle = 0 if given else idle + 1
        test.tell_all([(one, measured(one)) for one in given])
        made += len(given) or 1
    assert {one.verdict().answers for one in tests} == {("b", "a")}
    assert tests[0].verify().intact
    places = [(row["arm"], row["index"]) for row in tests[0].iterate_records()]
    assert len(set(places)) == len(places)


def test_paused_and_budgets() -> None:
    test = new(max_samples=10)
    assert len(test.ask(20)) == 10
    with pytest.raises(ConflictError, match="max_samples"):
        test.ask()
    other = new()
    other.pause()
    with pytest.raises(ConflictError, match="paused"):
        other.ask()


def test_differences_agree_with_who_is_out_and_with_which_way_is_better() -> None:
    test = Experiment.create(
        MemoryJournal(), "x", ARMS, ["score:bounded=0..1", "seconds:min:wins"], items=400, baseline="c"
    )
    go(test)
    status = test.status()
    leaders = dict(zip(("score", "seconds"), status.verdict.answers, strict=True))
    for one in status.standings:
        if one.arm == leaders[one.objective]:
            assert (one.difference, one.lower, one.upper) == (0.0, 0.0, 0.0)
            continue
        assert one.upper is not None
        assert one.upper <= 0  # with wins a share of these, and more is better, whichever way the metric goes
        assert one.difference is not None
        assert one.difference < 0
    assert status.differences is not None
    assert status.differences.words(0, 1) == "better"
    assert status.differences.lower[0, 1] > 0


def place(one: Assignment) -> int:
    assert one.index is not None
    return one.index


def told(test: Experiment, values: dict[str, float], n: int = 4) -> None:
    for one in test.ask(n):
        test.tell(one, {"s": values[one.arm]})


def test_equal_arms_are_neither_better_nor_worse_than_the_baseline() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b", "c"], ["s:bounded=0..1"], items=4, baseline="a")
    for _ in range(2):
        told(test, {"a": 0.5, "b": 0.5, "c": 0.2}, 6)
    found = test.status().differences
    assert found is not None
    assert found.verdicts[:, 0].tolist() == [0, 0, -1]
    assert (found.lower[1, 0], found.upper[1, 0]) == (0.0, 0.0)
    said = str(test.status())
    assert "a, exactly equal to b on these items" in said
    rows = [line.split() for line in said.splitlines()]
    assert ["b", "equal"] in rows
    assert ["b", "equal", "4", "0", "(exactly)"] in rows
    # The sum of other numbers, equal but for rounding.
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], ["s:min:bounded=0..1"], items=2, baseline="a")
    for one in test.ask(4):
        test.tell(one, {"s": 0.2 if (one.arm == "a") == (place(one) == 0) else 0.4})
    found = test.status().differences
    assert found is not None
    assert found.verdicts.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("metric", "more", "items"), [("1e12", 100.0, 10), ("1e9", 1.0, 10), ("1.1e9", 1e-3, 300), ("1", 1e-9, 1000)]
)
def test_arms_that_differ_a_little_are_not_equal(metric: str, more: float, items: int) -> None:
    """All is known at the end, to the last digits that numbers have."""
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], [f"s:bounded=0..{metric}"], items=items)
    while not test.verdict().stopped:
        for one in test.ask(2):
            test.tell(one, {"s": float(metric) * (place(one) % 7) / 10 + (more if one.arm == "b" else 0.0)})
    assert test.verdict().answers == ("b",)
    (found,) = test.verdict().contention
    assert found.left == ("b",)


def test_who_leads_is_judged_by_what_all_were_measured_on() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], ["s:bounded=0..1"], items=30)
    for one in test.ask(20):
        if place(one) < 3:
            test.tell(one, {"s": 0.10 if one.arm == "a" else 0.15})
        elif one.arm == "a":
            test.tell(one, {"s": 0.9})  # easier items, which b has not been read on
    assert test.verdict().recommended == (1,)
    assert "b leads" in str(test.status())


def test_what_is_said_when_everything_was_handed_out() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], ["s:bounded=0..1"], items=2)
    given = test.ask(4)
    assert "every item was handed out; 4 of them are to be answered" in test.explain().reason
    test.tell(given[0], {"s": 0.5})
    assert test.ask() == []
    assert "3 of them are to be answered" in test.explain().reason
    wins = Experiment.create(MemoryJournal(), "x", ["a", "b"], ["s:wins"], items=2)
    for one in wins.ask(4):
        wins.tell(one, {"s": 1.0})
    with pytest.raises(ConflictError, match="no arm beats every other one in s"):
        wins.ask()


def test_nothing_is_exact_in_a_stream() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], ["s:unknown-variance"], items="stream", rare=None)
    for _ in range(30):
        for one in test.ask(2):
            test.tell(one, {"s": place(one) + (one.arm == "a")})
    assert "exactly" not in str(test.status())
    assert not test.verdict().certified


def test_arms_that_fail_do_not_cost_the_others_their_certificate() -> None:
    """What is dropped counts as the worst, whatever the reason."""
    test = Experiment.create(MemoryJournal(), "x", ["a", "b", "c"], ["s:bounded=0..1"], items=200)
    while not test.verdict().stopped:
        for one in test.ask(3):
            if one.arm == "c" and place(one) < 30:
                test.drop(one)
            else:
                test.tell(one, {"s": {"a": 0.8, "b": 0.5, "c": 0.5}[one.arm] + 0.01 * (place(one) % 7)})
    assert test.verdict().certified
    assert test.verdict().answers == ("a",)


def test_intervals_agree_with_who_beats_the_leader() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b", "c"], ["s:wins"], items=60)
    rows = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    while test.status().ending is None:
        for one in test.ask(3):
            test.tell(one, {"s": rows[place(one) % 3]["abc".index(one.arm)]})
    status = test.status()
    leader = next(one.arm for one in status.standings if one.difference == 0)
    beaten_by = next((each.out_by for each in status.standings if each.arm == leader), None)
    ahead = [each.lower for each in status.standings if each.arm == beaten_by]
    assert all(lower is None or lower >= 0 for lower in ahead)
