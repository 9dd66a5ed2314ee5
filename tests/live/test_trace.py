"""How an experiment went, and why it is not decided: points of a series, explanations."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.live.rounds import new, run

from mobai import Experiment, InputError
from mobai.live import codec, snapshots
from mobai.live.plot import plot_series


def test_points_follow_the_pulls() -> None:
    test = new()
    run(test, 200)
    series = test.series()
    pulls = series.pulls.tolist()
    assert pulls[:16] == list(range(1, 17))
    assert all(after - before == max(before // 16, 1) for before, after in pairwise(pulls))
    status = test.status()
    last = int(np.searchsorted(series.pulls, status.verdict.pulls, side="right")) - 1
    assert series.asked[last].sum() >= series.pulls[last]
    assert series.evidence.shape == (len(series), 2)
    assert series.means.shape == series.lower.shape == series.upper.shape == (len(series), 3, 2)
    seen = ~np.isnan(series.means)
    assert ((series.lower <= series.means) & (series.means <= series.upper))[seen].all()
    assert series.threshold == status.verdict.threshold[0]


def test_arms_that_come_later_have_nothing_before() -> None:
    test = new()
    run(test, 40)
    test.add_arm("D")
    run(test, 40)
    series = test.series()
    before = series.pulls <= 40
    assert np.isnan(series.means[before, 3]).all()
    assert (series.asked[before, 3] == 0).all()
    with test._ledger.look() as state:
        again = snapshots.restore(snapshots.take(state))
    assert again is not None
    np.testing.assert_array_equal(again.trace.series(test.problem, 1.0).means, series.means)


def test_an_empty_series() -> None:
    test = new()
    assert len(test.series()) == 0
    with pytest.raises(InputError, match="nothing has been told yet"):
        plot_series(test.series())


def test_a_picture(tmp_path: Path) -> None:
    test = new()
    run(test, 60)
    plot_series(test.series(), tmp_path / "x.svg")
    assert "<svg" in (tmp_path / "x.svg").read_text()
    with pytest.raises(InputError, match=r"must end in \.png, \.svg or \.pdf"):
        plot_series(test.series(), tmp_path / "x.txt")


def test_a_picture_of_half_a_pull(tmp_path: Path) -> None:
    test = new()
    test.record("A", {"click": 1.0})
    plot_series(test.series(), tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()


def test_an_explanation_is_the_verdict_pair_by_pair() -> None:
    test = new()
    run(test, 150)
    found, verdict = test.explain(), test.verdict()
    for m, name in enumerate(test.problem.objective_names):
        own = [pair for pair in found.pairs if pair.objective == name]
        assert len(own) == 2
        assert min(pair.evidence for pair in own) == pytest.approx(verdict.evidence[m], abs=1e-7)
        assert all(pair.threshold == verdict.threshold[m] for pair in own)
    # Explaining changes nothing, and the arm it names is the one that is asked for.
    assert test.explain().next_arm == found.next_arm == test.ask()[0].arm
    assert found.reason.startswith(f"{found.next_arm} is next: ")
    assert len(found.sentences) == 2
    assert all(math.isfinite(pair.gap) for pair in found.pairs)
    assert codec.explanation_json(found)["next_arm"] == found.next_arm


@pytest.mark.parametrize("rule", ["top-two", "mo-bai", "track-and-stop", "uniform"])
def test_every_rule_can_be_explained(rule: str) -> None:
    test = new(rule=rule)
    assert "every arm must answer once" in test.explain().reason
    run(test, 12)
    found = test.explain()
    assert found.next_arm == test.ask()[0].arm
    assert str(found).count("\n") == 2


def test_what_waits_is_explained() -> None:
    test = new()
    first, *others = test.ask(4)
    test.tell_all([(one, {"click": 1.0, "latency": 2.0}) for one in others])
    waits = [sentence for sentence in test.explain().sentences if "no evidence before" in sentence]
    assert waits == [
        f"{name}: 3 results told, and no evidence before assignment 1 ({first.arm}) is reported, or {ends}"
        for name, ends in (("click", "dropped"), ("latency", "dropped as lost"))
    ]


def test_a_metric_that_stays_away_is_explained() -> None:
    """Nothing waits behind it, since nothing of it has come."""
    test = new()
    test.tell_all([(one, {"click": 1.0}) for one in test.ask(6)])
    assert "latency: in 0 of 6 answers" in test.explain().sentences


def test_what_is_decided_is_explained_as_such() -> None:
    test = new(delta=0.3)
    while not test.verdict().stopped:
        run(test, 20)
    assert all(": decided for " in sentence for sentence in test.explain().sentences)


def test_limits_are_explained() -> None:
    from tests.live.guarded import new as limited
    from tests.live.guarded import run as play

    test: Experiment = limited()
    play(test, 60)
    found = test.explain()
    assert found.sentences == (
        "click: C leads; control, the closest of 2 rivals left, is not yet told apart from C: 0.41 of 4.71 nats; "
        "C is not yet shown to keep errors at most 0.1",
    )
    assert {limit.arm for limit in found.limits} == {"control", "B", "C"}
    assert {limit.status for limit in found.limits} <= {"kept", "broken", "open"}
    broken = [limit for limit in found.limits if limit.status == "broken"]
    assert all(limit.broken > limit.threshold for limit in broken)
