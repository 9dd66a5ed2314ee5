"""Uniform sampling: every arm in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mobai.kernels.trials.sampling import uniform as kernels
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule


@dataclass(frozen=True)
class Uniform(CompiledRule):
    """Ask for the least asked arm, the first of them in a tie: what a plain A/B/n test does."""

    name = "uniform"

    def init(self, problem: Problem) -> tuple[Any, ...]:  # noqa: ARG002
        """Return the memory to start with: an empty tuple, because nothing is remembered."""
        return ()

    def play(self, memory: tuple[Any, ...], trial: TrialArrays) -> int:  # noqa: ARG002
        """Pull the least asked arm, again and again."""
        return kernels.play(trial)
