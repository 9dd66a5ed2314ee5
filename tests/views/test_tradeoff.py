"""Trade-offs: what the boxes prove, and where they lie."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from mobai import Experiment, views
from mobai.live.status import Status
from mobai.store.journal import MemoryJournal

OBJECTIVES = ["x:gaussian=1", "y:min:gaussian=1"]


def status_of(lower: Any, upper: Any, **changes: Any) -> Status:
    """Return a status with these intervals, and means in their middle."""
    low, high = np.array(lower, float), np.array(upper, float)
    test = Experiment.create(MemoryJournal(), "x", [f"arm {n}" for n in range(len(low))], OBJECTIVES)
    status = test.status()
    intervals = status.intervals._replace(lower=low, upper=high)
    return replace(status, intervals=intervals, means=(low + high) / 2, **changes)


def test_what_boxes_prove() -> None:
    # More x and less y is better: the first is better than the second in both, the third may be anything.
    found = views.standings(status_of([[5, 1], [1, 5], [0, 0]], [[6, 2], [2, 6], [9, 9]]), 0, 1)
    assert found == {0: "possible", 1: "dominated", 2: "possible"}
    found = views.standings(status_of([[5, 5], [1, 1]], [[6, 6], [2, 2]]), 0, 1)
    assert found == {0: "certain", 1: "certain"}
    # Touching is no proof.
    found = views.standings(status_of([[5, 1], [1, 2]], [[6, 2], [5, 3]]), 0, 1)
    assert found == {0: "possible", 1: "possible"}


@pytest.mark.parametrize("seed", range(5))
def test_no_true_means_inside_the_boxes_contradict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 4, (4, 2))
    high = low + rng.uniform(0.1, 2, (4, 2))
    found = views.standings(status_of(low, high), 0, 1)
    assert found.keys() == {0, 1, 2, 3}
    corners = list(product((0.001, 0.999), repeat=2))
    for i, standing in found.items():
        dominated = set()
        for mine, theirs in product(corners, corners):
            own = low[i] + np.array(mine) * (high[i] - low[i])
            others = [low[j] + np.array(theirs) * (high[j] - low[j]) for j in range(4) if j != i]
            dominated.add(any(one[0] > own[0] and one[1] < own[1] for one in others))
        expected = {"certain": {False}, "dominated": {True}}.get(standing)
        assert expected is None or dominated == expected
    # The boxes of those that are undecided leave both possible.
    for i in (i for i, standing in found.items() if standing == "possible"):
        best = np.array([high[i, 0], low[i, 1]])
        worst = np.array([low[i, 0], high[i, 1]])
        others = [j for j in range(4) if j != i]
        assert not any(low[j, 0] > best[0] and high[j, 1] < best[1] for j in others)
        assert any(high[j, 0] >= worst[0] and low[j, 1] <= worst[1] for j in others)


def test_arms_that_are_out_are_left_out() -> None:
    low, high = [[5, 1], [1, 5], [-1, 7]], [[6, 2], [2, 6], [0, 8]]
    gone = np.array([False, True, True])
    assert views.standings(status_of(low, high, active=gone), 0, 1) == {1: "certain", 2: "dominated"}
    assert views.standings(status_of(low, high, barred=~gone), 0, 1) == {1: "certain", 2: "dominated"}


def test_boxes_are_drawn_to_scale() -> None:
    html = views.tradeoff_html(status_of([[0, 0], [5, 5]], [[1, 1], [10, 10]]))
    place = r'x="([\d.]+)%" y="([\d.]+)%" width="([\d.]+)%" height="([\d.]+)%"'
    boxes = re.findall(rf'<rect class="box (\w+)" {place}', html)
    assert [one[0] for one in boxes] == ["certain", "certain"]
    (_, x, y, wide, high), (_, x2, y2, wide2, high2) = [(one[0], *map(float, one[1:])) for one in boxes]
    # Ten units and 4 % at both ends: a unit is 100 / 10.8 percent.
    unit = 100 / 10.8
    expected = pytest.approx([0.4 * unit, unit, 5.4 * unit, 5 * unit], abs=0.02)
    assert [x, wide, x2, wide2] == expected
    assert [100 - y - high, high, 100 - y2 - high2, high2] == pytest.approx(
        [0.4 * unit, unit, 5.4 * unit, 5 * unit], abs=0.02
    )
    assert "y against x" in html
    assert "x (more is better)" in html
    assert "y (less is better)" in html


def test_one_objective_has_none() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B", "C"], OBJECTIVES[:1])
    assert views.tradeoff_html(test.status()) == ""


@pytest.mark.parametrize(("eps", "standing"), [(0.0, "certain"), (0.5, "possible")])
def test_an_arm_that_is_decided_on_cannot_be_beaten_in_both(eps: float, standing: str) -> None:
    """Unless differences that do not matter may lie behind the decision."""
    objectives, rng = [f"x:gaussian=1:eps={eps}", "y:min:gaussian=1"], np.random.default_rng(0)
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], objectives, delta=0.2)
    for _ in range(20):
        test.tell_all([(one, {"x": 2.5 * (one.arm == "A") + rng.normal(), "y": rng.normal()}) for one in test.ask(2)])
    status = test.status()
    assert [decision is not None for decision in status.verdict.decisions] == [True, False]
    wide = status.intervals._replace(lower=np.full((2, 2), -9.0), upper=np.full((2, 2), 9.0))
    assert views.standings(replace(status, intervals=wide), 0, 1) == {0: standing, 1: "possible"}
    unfitted = wide._replace(fitted=False)
    assert views.standings(replace(status, intervals=unfitted), 0, 1) == {0: "possible", 1: "possible"}


def test_of_an_arm_without_rewards_nothing_is_known() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], OBJECTIVES)
    test.record("A", {"x": 1.0, "y": 1.0})
    assert views.standings(test.status(), 0, 1) == {0: "possible", 1: "possible"}
    assert '<th scope="row" class="left">B</th>' in views.tradeoff_html(test.status())


def test_a_rival_that_breaks_a_limit_is_not_said_to_be_worse() -> None:
    """B is better in both and breaks the limit, which only tells: both are decided for A, and B is not dominated."""
    limits = ["e:bernoulli:at-most=0.1:eps=0.1"]
    objectives = ["x:gaussian=1", "y:gaussian=1"]
    test = Experiment.create(
        MemoryJournal(), "x", ["A", "B"], objectives, guardrails=limits, on_broken="tell", delta=0.2
    )
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows = [(arm, mean + rng.normal(size=2), float(arm == "B")) for arm, mean in (("A", 0.0), ("B", 2.0))]
        test.record_all([(arm, {"x": both[0], "y": both[1], "e": e}) for arm, both, e in rows])
    status = test.status()
    assert status.verdict.answers == ("A", "A")
    assert status.verdict.stopped
    assert not status.barred.any()
    wide = status.intervals._replace(lower=np.full((2, 3), -9.0), upper=np.full((2, 3), 9.0))
    assert views.standings(replace(status, intervals=wide), 0, 1) == {0: "possible", 1: "possible"}
