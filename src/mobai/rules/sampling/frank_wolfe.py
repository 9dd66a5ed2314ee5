"""Frank-Wolfe sampling (FWS: Wang, Tzeng and Proutiere 2021), for several objectives.

A target x moves by ``x <- ((t - 1) x + z) / t`` and the arm with the largest ``x_i / N_i`` is pulled. z is even when
``floor(t / K)`` is a square or a leader is tied; otherwise it is the best direction for the rates f_im that are
within ``r_t = t^-0.9 / K`` of the smallest one F, those of all objectives together::

    z = argmax over the simplex of  min over {f_im(x) < F(x) + r_t} of  <z, grad f_im(x)> / f_im(x)

The original takes ``<z - x, grad f>``. Divided by f, whose values here differ by less than r_t, that is the same step
for log F, which has the same maximiser; and since f is homogeneous, it is MO-BAI's linear program with gaps rescaled.
"""

from __future__ import annotations

from dataclasses import dataclass

from mobai.kernels.trials.sampling import planned as kernels
from mobai.kernels.trials.sampling.planning import PlanArrays
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule, new_plan


@dataclass(frozen=True)
class FrankWolfeSampling(CompiledRule):
    """Follow Frank-Wolfe steps on the current means."""

    name = "frank-wolfe"

    def init(self, problem: Problem) -> PlanArrays:
        """Start with an even target."""
        return new_plan(problem)

    def play(self, memory: PlanArrays, trial: TrialArrays) -> int:
        """Move the target and pull the arm furthest behind it."""
        return kernels.play(trial, kernels.FRANK_WOLFE, 0.0, False, memory)
