"""Track-and-Stop (Garivier and Kaufmann 2016) with the exact oracle weights of several objectives.

D-Tracking of the weights that attain the lower bound of the empirical means, from the solver behind
:func:`mobai.lower_bound`. They are computed again when a leader has changed or the pulls have grown by ``growth``
since; an arm with fewer than ``sqrt(t) - K/2`` pulls is pulled first.
"""

from __future__ import annotations

from dataclasses import dataclass

from mobai.errors import InputError
from mobai.kernels.trials.sampling import planned as kernels
from mobai.kernels.trials.sampling.planning import PlanArrays
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule, new_plan


@dataclass(frozen=True)
class TrackAndStop(CompiledRule):
    """Track the oracle weights of the current means.

    Parameters
    ----------
    growth
        The weights are renewed when the pulls have grown by this share: 0.01 for one per cent, 0 for every pull.
    """

    growth: float = 0.01
    name = "track-and-stop"

    def __post_init__(self) -> None:
        """Check the parameter."""
        if isinstance(self.growth, bool) or not isinstance(self.growth, int | float) or not 0 <= self.growth <= 10:
            raise InputError("growth", f"must be a number from 0 to 10, not {self.growth!r}")

    def init(self, problem: Problem) -> PlanArrays:
        """Start with even weights that are due at once."""
        return new_plan(problem)

    def play(self, memory: PlanArrays, trial: TrialArrays) -> int:
        """Explore when an arm lags behind, else pull the arm furthest behind its weight."""
        return kernels.play(trial, kernels.TRACK_AND_STOP, float(self.growth), False, memory)
