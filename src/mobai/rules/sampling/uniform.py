"""Uniform sampling: every arm in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai.problem import Problem, Tally


@dataclass(frozen=True)
class Uniform:
    """Ask for the least asked arm, the first of them in a tie: what a plain A/B/n test does."""

    name = "uniform"

    def init(self, problem: Problem) -> None:
        """Nothing needs remembering."""

    def choose(
        self,
        problem: Problem,  # noqa: ARG002
        memory: None,
        tally: Tally,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[int, None]:
        """Give the least asked arm."""
        return int(tally.asked.argmin()), memory
