from __future__ import annotations

import numpy as np

from mobai.problem import Problem, Tally


def test_counts() -> None:
    tally = Tally(Problem(2, 2))
    assert np.isneginf(tally.means).all()
    tally.ask(1)
    tally.tell(1, np.array([1.0, 2.0]))
    tally.ask(1)
    assert (tally.asked.tolist(), tally.told, tally.complete) == ([0, 2], 1, False)
    assert tally.pulls.tolist() == [[0, 0], [1, 1]]
    assert tally.means[1].tolist() == [1, 2]
    tally.ask(0)
    tally.tell(0, np.zeros(2))
    assert tally.complete
