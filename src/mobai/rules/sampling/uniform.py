"""Uniform sampling: every arm in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mobai.kernels.sampling import uniform as kernels
from mobai.kernels.trial import Ladder, Seen, World
from mobai.problem import FloatArray, Problem
from mobai.rules.sampling.base import CompiledRule


@dataclass(frozen=True)
class Uniform(CompiledRule):
    """Ask for the least asked arm, the first of them in a tie: what a plain A/B/n test does."""

    name = "uniform"

    def init(self, problem: Problem) -> tuple[Any, ...]:  # noqa: ARG002
        """Nothing needs remembering."""
        return ()

    def play(
        self,
        memory: tuple[Any, ...],  # noqa: ARG002
        seen: Seen,
        world: World,
        ladder: Ladder,
        coins: FloatArray,  # noqa: ARG002 - nothing is left to chance
        pulls: int,
    ) -> int:
        """Pull the least asked arm, again and again."""
        return kernels.play(seen, world, ladder, pulls)
