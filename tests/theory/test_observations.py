from __future__ import annotations

import numpy as np

from mobai.problem import Problem
from mobai.theory.observations import Observations


def test_counts() -> None:
    observations = Observations(Problem(2, 2, 1.0))
    assert np.isneginf(observations.means).all()
    observations.ask(1)
    observations.tell(1, np.array([1.0, 2.0]))
    observations.ask(1)
    assert (observations.asked.tolist(), observations.told, observations.complete) == ([0, 2], 1, False)
    assert observations.pulls.tolist() == [[0, 0], [1, 1]]
    assert observations.means[1].tolist() == [1, 2]
    observations.ask(0)
    observations.tell(0, np.zeros(2))
    assert observations.complete
