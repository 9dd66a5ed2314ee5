"""A simulated world: pulls an arm of an instance and returns noisy rewards."""

from __future__ import annotations

import numpy as np

from mobai.problem import FloatArray, Instance


class Environment:
    """Gaussian rewards around an instance's means, independent across pulls and objectives."""

    def __init__(self, instance: Instance, rng: np.random.Generator) -> None:
        self._instance, self._rng = instance, rng

    def pull(self, arm: int) -> FloatArray:
        """Give one reward per objective, in the objectives' own directions and units."""
        noise = self._rng.standard_normal(self._instance.shape[1])
        rewards: FloatArray = self._instance.means[arm] + self._instance.sd[arm] * noise
        return rewards
