"""Pending pulls count as if they had been answered and were like the others."""

from __future__ import annotations

import numpy as np
import pytest

from mobai import Problem
from mobai.theory.observations import Observations


@pytest.mark.parametrize("family", ["gaussian=2", "unknown-variance", "bounded=0..10"])
def test_costs_with_pending_pulls_are_those_of_more_rewards_like_the_others(family: str) -> None:
    problem = Problem(3, [f"x:{family}"])
    rng = np.random.default_rng(1)
    view = Observations(problem, counts_pending=True)
    for arm in (0, 1, 2) * 6:
        view.ask(arm)
        view.tell(arm, problem.orient(np.array([5.0 + arm + rng.uniform(-1, 1)])))
    alone = view.arrays.costs.copy()
    pending = np.array([3, 0, 9])
    for arm, times in enumerate(pending.tolist()):
        view.ask(arm, times)
    arrays = view.arrays
    counts = arrays.counts[0] + pending
    twin = Observations(problem, counts_pending=True)
    for arm in range(3):  # the same means and variances, from more rewards
        spread = np.sqrt(arrays.scatter[0, arm] / arrays.counts[0, arm])
        mean = arrays.means[0, arm] + arrays.objectives.offset[0]
        for n in range(int(counts[arm])):
            sign = 0.0 if counts[arm] % 2 and n == 0 else (-1.0) ** n
            scale = np.sqrt(counts[arm] / (counts[arm] - counts[arm] % 2))
            twin.ask(arm)
            twin.tell(arm, np.array([mean + sign * scale * spread]))
    view.refresh()
    twin.refresh()
    assert view.arrays.costs == pytest.approx(twin.arrays.costs, rel=1e-9)
    assert not np.allclose(view.arrays.costs, alone)
