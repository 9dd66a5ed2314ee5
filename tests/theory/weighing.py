"""The evidence of two arms from their statistics, for tests that know what it should be."""

from __future__ import annotations

import numpy as np

from mobai import Objective, Problem
from mobai.problem import Family
from mobai.theory.observations import Observations
from mobai.theory.thresholds import THRESHOLDS, evidence_of


def evidence(
    family: Family,
    n: tuple[int, int],
    means: tuple[float, float],
    scatter: tuple[float, float] = (0, 0),
    eps: float = 0,
    sd: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """The score and the transport cost of two arms, the first of which leads."""
    noise = None if sd is None else np.array(sd)[:, None]
    problem = Problem(2, [Objective("x", "max", family, eps)], noise)
    tables = (np.array(table, float)[:, None] for table in (means, n, scatter))
    return weighed(Observations.of_statistics(problem, *tables))


def weighed(observations: Observations) -> tuple[float, float]:
    assert observations.leaders[0] == 0
    score = evidence_of(THRESHOLDS["mixture"], observations, int(observations.pulls.sum()))
    return float(score[0]), float(observations.costs[1, 0])
