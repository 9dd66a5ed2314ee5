"""Warnings: each is raised in a simulation of what it is for, and hardly ever in one without."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mobai import Experiment
from mobai.engine.reward_health import RATE
from mobai.live.health import _least_rate, _log_mixture, _log_most
from mobai.store.journal import MemoryJournal
from mobai.views import notifications_json

OBJECTIVES = ["click:bernoulli", "latency:min:gaussian=10", "score:bounded=0..1", "load:shared-variance"]


def live(trouble: str = "", pulls: int = 900, seed: int = 0) -> Experiment:
    """An experiment in which something is wrong from half-way on, or nothing is."""
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], OBJECTIVES, delta=1e-9, rule="uniform")
    rng = np.random.default_rng([seed, 11])
    for n in range(pulls):
        (one,) = test.ask()
        late = n > pulls // 2
        if rng.random() < (0.25 if trouble == "attrition" and one.arm == "B" else 0.05):
            test.drop(one, reason="lost")
            continue
        rewards = {
            "click": float(rng.random() < (0.7 if trouble == "drift" and late else 0.3)),
            "latency": rng.normal(80, 10) + (150 if trouble == "outliers" and n == 400 else 0),
            "score": min(1.0, float(rng.beta(5, 3)) + (0.4 if trouble == "edge" else 0.0)),
            "load": rng.normal(5, 1) + (2 if trouble == "drift of another" and late else 0),
        }
        if trouble == "silence" and late:
            del rewards["latency"]
        test.tell(one, rewards)
    return test


@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        ("attrition", "attrition", "answers are lost more often for some arms than for others"),
        ("drift", "drift", "click: the mean of"),
        ("drift of another", "drift", "load: the mean of"),
        ("silence", "silence", "latency: has stopped coming: in none of the last"),
        ("outliers", "outliers", "latency: 1 rewards of"),
        ("edge", "edge", "at the upper end of the range"),
    ],
)
def test_trouble_is_noticed(trouble: str, kind: str, words: str) -> None:
    test = live(trouble)
    found = test.concerns()
    assert {one.kind for one in found} == {kind}
    assert words in found[0].text
    assert f"warning: {found[0].text}" in str(test.status())


def test_nothing_is_noticed_where_nothing_is_wrong() -> None:
    """Four tests per experiment at one in a thousand each: 40 experiments without any alarm, but once in seven runs."""
    assert [one for seed in range(40) for one in live(pulls=250, seed=seed).concerns()] == []


def test_warnings_survive_a_snapshot() -> None:
    test = live("drift")
    from mobai.live import snapshots

    with test._ledger.look() as state:
        again = snapshots.restore(snapshots.take(state))
        assert again is not None
        assert again.concerns() == state.concerns() != []


def test_the_lower_bound_of_a_rate_holds_at_all_times() -> None:
    rng, failed = np.random.default_rng(0), 0
    for _ in range(400):
        coins = (rng.random(300) < 0.2).cumsum()
        failed += any(_least_rate(int(s), n, 0.2) > 0.2 for n, s in enumerate(coins, start=1) if s and n % 5 == 0)
    assert 0 < failed < 0.2 * 400


def test_attrition_is_rarely_found_in_equal_arms() -> None:
    """The statistic of universal inference, looked at after every loss: at a rate of a tenth, for power."""
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(300):
        lost = (rng.random((2, 200)) < 0.3).cumsum(axis=1)
        largest = max(
            sum(_log_mixture(int(lost[a, n]), n + 1) for a in (0, 1)) - _log_most(int(lost[:, n].sum()), 2 * n + 2)
            for n in range(200)
        )
        alarms += largest > math.log(10)
    assert alarms < 0.1 * 300
    assert RATE == 0.001


def test_a_metric_that_never_comes_for_one_arm() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["click:bernoulli", "late:bernoulli"], rule="uniform")
    for _ in range(80):
        (one,) = test.ask()
        test.tell(one, {"click": 1.0} if one.arm == "B" else {"click": 1.0, "late": 1.0})
    assert [one.text for one in test.concerns()] == ["late: has never come for B, in 40 answers"]
    assert "B has the fewest answers with late: 0" in test.explain().reason


def test_metrics_that_come_later_have_not_stopped() -> None:
    """As docs/live.md advises: clicks at once, signups of all visits together when the week is over."""
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["click:bernoulli", "signup:bernoulli"])
    rng = np.random.default_rng(0)
    for _ in range(3):
        week = test.ask(100)
        test.tell_all([(one, {"click": float(rng.random() < 0.5)}) for one in week])
        assert test.concerns() == []
        test.tell_all([(one, {"signup": float(rng.random() < 0.2)}) for one in week])
        assert test.concerns() == []


@pytest.mark.parametrize(("count", "noticed"), [(99, False), (101, True)])
def test_a_few_rewards_at_the_end_of_a_range_are_no_trouble(count: int, noticed: bool) -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["score:bounded=0..1"], delta=1e-9)
    test.record_all([("A", {"score": 1.0 if n % 2 == 0 else 0.5 + 0.001 * n / 7}) for n in range(count)])
    assert [one.kind for one in test.concerns()] == (["edge"] if noticed else [])


@pytest.mark.parametrize(("family", "step", "kinds"), [("1..5", 1.0, []), ("1..5", 0.5, ["edge"]), ("0..1", 0.25, [])])
def test_ratings_at_the_upper_end_are_no_cut(family: str, step: float, kinds: list[str]) -> None:
    """Whole numbers of a scale are often at its end; other numbers, only if they were cut off there."""
    low, high = map(float, family.split(".."))
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], [f"rating:bounded={family}"])
    values = np.arange(low, high + step / 2, step).tolist()
    test.record_all([("AB"[n % 2], {"rating": values[n // 2 % len(values)]}) for n in range(400)])
    assert [one.kind for one in test.concerns()] == kinds


def test_losses_that_differ_suspend_the_certificate_at_once() -> None:
    test = live("attrition")
    verdict = test.verdict()
    assert not verdict.certified
    (alarm,) = verdict.alarms
    assert alarm.startswith("answers are lost more often for some arms")
    assert f"not certified: {alarm}" in verdict.remarks
    assert any(one["kind"] == "uncertified" for one in notifications_json(test.status()))
    assert live("").verdict().certified


def test_losses_that_are_settled_late_raise_no_alarm() -> None:
    """One in five is lost at random, and that is known when the others were answered long ago."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 17])
        test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["click:bernoulli"], rule="top-two", delta=0.2)
        lost = []
        for n in range(400):
            (one,) = test.ask()
            if rng.random() < 0.2:
                lost.append(one)
            else:
                test.tell(one, {"click": float(rng.random() < (0.2 if one.arm == "A" else 0.6))})
            if n % 100 == 99:
                alarms += not test.verdict().certified
            if len(lost) > 30:
                test.drop(lost.pop(0), reason="lost")
    assert alarms <= 1
