from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import instances

from mobai import InputError, Instance, Problem, glr_statistic
from mobai.theory.observations import Observations


@given(instances(), st.integers(0, 2**32 - 1))
def test_against_loops(instance: Instance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pulls, sd = rng.integers(1, 50, instance.shape), rng.uniform(0.1, 3, instance.shape)
    statistic = glr_statistic(instance.means, pulls, sd)
    for m in range(instance.shape[1]):
        b = int(np.argmax(instance.means[:, m]))
        assert statistic.leaders[m] == b
        for i in range(instance.shape[0]):
            gap = instance.means[b, m] - instance.means[i, m]
            z = gap**2 / (2 * (sd[b, m] ** 2 / pulls[b, m] + sd[i, m] ** 2 / pulls[i, m])) if i != b else np.inf
            assert statistic.pairs[i, m] == pytest.approx(z, rel=1e-12)
    assert statistic.overall == statistic.per_objective.min() == statistic.pairs.min()


def test_the_papers_form() -> None:
    """N_i N_b D^2 / (2 (N_i + N_b)) for unit noise."""
    assert glr_statistic([[0.0], [2.0]], [3, 6]).overall == pytest.approx(3 * 6 * 4 / (2 * 9))


def test_silent_arms_give_no_evidence() -> None:
    problem = Problem(3, 2, 1.0)
    observations = Observations(problem)
    assert observations.costs.min() == 0
    observations.tell(2, np.array([5.0, 5.0]))
    observations.tell(1, np.array([-5.0, -5.0]))
    assert observations.leaders.tolist() == [2, 2]
    assert observations.costs.tolist() == [[0, 0], [25, 25], [np.inf, np.inf]]


def test_ties_give_no_evidence() -> None:
    statistic = glr_statistic([[1.0], [1.0]], [5, 5])
    assert (statistic.leaders[0], statistic.overall) == (0, 0)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="pulls K numbers or a K x M table"):
        glr_statistic([[1.0], [2.0]], [1, 2, 3])
    with pytest.raises(InputError, match="pulls must not be negative"):
        glr_statistic([[1.0], [2.0]], [1, -2])
