"""A simulated environment: pulls an arm of an instance and returns noisy rewards."""

from __future__ import annotations

import hashlib

import numpy as np

from mobai.problem import Family, FloatArray, Instance
from mobai.seeds import digest

ROWS = 64


class Noise:
    """Standard normal noise by arm and pull: the n-th pull of an arm meets the same noise whichever rule asks for it.

    Rules that are compared on the same trial therefore see the same rewards, in another order.
    """

    def __init__(self, instance: Instance, seed: int, trial: int) -> None:
        key = digest(seed, "noise", fingerprint(instance), "trial", trial)
        self._bits = np.random.Philox(key=key)
        self._rng = np.random.Generator(self._bits)
        self._objectives = len(instance.problem.metrics)

    def block(self, arm: int, index: int) -> FloatArray:
        """Return the noise of an arm's pulls from ``64 index`` on. Shape (64, M)."""
        state = self._bits.state
        # Philox is a function of key and counter: every block has its own stretch of counters.
        state["state"]["counter"][:] = (0, 0, arm, index)
        state["buffer_pos"], state["has_uint32"] = 4, 0
        self._bits.state = state
        return self._rng.standard_normal((ROWS, self._objectives))


class Rewards:
    """The rewards of an instance by arm and pull: its means, and noise in the shape of each objective's family."""

    def __init__(self, instance: Instance, seed: int, trial: int) -> None:
        self._instance, self._noise = instance, Noise(instance, seed, trial)
        families = [objective.family for objective in instance.problem.metrics]
        # Where noise is simply added to the mean, all objectives are drawn at once.
        self._others = [
            (m, family)
            for m, family in enumerate(families)
            if family.histogram_bins or type(family).draw is not Family.draw
        ]

    def block(self, arm: int, index: int) -> FloatArray:
        """Return the rewards of an arm's pulls from ``64 index`` on, in the objectives' own units. Shape (64, M)."""
        noise, means, sd = self._noise.block(arm, index), self._instance.means[arm], self._instance.sd[arm]
        rewards: FloatArray = means + sd * noise
        for m, family in self._others:
            rewards[:, m] = family.draw(means[m], sd[m], noise[:, m])
        return rewards


class Environment:
    """Rewards around an instance's means, independent across pulls, arms and objectives."""

    def __init__(self, instance: Instance, seed: int = 0, trial: int = 0) -> None:
        self._rewards = Rewards(instance, seed, trial)
        self._pulls = [0] * instance.shape[0]
        self._blocks: dict[int, FloatArray] = {}

    def pull(self, arm: int) -> FloatArray:
        """Return one reward per objective, in the objectives' own directions and units."""
        index, row = divmod(self._pulls[arm], ROWS)
        if row == 0:
            self._blocks[arm] = self._rewards.block(arm, index)
        self._pulls[arm] += 1
        rewards: FloatArray = self._blocks[arm][row]
        return rewards


def fingerprint(instance: Instance) -> str:
    """Name an instance by its means, noise and directions."""
    parts = (np.array(instance.shape), instance.means, instance.sd, instance.problem.signs)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]
