"""A stopping rule that is wrong on purpose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mobai.problem import FloatArray, Problem
from mobai.rules.stopping import Decision, EvidenceRecords
from mobai.theory.observations import Observations


@dataclass(frozen=True)
class PeekedTest:
    """A one-sided test, valid at one sample size chosen beforehand, looked at after every pull until it says yes."""

    name = "peeked test"
    certified = False

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return half the square of the normal quantile of delta, shared out over the pairs."""
        from scipy.special import ndtri

        pairs = problem.shape[1] * (problem.shape[0] - 1)
        return float(ndtri(math.exp(-log_inv_delta) / pairs)) ** 2 / 2

    def reached(self, problem: Problem, evidence: float) -> float:
        """Invert the level."""
        from scipy.special import log_ndtr

        pairs = problem.shape[1] * (problem.shape[0] - 1)
        return max(-float(log_ndtr(-math.sqrt(2 * max(evidence, 0.0)))) - math.log(pairs), 0.0)

    def start(self, problem: Problem, log_inv_delta: float | None = None) -> PeekingMonitor:  # noqa: ARG002
        """Begin to follow an experiment."""
        return PeekingMonitor(self, problem)


class PeekingMonitor:
    """Looks at the GLR statistic as if for the first time, every time."""

    def __init__(self, rule: PeekedTest, problem: Problem) -> None:
        self._rule, self._problem = rule, problem
        self._records = EvidenceRecords(problem.shape[1], sticky=True)

    def look(self, observations: Observations, at: float | None = None) -> bool:
        """Enter what exceeds all evidence so far; whether something did."""
        evidence = self.evidence(observations)
        higher = np.flatnonzero(evidence > self._records.to_beat).tolist()
        for m in higher:
            self._records.add(m, float(evidence[m]), observations.leaders, observations.told, at)
        return bool(higher)

    def evidence(self, observations: Observations) -> FloatArray:
        """Return the smallest transport cost of every objective."""
        smallest: FloatArray = observations.costs.min(axis=0)
        return smallest

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Return each objective's first crossing of the level of delta, or None."""
        return self._records.decisions(self._rule.level(self._problem, log_inv_delta))
