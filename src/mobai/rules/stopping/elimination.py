"""Stopping by elimination: an objective is decided when one arm is left. SuccessiveElimination stops this way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai.errors import InputError
from mobai.kernels.trials.sampling import elimination as kernels
from mobai.problem import FloatArray, Problem
from mobai.rules.stopping.base import Decision
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.observations import Observations
from mobai.theory.thresholds import check_families


def new_survivors(problem: Problem) -> kernels.Survivors:
    """Return who takes part for the first objective: all arms."""
    arms, objectives = problem.shape
    nothing = np.full(objectives, -1)
    return kernels.Survivors(
        np.zeros(arms, np.int64), np.zeros(1, np.int64), np.ones(arms, np.int64), nothing, nothing.copy()
    )


@dataclass(frozen=True)
class Elimination:
    """The stopping rule inside :class:`mobai.SuccessiveElimination`, at its delta only."""

    delta: float
    as_printed: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        resolve_log_inv_delta(self.delta)
        if not isinstance(self.as_printed, bool):
            raise InputError("as_printed", f"must be true or false, not {self.as_printed!r}")

    @property
    def name(self) -> str:
        """The name in results."""
        return "elimination"

    @property
    def certified(self) -> bool:
        """Whether there is a proof: not for the printed radius."""
        return not self.as_printed

    @property
    def fits_intervals(self) -> bool:
        """Whether the confidence intervals may use its decisions: they come from another event."""
        return False

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return log(1/delta), and refuse any other delta than its own, and other rewards than its proof speaks of."""
        check_families("successive-elimination", problem)
        if problem.guardrails:
            raise InputError("guardrails", "must be left out: successive-elimination is not proven for limits")
        own = resolve_log_inv_delta(self.delta)
        if not abs(log_inv_delta - own) <= 1e-12 * own:
            raise InputError(
                "delta",
                f"successive-elimination was set up for {self.delta:g} and can answer no other, "
                f"not {np.exp(-log_inv_delta):g}",
            )
        return own

    def reached(self, problem: Problem, evidence: float) -> float:  # noqa: ARG002
        """Return its own log(1/delta) if the evidence is enough, else 0."""
        own = resolve_log_inv_delta(self.delta)
        return own if evidence > own else 0.0

    def start(self, problem: Problem, log_inv_delta: float | None = None) -> EliminationMonitor:
        """Begin to follow an experiment."""
        self.level(problem, resolve_log_inv_delta(self.delta) if log_inv_delta is None else log_inv_delta)
        return EliminationMonitor(self, problem)


class EliminationMonitor:
    """One experiment. Its evidence is ``log(1/delta) (gap / radii)^2``, enough beyond log(1/delta)."""

    def __init__(self, rule: Elimination, problem: Problem) -> None:
        self._rule, self._problem = rule, problem
        self._survivors = new_survivors(problem)

    def look(self, observations: Observations, at: float | None = None) -> bool:  # noqa: ARG002
        """Drop arms that are too far behind, once a round is complete; whether an objective was decided."""
        before = self._survivors.answers.copy()
        if observations.complete:
            x = resolve_log_inv_delta(self._rule.delta)
            kernels.eliminate(observations.arrays, observations.told, x, self._rule.as_printed, self._survivors)
        return not np.array_equal(before, self._survivors.answers)

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Return what is decided at the rule's own delta."""
        self._rule.level(self._problem, log_inv_delta)
        pairs = zip(self._survivors.answers.tolist(), self._survivors.decided.tolist(), strict=True)
        return tuple(None if arm < 0 else Decision(arm, pull) for arm, pull in pairs)

    def evidence(self, observations: Observations) -> FloatArray:
        """Compare the leader with its closest rival, objective by objective."""
        arms, objectives = self._problem.shape
        if not observations.complete:
            return np.zeros(objectives)
        x, means = resolve_log_inv_delta(self._rule.delta), observations.arrays.means.T
        n = np.full((arms, objectives), float(observations.told)) if self._rule.as_printed else observations.pulls
        radius = self._problem.sd * np.sqrt(2 * (np.log(4 * arms * objectives * n**2.0) + x) / n)
        best = (observations.leaders, np.arange(objectives))
        share = (means[best] - means) / (radius + radius[best])
        share[best] = np.inf
        weakest: FloatArray = x * share.min(axis=0) ** 2
        return weakest
