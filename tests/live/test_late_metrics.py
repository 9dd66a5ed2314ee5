"""Metrics of one pull that are told at different times, or never."""

from __future__ import annotations

import numpy as np
import pytest
from tests.live.rounds import facts

from mobai import Experiment, InputError
from mobai.live import ledger
from mobai.store.journal import MemoryJournal

OBJECTIVES = ["click:bernoulli", "signup:bernoulli"]


def new(rule: str = "top-two", **options: object) -> Experiment:
    return Experiment.create(MemoryJournal(), "late", ["A", "B", "C"], OBJECTIVES, rule=rule, **options)  # type: ignore[arg-type]


def both(rng: np.random.Generator, arm: str) -> dict[str, float]:
    click = rng.random() < {"A": 0.2, "B": 0.5, "C": 0.7}[arm]
    return {"click": float(click), "signup": float(click and rng.random() < {"A": 0.9, "B": 0.6, "C": 0.2}[arm])}


@pytest.mark.parametrize("rule", ["top-two", "mo-bai", "track-and-stop", "uniform"])
def test_choices_depend_on_complete_pulls_alone_where_they_are_read_as_told(rule: str) -> None:
    """Whatever the metric told first says of a pull that waits for the other, the next arms are the same."""
    asked = []
    for flip in (False, True):
        test, rng, waiting, found = new(rule, delta=0.3, order="told"), np.random.default_rng(1), [], []
        for step in range(120):
            (one,) = test.ask()
            found.append(one.arm)
            metrics = both(rng, one.arm)
            if step % 2:
                test.tell(one, {"click": 1 - metrics["click"] if flip else metrics["click"]})
                waiting.append(one)
            else:
                test.tell(one, metrics)
        asked.append(found)
        assert test.status().incomplete == len(waiting) == 60
    assert asked[0] == asked[1]


def test_evidence_uses_every_reward_at_once() -> None:
    late, whole, rng = new(), new(), np.random.default_rng(2)
    for n in range(100):
        metrics = both(rng, "ABC"[n % 3])
        late.record("ABC"[n % 3], {"click": metrics["click"]})
        whole.record("ABC"[n % 3], metrics)
    assert late.verdict().evidence[0] == whole.verdict().evidence[0]
    assert late.verdict().evidence[1] != whole.verdict().evidence[1]


def test_what_is_told_later_completes_the_pull() -> None:
    """In parts or at once: the evidence is the same up to rounding, and so is what sampling sees in the end."""
    parts, whole, rng = new(), new(), np.random.default_rng(3)
    rows = [("ABC"[n % 3], both(rng, "ABC"[n % 3])) for n in range(200)]
    numbers = [parts.record(arm, {"click": metrics["click"]}) for arm, metrics in rows]
    whole.record_all(rows)
    parts.tell_all(
        [(number, {"signup": metrics["signup"]}) for number, (_, metrics) in zip(numbers, rows, strict=True)]
    )
    np.testing.assert_allclose(parts.verdict().evidence, whole.verdict().evidence, rtol=1e-12)
    engines = [test._ledger.known().engine for test in (parts, whole)]
    assert engines[0].sampling.observations.told == engines[1].sampling.observations.told == 200
    ours, theirs = (engine.sampling.observations.means for engine in engines)
    np.testing.assert_allclose(ours, theirs)
    assert parts.status().incomplete == 0


def test_a_metric_that_will_not_come() -> None:
    test = new()
    first, second, third = test.ask(3)
    test.tell(first, {"click": 1})
    assert test.status().incomplete == 1
    test.tell(first, {"signup": None})
    test.tell(first, {"signup": None})
    assert test.status().incomplete == 0
    with pytest.raises(InputError, match=r"'signup' was said not to come before, and is 1.0 now"):
        test.tell(first, {"signup": 1})
    with pytest.raises(InputError, match=r"'click' was 1.0 before, and is said not to come now"):
        test.tell(first, {"click": None})
    test.tell(second, {"click": 0})
    test.drop(second)
    assert (test.status().incomplete, test.status().dropped) == (0, 0)
    events = len(test.history())
    test.drop(second)
    assert len(test.history()) == events
    with pytest.raises(InputError, match="metrics must hold at least one number"):
        test.tell(third, {"click": None, "signup": None})
    assert test.records()[0]["signup"] is None
    assert test.replay().verdict.pulls == 2


@pytest.mark.parametrize("rule", ["top-two", "mo-bai"])
def test_snapshots_and_replays_know_what_is_incomplete(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 7)
    journal = MemoryJournal()
    test = Experiment.create(journal, "late", ["A", "B", "C"], OBJECTIVES, rule=rule, delta=0.2)
    rng, waiting = np.random.default_rng(4), []
    for step in range(150):
        (one,) = test.ask()
        metrics = both(rng, one.arm)
        test.tell(one, {"click": metrics["click"]})
        waiting.append((one, metrics))
        if step % 3 == 0:
            late, told = waiting.pop(int(rng.integers(len(waiting))))
            test.tell(late, {"signup": told["signup"]})
        if step == 80:
            test.retire_arm("A")
        if step % 25 == 0:
            again = Experiment.load(journal, "late")
            assert facts(again) == facts(test)
            monkeypatch.setattr("mobai.live.snapshots.restore", lambda _: None)
            assert facts(Experiment.load(journal, "late")) == facts(test)
            monkeypatch.undo()
            monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 7)
            test = again
    assert test.replay().verdict.evidence.tolist() == test.verdict().evidence.tolist()


def test_a_decision_turns_sampling_away_at_once() -> None:
    """Whatever else of the same pulls is still to come."""
    test = new(delta=0.2)
    for n in range(240):
        test.record("ABC"[n % 3], {"click": float(n % 3 == 2)})
    assert test.verdict().decisions[0] is not None
    sampled = test._ledger.known().engine.sampling.observations
    assert sampled.undecided.tolist() == [False, True]
    assert sampled.told == 240


def test_a_rare_metric_of_one_arm_keeps_sampling_even() -> None:
    """The opening goes on until every arm has a reward of every metric: no arm starves, and nothing is stuck."""
    test, rng = new(), np.random.default_rng(5)
    for _ in range(90):
        (one,) = test.ask()
        metrics = both(rng, one.arm)
        test.tell(one, metrics if one.arm != "C" else {"click": metrics["click"], "signup": None})
    assert test.status().asked.tolist() == [30, 30, 30]
    assert test.verdict().decisions[1] is None
    (one,) = test.ask()
    while one.arm != "C":
        test.tell(one, both(rng, one.arm))
        (one,) = test.ask()
    test.tell(one, {"click": 1, "signup": 1})
    for _ in range(60):
        (one,) = test.ask()
        test.tell(one, both(rng, one.arm))
    assert max(test.status().asked) > min(test.status().asked) + 5


def test_reports_of_one_batch_are_merged_in_any_order() -> None:
    one, two = new(), new()
    rows: list[tuple[int, dict[str, float | None]]] = [(1, {"click": 1}), (1, {"signup": None})]
    for test, order in ((one, rows), (two, rows[::-1])):
        test.ask()
        test.tell_all(order)
    assert facts(one) == facts(two)
    with pytest.raises(InputError, match="metrics must hold at least one number"):
        one.tell(1, {})


def test_winners_are_those_of_complete_pulls() -> None:
    """A half-told value decides at once, and chooses no arm."""
    asked = []
    for value in (0.0, 1.0):
        test = new(delta=0.2)
        for n in range(240):
            whole = {"click": float(n % 3 == 2), "signup": float(n % 3 == 2)}
            test.record("ABC"[n % 3], whole if n < 60 else {"click": value})
        asked.append([one.arm for one in test.ask(6, if_decided="winner=click")])
    assert asked[0] == asked[1]
