"""When arms that are compared on the same things are told apart: at one level of evidence for every pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mobai.errors import InputError
from mobai.problem import FloatArray, Problem
from mobai.rules.stopping.base import Decision
from mobai.rules.stopping.comparison import Comparison
from mobai.theory.observations import Observations
from mobai.theory.thresholds import INTERVAL_SHARE


@dataclass(frozen=True)
class Paired:
    """Rule an arm out once another one beats it, and decide an objective once one arm is left (docs/guarantee.md).

    Parameters
    ----------
    interval_share
        The share of delta that the confidence intervals have for themselves.
    """

    interval_share: float = INTERVAL_SHARE
    name = "paired"
    certified = True
    reserve = 0.0
    fits_intervals = True

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return the logarithm of how many claims can be false, over the share of delta that decisions have."""
        return math.log(sum(problem.claims)) + log_inv_delta - math.log1p(-self.interval_share)

    def reached(self, problem: Problem, evidence: float) -> float:
        """Return the largest log(1/delta) that some evidence is enough for, 0 if for none."""
        return max(evidence - self.level(problem, 0.0), 0.0)

    def start(self, problem: Problem, log_inv_delta: float | None = None) -> PairedMonitor:
        """Begin to follow an experiment, at the only delta that is asked for."""
        if log_inv_delta is None or problem.design is None:
            raise InputError("stopping", "the rule for items and rounds takes one delta, and a problem with a design")
        return PairedMonitor(Comparison(problem, self.level(problem, log_inv_delta)))


class PairedMonitor:
    """Looks at a comparison, which decides by itself whenever something is told."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        # Of each objective: how many differences a decision takes.
        self.least = comparison.measures.least

    def look(self, observations: Observations, at: float | None = None) -> bool:  # noqa: ARG002
        """Do nothing: what is decided does not depend on the means of arms."""
        return False

    def evidence(self, observations: Observations) -> FloatArray:  # noqa: ARG002
        """Return the evidence of every objective at this moment, in nats."""
        return self.comparison.evidence()

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:  # noqa: ARG002
        """Return each objective's decision, or None."""
        return tuple(self.comparison.decided)
