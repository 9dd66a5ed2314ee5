"""What is followed of the rewards of a live experiment to see whether something is wrong: the arrays of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.kernels.stats.health import HealthArrays
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations

# How often each kind of warning is raised falsely, at all times together.
RATE = 0.001
FIRST_BORDER = 16
# What a snapshot has of it.
_KEPT = ("far", "at_top", "border", "early", "earlier")


def new_health(problem: Problem) -> HealthArrays:
    """Return the arrays of an experiment in which nothing was told."""
    metrics, arms = len(problem.metrics), problem.shape[0]
    points = Observations(problem).arrays.histograms.shape[2]
    far, at_top = np.zeros((2, metrics, arms), np.int64)
    early, earlier = np.zeros((2, metrics, arms, 3 + points))
    return HealthArrays(
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


def kept_of_health(found: HealthArrays) -> dict[str, npt.NDArray[Any]]:
    """Return what cannot be computed from the rest."""
    return {name: getattr(found, name) for name in _KEPT}


def restored_health(found: HealthArrays, arrays: dict[str, npt.NDArray[Any]]) -> HealthArrays:
    """Return what :func:`kept_of_health` returned with the rest; ValueError or KeyError if it cannot have."""
    for name in _KEPT:
        mine = getattr(found, name)
        if arrays[name].dtype != mine.dtype or arrays[name].ndim != mine.ndim or len(arrays[name]) != len(mine):
            raise ValueError(f"{name}: not like {mine.shape} of type {mine.dtype}")
    return found._replace(**{name: arrays[name] for name in _KEPT}, patience=patience(arrays["border"].size))


def patience(tests: int) -> FloatArray:
    """Return the evidence, less twice the logarithm of the rewards, at which one of that many is an outlier."""
    return np.array([math.log(2 * tests / RATE) + math.log(math.pi**2 / 6)])


def _wider(table: npt.NDArray[Any], filler: int = 0) -> npt.NDArray[Any]:
    """Return a table with room for one more arm, its second axis."""
    return np.concatenate([table, np.full_like(table[:, :1], filler)], axis=1)
