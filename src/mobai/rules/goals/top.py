"""The best k arms, objective by objective. Proof: docs/goals.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mobai.errors import InputError
from mobai.problem import Problem
from mobai.rules.goals.base import Claims, GoalAnswer
from mobai.rules.goals.shared import need_means, order_of_claims, pairs_in_doubt


@dataclass(frozen=True)
class Top:
    """The best k arms: said of an objective once each is proven better, within eps, than each of the others.

    With eps = 0 a wrong set has a false claim about the truly (k+1)st arm: M(K-1) claims. Else M K(K-1)/2.
    """

    k: int

    @property
    def word(self) -> str:
        """How it is written."""
        return f"top={self.k}"

    def check(self, problem: Problem) -> None:
        """Refuse as many as there are, and wins, which need not have an order."""
        if not 1 <= self.k < problem.shape[0]:
            most = problem.shape[0] - 1
            raise InputError("goal", f"must be top=1 to top={most} of {most + 1} arms, not {self.word}")
        need_means(self.word, problem)

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return the evidence that every pair needs."""
        return log_inv_delta + math.log(pairs_in_doubt(problem))

    def answer(self, problem: Problem, claims: Claims, log_inv_delta: float) -> GoalAnswer:
        """Return the best k of every objective in which they are proven; no arms where that is open."""
        groups: dict[str, tuple[str, ...]] = {}
        for m, name in enumerate(problem.objective_names):
            proven, order = order_of_claims(claims, m, self.level(problem, log_inv_delta))
            best, others = order[: self.k], order[self.k :]
            whole = bool(proven[np.ix_(best, others)].all())
            groups[name] = tuple(problem.arms[i] for i in sorted(best.tolist())) if whole else ()
        return GoalAnswer(self.word, all(groups.values()), groups)
