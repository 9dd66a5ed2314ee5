"""Large rewards decide as the same rewards shifted to zero do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mobai import Instance, Policy, Problem, simulate
from mobai.engine import Session


def run(objective: str, shift: float, pulls: int = 400, digits: int = 20) -> tuple[Session, list[int]]:
    """Run with rewards that are multiples of 2^-digits, so that the shift is exact."""
    session, rng = Policy().start(Problem(3, [objective]), seed=1), np.random.default_rng(2)
    grid, asked = 2.0**-digits, []
    for _ in range(pulls):
        arm = session.ask()
        asked.append(int(arm))
        reward = np.clip(np.round((0.4 + 0.05 * arm + 0.1 * rng.normal()) / grid) * grid, 0, 1)
        session.tell(arm, [float(shift + reward)])
    return session, asked


@pytest.mark.parametrize(
    ("near", "far", "shift"),
    [
        ("x:unknown-variance", "x:unknown-variance", 2.0**30),
        ("x:min:unknown-variance", "x:min:unknown-variance", -(2.0**30)),
        ("x:gaussian=0.1", "x:gaussian=0.1", 2.0**31),
        ("x:bounded=0..1", f"x:bounded={2**32}..{2**32 + 1}", 2.0**32),
        ("x:min:bounded=0..1", f"x:min:bounded={-(2**32)}..{-(2**32) + 1}", -(2.0**32)),
    ],
)
def test_an_exact_shift_changes_no_bit(near: str, far: str, shift: float) -> None:
    (here, asked), (there, asked_there) = run(near, 0.0), run(far, shift)
    assert asked == asked_there
    ours, theirs = here.verdict(0.05), there.verdict(0.05)
    assert ours.evidence.tolist() == theirs.evidence.tolist()
    assert ours.decisions == theirs.decisions
    lower, far_lower = here.intervals(0.05).lower, there.intervals(0.05).lower
    np.testing.assert_allclose(far_lower - shift, lower, atol=1e-6)
    np.testing.assert_allclose(
        there.observations.means - shift * (-1 if ":min" in far else 1), here.observations.means, atol=1e-6
    )


@pytest.mark.parametrize("objective", ["x:unknown-variance", "x:gaussian=0.001"])
def test_a_billion_with_a_thousandth_of_noise(objective: str) -> None:
    """sd 1e-3 around 1e9: the doubles there are 1e-7 apart."""
    session, rng = Policy().start(Problem(2, [objective]), seed=1), np.random.default_rng(3)
    for _ in range(400):
        arm = session.ask()
        session.tell(arm, [1e9 + 0.001 * arm + 0.001 * rng.normal()])
    verdict = session.verdict(0.05)
    assert verdict.answers == ("arm 1",)
    assert verdict.stopped
    assert verdict.certified


def test_a_wide_range_far_away() -> None:
    session, rng = Policy().start(Problem(2, [f"x:bounded={10**12}..{10**12 + 1}"]), seed=1), np.random.default_rng(4)
    for _ in range(600):
        arm = session.ask()
        session.tell(arm, [1e12 + float(rng.random() < 0.3 + 0.4 * arm)])
    assert session.verdict(0.05).decisions[0] is not None
    lower, upper = session.intervals(0.05)[:2]
    assert (lower >= 1e12).all()
    assert (upper <= 1e12 + 1).all()


@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_compiled_and_stepwise_agree_far_away(shift: float) -> None:
    from mobai.lab.trajectory import TrialSpec, run_compiled, run_stepwise
    from mobai.rules.stopping import GLR

    instance = Instance([[shift + 1.0, 0.0], [shift, 1.0]])
    policy: Any = Policy()
    spec = TrialSpec(instance, policy.sampling, [GLR()], [3.0], max_pulls=5000)
    one, two = run_compiled(spec, policy.sampling), run_stepwise(spec)
    assert one.decided.tolist() == two.decided.tolist()
    assert one.means.tolist() == two.means.tolist()
    assert simulate(instance, "top-two", trials=2).complete


@pytest.mark.parametrize("objective", ["x:unknown-variance", "x:gaussian=0.001"])
def test_arms_far_apart_keep_their_differences(objective: str) -> None:
    """Whichever arm is told first: one near zero, or one of the two far away that contend."""
    big, sd = 1e9, 1e-3
    found = []
    for order in ((0, 1, 2), (1, 0, 2)):
        session, rng = Policy().start(Problem(3, [objective])), np.random.default_rng(5)
        draws = rng.normal(size=(120, 3)) * sd + [0.0, big, big + 1.5 * sd]
        for arm in order:
            session.record(arm, [float(draws[0, arm])])
        for row in draws[1:]:
            for arm in range(3):
                session.record(arm, [float(row[arm])])
        found.append(session.verdict(0.05).evidence[0])
    np.testing.assert_allclose(found[0], found[1], rtol=0.01)
    assert found[0] > 20
