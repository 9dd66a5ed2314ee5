"""Stopping by elimination: an objective is decided when one arm is left. Goes with SuccessiveElimination only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mobai.errors import InputError
from mobai.kernels.sampling import elimination as kernels
from mobai.problem import FloatArray, IntArray, Problem, Tally
from mobai.rules.stopping.base import Decision
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.glr import lay_out
from mobai.theory.thresholds import check_families


class Race(NamedTuple):
    """Who is still in: rewards when the current objective began, rounds since, arms alive; decided arm and pull."""

    start: IntArray
    rounds: IntArray
    alive: IntArray
    answers: IntArray
    decided: IntArray


def nobody_out(problem: Problem) -> Race:
    """Start the race for the first objective."""
    arms, objectives = problem.shape
    nothing = np.full(objectives, -1)
    return Race(np.zeros(arms, np.int64), np.zeros(1, np.int64), np.ones(arms, np.int64), nothing, nothing.copy())


@dataclass(frozen=True)
class Elimination:
    """The stopping rule inside :class:`mobai.SuccessiveElimination`, at its delta only."""

    delta: float
    as_printed: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        resolve_log_inv_delta(self.delta)
        if not isinstance(self.as_printed, bool):
            raise InputError(f"as_printed must be true or false, not {self.as_printed!r}")

    @property
    def name(self) -> str:
        """The name in results."""
        return "elimination"

    @property
    def certified(self) -> bool:
        """Whether there is a proof: not for the printed radius."""
        return not self.as_printed

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Give log(1/delta), and refuse any other delta than its own, and other rewards than its proof speaks of."""
        check_families("successive-elimination", problem)
        own = resolve_log_inv_delta(self.delta)
        if not abs(log_inv_delta - own) <= 1e-12 * own:
            raise InputError(
                f"delta: successive-elimination was set up for {self.delta:g} and can answer no other, "
                f"not {np.exp(-log_inv_delta):g}"
            )
        return own

    def reached(self, problem: Problem, evidence: float) -> float:  # noqa: ARG002
        """Give its own log(1/delta) if so much evidence is enough, else 0."""
        own = resolve_log_inv_delta(self.delta)
        return own if evidence > own else 0.0

    def start(self, problem: Problem) -> EliminationWatch:
        """Begin to watch an experiment."""
        return EliminationWatch(self, problem)


class EliminationWatch:
    """The race of one experiment. Its evidence is ``log(1/delta) (gap / radii)^2``, enough beyond log(1/delta)."""

    def __init__(self, rule: Elimination, problem: Problem) -> None:
        self._rule, self._problem = rule, problem
        self._race = nobody_out(problem)
        self.leaders: IntArray = np.zeros(problem.shape[1], np.intp)
        self.evidence: FloatArray = np.zeros(problem.shape[1])

    def look(self, tally: Tally) -> None:
        """Drop who is too far behind, once a round is complete."""
        seen = lay_out(self._problem, tally)
        self.leaders = seen.leaders
        if tally.complete:
            x = resolve_log_inv_delta(self._rule.delta)
            kernels.eliminate(seen, tally.told, x, self._rule.as_printed, *self._race)
            self.evidence = self._weigh(tally, x)

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Give what is decided at the rule's own delta."""
        self._rule.level(self._problem, log_inv_delta)
        pairs = zip(self._race.answers.tolist(), self._race.decided.tolist(), strict=True)
        return tuple(None if arm < 0 else Decision(arm, pull) for arm, pull in pairs)

    def _weigh(self, tally: Tally, x: float) -> FloatArray:
        """Compare the leader with its closest rival, objective by objective."""
        arms, objectives = self._problem.shape
        n = np.full((arms, objectives), float(tally.told)) if self._rule.as_printed else tally.pulls.astype(float)
        radius = self._problem.sd * np.sqrt(2 * (np.log(4 * arms * objectives * n**2) + x) / n)
        best = (self.leaders, np.arange(objectives))
        share = (tally.means[best] - tally.means) / (radius + radius[best])
        share[best] = np.inf
        weakest: FloatArray = x * share.min(axis=0) ** 2
        return weakest
