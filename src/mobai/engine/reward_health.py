"""What is followed of the rewards of a live experiment to see whether something is wrong: the arrays of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.kernels.health import HealthArrays
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations

# How often each kind of warning is raised falsely, at all times together.
RATE = 0.001
FIRST_BORDER = 16


def new_health(problem: Problem) -> HealthArrays:
    """Return the arrays of an experiment in which nothing was told."""
    metrics, arms = len(problem.metrics), problem.shape[0]
    points = Observations(problem).arrays.histograms.shape[2]
    reports, arrived, since = np.zeros(1, np.int64), *np.zeros((2, metrics), np.int64)
    far, at_top = np.zeros((2, metrics, arms), np.int64)
    early, earlier = np.zeros((2, metrics, arms, 3 + points))
    return HealthArrays(
        reports=reports,
        arrived=arrived,
        since=since,
        far=far,
        at_top=at_top,
        border=np.full((metrics, arms), FIRST_BORDER),
        early=early,
        earlier=earlier,
        top=np.array([metric.family.range[1] for metric in problem.metrics]) * problem.signs,
        patience=patience(metrics * arms),
    )


def with_one_more_arm(found: HealthArrays) -> HealthArrays:
    """Return the arrays with room for one more arm."""
    border = _wider(found.border, FIRST_BORDER)
    return found._replace(
        far=_wider(found.far),
        at_top=_wider(found.at_top),
        border=border,
        early=_wider(found.early),
        earlier=_wider(found.earlier),
        patience=patience(border.size),
    )


def patience(tests: int) -> FloatArray:
    """Return the evidence, less twice the logarithm of the rewards, at which one is an outlier: of so many tests."""
    return np.array([math.log(2 * tests / RATE) + math.log(math.pi**2 / 6)])


def _wider(table: npt.NDArray[Any], filler: int = 0) -> npt.NDArray[Any]:
    """Return a table with room for one more arm, its second axis."""
    return np.concatenate([table, np.full_like(table[:, :1], filler)], axis=1)
