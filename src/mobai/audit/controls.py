"""A stopping rule that is wrong on purpose."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mobai.problem import FloatArray, IntArray, Problem, Tally
from mobai.rules.stopping.base import Decision
from mobai.rules.stopping.ladder import Ladder
from mobai.theory.glr import tally_statistic


@dataclass(frozen=True)
class PeekedTest:
    """A one-sided test, valid at one sample size chosen beforehand, looked at after every pull until it says yes."""

    name = "peeked test"
    certified = False

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Give half the square of the normal quantile of delta, shared out over the pairs."""
        from scipy.special import ndtri

        pairs = problem.shape[1] * (problem.shape[0] - 1)
        return float(ndtri(math.exp(-log_inv_delta) / pairs)) ** 2 / 2

    def reached(self, problem: Problem, evidence: float) -> float:
        """Invert the level."""
        from scipy.special import log_ndtr

        pairs = problem.shape[1] * (problem.shape[0] - 1)
        return max(-float(log_ndtr(-math.sqrt(2 * max(evidence, 0.0)))) - math.log(pairs), 0.0)

    def start(self, problem: Problem) -> PeekingWatch:
        """Begin to watch an experiment."""
        return PeekingWatch(self, problem)


class PeekingWatch:
    """Looks at the GLR statistic as if for the first time, every time."""

    def __init__(self, rule: PeekedTest, problem: Problem) -> None:
        self._rule, self._problem = rule, problem
        self._ladder = Ladder(problem.shape[1], sticky=True)
        self.leaders: IntArray
        self.evidence: FloatArray
        self.look(Tally(problem))

    def look(self, tally: Tally) -> None:
        """Weigh the evidence after an answer."""
        statistic = tally_statistic(self._problem, tally)
        self.leaders, self.evidence = statistic.leaders, statistic.per_objective
        self._ladder.climb(tally.told, self.evidence, self.leaders)

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Give each objective's first crossing of the level of delta, or None."""
        return self._ladder.decisions(self._rule.level(self._problem, log_inv_delta))
