"""MO-BAI (Algorithm 1 of the paper): track the surrogate proportions of a linear program.

At pull t the weights ``w = (N + B) / (t - 1)`` are what the program has asked for so far, ``s`` maximises the rates
of the planning instance linearised at w over Gamma_eta, the arm with the largest credit ``B + s`` is pulled, and
the buffer B keeps what it was not. The planning instance is refreshed when t is a power of two, as in the paper
(l_t), or at every pull. (The paper's line 8, ``t <- t + 1`` inside its for loop, is a slip: it would skip every
other index.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mobai.errors import InputError
from mobai.kernels.trials.sampling import planned as kernels
from mobai.kernels.trials.sampling.planning import PlanArrays
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule, new_plan
from mobai.theory.pairs import floor_mass


@dataclass(frozen=True)
class MOBAI(CompiledRule):
    """The paper's sampling rule, asymptotically optimal up to a factor 1 + eta.

    Parameters
    ----------
    eta
        Every arm keeps at least the weight ``eta / (K (1 + eta))``.
    refresh
        ``"doubling"``: plan on the means seen when t was last a power of two (the paper). ``"every"``: on the
        current means, which measures better and is not covered by the paper's proof.
    """

    eta: float = 0.1
    refresh: Literal["doubling", "every"] = "doubling"
    name = "mo-bai"

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not floor_mass(self.eta) > 0:
            raise InputError("eta", f"must be positive, not {self.eta!r}")
        if self.refresh not in ("doubling", "every"):
            raise InputError("refresh", f"must be 'doubling' or 'every', not {self.refresh!r}")
        object.__setattr__(self, "eta", float(self.eta))

    def init(self, problem: Problem) -> PlanArrays:
        """Start with an empty buffer and no plan."""
        arms, _ = problem.shape
        return new_plan(problem, np.zeros(arms))

    def play(self, memory: PlanArrays, trial: TrialArrays) -> int:
        """Solve the program at the weights asked so far and pull the arm with the largest credit."""
        floor = floor_mass(self.eta) / len(trial.obs.asked)
        return kernels.play(trial, kernels.MO_BAI, floor, self.refresh == "every", memory)
