"""Differences as shares of a baseline's mean."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mobai import Experiment, Policy, Problem, analyse
from mobai.store.journal import MemoryJournal


def session_of(means: list[float], pulls: int, seed: int = 0):  # type: ignore[no-untyped-def]
    session = Policy().start(Problem(["old", "new"], ["x:gaussian=1"], baseline="old"))
    rng = np.random.default_rng(seed)
    for n in range(pulls):
        session.record(n % 2, [rng.normal(means[n % 2])])
    return session


def test_lifts_follow_from_the_intervals() -> None:
    session = session_of([10.0, 12.0], 400)
    found, means = session.differences(0.05), session.intervals(0.05)
    least, most = means.lower[0, 0], means.upper[0, 0]
    assert found.lift_lower[1, 0] == max(found.lower[1, 0] / most, means.lower[1, 0] / most - 1)
    assert found.lift_upper[1, 0] == min(found.upper[1, 0] / least, means.upper[1, 0] / least - 1)
    assert found.lift_lower[1, 0] < 0.2 < found.lift_upper[1, 0]
    assert found.lift_lower[0, 0] == found.lift_upper[0, 0] == 0.0


@pytest.mark.parametrize("mean", [0.0, -10.0])
def test_there_is_no_lift_over_what_may_not_be_positive(mean: float) -> None:
    found = session_of([mean, mean + 2.0], 100).differences(0.05)
    assert np.isnan(found.lift_lower).all()
    assert np.isnan(found.lift_upper).all()


def test_they_hold_at_all_times() -> None:
    """At delta = 1/2, 40 runs, looked at ten times each: at most 20 + 3.3 sd are wrong, but with probability 0.001."""
    wrong = 0
    for seed in range(40):
        session, rng, failed = session_of([3.0, 3.3], 2, seed), np.random.default_rng(seed), False
        for _ in range(10):
            for n in range(20):
                session.record(n % 2, [rng.normal((3.0, 3.3)[n % 2])])
            found = session.differences(0.5)
            failed = failed or found.lift_lower[1, 0] > 0.1 or found.lift_upper[1, 0] < 0.1
        wrong += failed
    assert wrong <= 30


def test_percent_beside_the_difference() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["old", "new"], ["c:bernoulli"], baseline="old")
    rng = np.random.default_rng(0)
    for _ in range(10):
        test.tell_all([(one, {"c": int(rng.random() < (0.2 if one.arm == "old" else 0.4))}) for one in test.ask(200)])
    assert "(better; +" in str(test.status())
    assert " %)" in str(test.status())
    rows = [{"arm": "AB"[n % 2], "c": n % 2} for n in range(100)]
    found = analyse(rows, ["c:bernoulli"], baseline="A").differences
    assert found is not None
    assert math.isnan(found.lift_upper[1, 0])  # nobody knows that A's mean is not 0
