"""Sessions: asking and telling by hand, delays, losses and wrong reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import InputError, Instance, Policy, Problem, Uniform

WORLD = Instance([[2.0, 0.0, 0.4], [0.0, 2.2, 0.5], [0.5, 0.5, 2.3]])


def test_before_the_first_answer() -> None:
    session = Policy().start(WORLD.problem, seed=0)
    verdict = session.verdict(0.05)
    assert (verdict.stopped, verdict.pulls, verdict.stopped_at) == (False, 0, None)
    assert np.isfinite(verdict.evidence).all()
    session.ask()
    assert session.verdict(0.05).pulls == 0


@given(st.integers(0, 2**32 - 1))
def test_delays_and_losses_never_miscount(seed: int) -> None:
    """Answers in any order, some never: only existing arms are asked for, no reward counts twice."""
    rng = np.random.default_rng(seed)
    session = Policy().start(WORLD.problem, seed=seed)
    open_asks: list[Any] = []
    for _ in range(80):
        open_asks.append(session.ask())
        while open_asks and rng.random() < 0.45:
            session.tell(open_asks.pop(rng.integers(len(open_asks))), rng.normal(size=3))
    assert session.observations.asked.sum() == 80
    seen = session.engine.sampling.observations
    assert session.verdict(0.1).pulls == seen.told == 80 - len(open_asks)
    assert (seen.pulls.sum(axis=0) == seen.told).all()
    # Evidence has gone as far as everything before was told.
    oldest = min((arm.ask for arm in open_asks), default=81)
    assert session.observations.told == oldest - 1


@pytest.mark.parametrize(
    ("arm", "rewards", "message"),
    [
        (3, [1, 2, 3], "arm must be a name or an integer from 0 to 2"),
        (0, [1, 2], r"rewards must be 3 numbers, one per objective, not of shape \(2,\)"),
        (0, [1, 2, np.inf], "metric 'objective 2' must be finite"),
        (0, [1, 2, "much"], "rewards must be numbers"),
        (0, {"objective 0": "1"}, "metric 'objective 0' must be a number, not '1'"),
        (0, {"clicks": 1}, "rewards: names must be among objective 0, objective 1, objective 2, not 'clicks'"),
        (1, [1, 2, 3], r"arm 1 \(arm 1\) has no pending ask"),
    ],
)
def test_bad_reports_change_nothing(arm: int, rewards: Any, message: str) -> None:
    session = Policy().start(WORLD.problem, seed=0)
    assert session.ask() == 0
    with pytest.raises(InputError, match=message):
        session.tell(arm, rewards)
    assert session.observations.told == 0
    session.tell(0, [1, 2, 3])
    with pytest.raises(InputError, match="no pending ask"):
        session.tell(0, [1, 2, 3])


def test_missing_metrics_are_counted_apart() -> None:
    session = Policy().start(Problem(2, ["a", "b"], 1.0), seed=0)
    session.tell(session.ask(), {"a": 1.0})
    assert session.observations.pulls.tolist() == [[1, 0], [0, 0]]
    session.tell(session.ask(), [math.nan, 2.0])
    assert session.observations.pulls.tolist() == [[1, 0], [0, 1]]
    assert session.observations.answered.tolist() == [1, 1]
    assert not session.observations.complete
    # The opening goes on until every arm has answered in every objective.
    assert [session.ask(), session.ask()] == [0, 1]
    session.tell(0, {"b": None, "a": None})
    assert session.observations.told == 2


def test_a_session_speaks_names() -> None:
    session = Policy(Uniform()).start(Problem(["A", "B"], ["click:bernoulli"]))
    arm = session.ask()
    assert (arm.name, int(arm)) == ("A", 0)
    session.tell("A", {"click": 1})
    session.tell(session.ask(), [0])
    session.record("B", {"click": 1})
    assert session.observations.pulls.tolist() == [[1], [2]]
    assert str(session) == "session: 2 arms, 1 objectives, 3 pulls, 0 pending"
    with pytest.raises(InputError, match="arm must be one of A, B, not 'C'"):
        session.tell("C", [1])
