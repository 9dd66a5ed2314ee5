"""Arms that come and go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from tests.live.rounds import measure, new, run

from mobai import GLR, Experiment, InputError, Problem
from mobai.rules.stopping.roster import Roster
from mobai.store.journal import MemoryJournal


def test_arms_come_and_go() -> None:
    test = new(delta=0.2)
    while not test.verdict().stopped:
        run(test, 1)
    assert test.verdict().answers == ("B", "C")
    test.add_arm("D")
    assert not test.verdict().stopped
    assert [name for name, _, _ in test.status().past] == ["click", "latency"]
    (one,) = test.ask()
    assert one.arm == "D"
    test.tell(one, measure(*one))
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
    test = Experiment.create(MemoryJournal(), "x", arms, ["value:gaussian=1"], delta=0.3, rule="uniform", seed=number)
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
    level = GLR(reserve=reserve).level(Problem(initial, objectives, 1.0), -math.log(delta))
    spent = objectives * (initial - 1) * math.exp(-level)
    # The intervals have a tenth for themselves.
    decisions = 0.9 * delta
    assert spent == pytest.approx((1 - reserve) * decisions)
    spent += objectives * initial * (initial - 1) / 2 * math.exp(-level - roster.all_pairs)
    assert spent == pytest.approx((1 - reserve / 2) * decisions)
    later = sum(objectives * j * math.exp(-level - roster.surcharges[j]) for j in range(initial, arms))
    assert 0.99 * reserve / 2 * decisions < later <= reserve / 2 * decisions


def test_a_retired_arm_without_a_reserve_does_not_keep_it_open() -> None:
    """Retired after two rewards, ahead of all others: the rest is decided all the same, at a price of 28 nats."""
    test = Experiment.create(MemoryJournal(), "x", ["A", "B", "C"], ["x:gaussian=1"], reserve=0)
    rng = np.random.default_rng(0)
    test.record_all([("A", {"x": 30.0 + rng.normal()}), ("A", {"x": 30.0 + rng.normal()})])
    test.retire_arm("A")
    rows = [("BC"[n % 2], {"x": 2.0 * (n % 2) + rng.normal()}) for n in range(200)]
    test.record_all(rows)
    (decision,) = test.verdict().decisions
    assert decision is not None
    assert test.verdict().answers == ("C",)
    with pytest.raises(InputError, match="reserve=0, so no arm can be added"):
        test.add_arm("D")


def test_a_retired_arm_with_no_reserve_still_decides() -> None:
    test = new(reserve=0, delta=0.2, rule="uniform")
    run(test, 150)
    test.retire_arm("A")
    for _ in range(600):
        run(test, 1)
        if test.verdict().stopped:
            break
    assert test.verdict().answers == ("B", "C")
    assert test.verdict().stopped
    assert np.isfinite(test.verdict().evidence).all()


@pytest.mark.parametrize("family", ["gaussian=1", "unknown-variance", "shared-variance"])
def test_a_retired_arm_is_not_said_to_be_worse_than_the_baseline(family: str) -> None:
    """That the baseline is the best of those that are left says nothing of a better one that was retired."""
    for run_number in range(10):
        rng = np.random.default_rng([31, run_number])
        test = Experiment.create(
            MemoryJournal(), "x", ["base", "better", "bad"], [f"x:{family}"], baseline="base", rule="uniform", delta=0.1
        )
        means = {"base": 0.0, "better": 0.3, "bad": -2.0}
        for _ in range(12):
            (one,) = test.ask()
            test.tell(one, {"x": float(rng.normal(means[one.arm]))})
        test.retire_arm("better")
        while not test.verdict().stopped:
            (one,) = test.ask()
            test.tell(one, {"x": float(rng.normal(means[one.arm]))})
        found = test.status().differences
        assert found is not None
        assert found.words(1, 0) != "worse"
        assert found.lower[1, 0] <= 0.3 <= found.upper[1, 0]
        assert found.words(2, 0) == "worse"
