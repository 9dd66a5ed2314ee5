"""Baseline (Algorithms 2 and 3 of the paper): D-Tracking of weights from a few steps of a sub-routine.

Garivier and Kaufmann's D-Tracking (2016) with the oracle weights of the empirical means approximated: starting from
even weights (``Baseline``) or from those of the pull before (``Baseline-Non-Unif``), the sub-routine averages the
solutions of the surrogate program over the plain simplex, each linearised at the average so far. When the least
pulled arm has fewer than ``sqrt((t - 1) / K)`` pulls it is pulled instead, ties broken at random.

Two slips of the paper and what is done here. Its line 7 pulls ``argmax N - t w``, the most over-sampled arm; the rule
tracks ``argmax t w - N``, and ``as_printed=True`` gives the printed sign. After the first step weights can be zero:
where both arms of a pair have none, its gradient is taken at equal, vanishing weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mobai.errors import InputError
from mobai.kernels.trials.sampling import planned as kernels
from mobai.kernels.trials.sampling.planning import PlanArrays
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule, new_plan


@dataclass(frozen=True)
class DTracking(CompiledRule):
    """The paper's baseline.

    Parameters
    ----------
    iterations
        How many programs the sub-routine solves for each pull.
    start
        Where it starts: ``"uniform"`` weights or those of the ``"previous"`` pull.
    as_printed
        Track with the sign as printed, which pulls the most over-sampled arm.
    """

    iterations: int = 20
    start: Literal["uniform", "previous"] = "uniform"
    as_printed: bool = False
    name = "d-tracking"

    def __post_init__(self) -> None:
        """Check the parameters."""
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 1:
            raise InputError("iterations", f"must be a whole number, 1 or more, not {self.iterations!r}")
        if self.start not in ("uniform", "previous"):
            raise InputError("start", f"must be 'uniform' or 'previous', not {self.start!r}")
        if not isinstance(self.as_printed, bool):
            raise InputError("as_printed", f"must be true or false, not {self.as_printed!r}")

    def init(self, problem: Problem) -> PlanArrays:
        """Start with even weights."""
        return new_plan(problem, programs=self.iterations)

    def play(self, memory: PlanArrays, trial: TrialArrays) -> int:
        """Explore when an arm lags behind, else pull the arm furthest behind its weight."""
        sign = -1.0 if self.as_printed else 1.0
        return kernels.play(trial, kernels.D_TRACKING, sign, self.start == "uniform", memory)
