"""Importance sampling of wrong decisions that are too rare to wait for: two arms, one objective.

A trial is simulated not with the true means but with means moved apart in the wrong direction, by a random amount, so
that wrong decisions are common. It then counts with the inverse of how much likelier its rewards are that way. The
amount is uniform on a logarithmic scale: that is how the times of wrong decisions are spread.
"""

from __future__ import annotations

import math

import numpy as np

from mobai.lab.trajectory import Trajectory
from mobai.problem import FloatArray, Instance
from mobai.seeds import stream

_LEAST, _MOST, _STEPS = 0.02, 3.0, 2000
# The first arm, which is worse, goes up.
_UP_AND_DOWN = np.array([1.0, -1.0])


def tilted(instance: Instance, seed: int, trial: int) -> Instance:
    """Draw the means to simulate with."""
    step = stream(seed, "tilt", trial).integers(_STEPS)
    return Instance(_moved(instance)[:, step : step + 1], _noise(instance), instance.arms, instance.objectives)


def log_likelihood_ratio(instance: Instance, trajectory: Trajectory) -> float:
    """Return how much likelier the rewards are with random means than with the true ones."""
    counts = trajectory.asked[0, 0][:, None].astype(np.float64)
    seen, true, moved = trajectory.means, instance.means, _moved(instance)
    if _is_coin(instance):
        low, high = instance.objectives[0].family.range
        heads = counts * (seen - low) / (high - low)
        was, now = (true - low) / (high - low), (moved - low) / (high - low)
        ratios = heads * np.log(now / was) + (counts - heads) * np.log((1 - now) / (1 - was))
    else:
        ratios = counts * (moved - true) * (2 * seen - true - moved) / (2 * instance.sd**2)
    return float(np.logaddexp.reduce(ratios.sum(axis=0))) - math.log(_STEPS)


def _moved(instance: Instance) -> FloatArray:
    """Return the two means for every step of the scale. Shape (2, steps)."""
    noise, most = instance.sd, _MOST
    if _is_coin(instance):
        low, high = instance.objectives[0].family.range
        most = 0.98 * float((np.minimum(instance.means - low, high - instance.means) / noise).min())
    amounts = np.geomspace(_LEAST, most, _STEPS)
    return np.asarray(instance.means + noise * _UP_AND_DOWN[:, None] * amounts)


def _is_coin(instance: Instance) -> bool:
    return instance.objectives[0].family.histogram_bins > 0


def _noise(instance: Instance) -> FloatArray | None:
    return None if _is_coin(instance) else instance.sd
