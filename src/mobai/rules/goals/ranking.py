"""All arms in order, objective by objective. Proof: docs/goals.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mobai.problem import Problem
from mobai.rules.goals.base import Claims, GoalAnswer
from mobai.rules.goals.shared import need_means, order_of_claims, pairs_in_doubt


@dataclass(frozen=True)
class Ranking:
    """The order of all arms: said of an objective once every arm is proven better, within eps, than all after it.

    With eps = 0 a wrong order puts two arms that are truly neighbours the wrong way round: M(K-1) claims. Else there
    are M K(K-1)/2.
    """

    @property
    def word(self) -> str:
        """How it is written."""
        return "ranking"

    def check(self, problem: Problem) -> None:
        """Refuse wins, which need not have an order."""
        need_means(self.word, problem)

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return the evidence that every pair needs."""
        return log_inv_delta + math.log(pairs_in_doubt(problem))

    def answer(self, problem: Problem, claims: Claims, log_inv_delta: float) -> GoalAnswer:
        """Return the order of every objective in which it is proven; no arms where it is open."""
        groups: dict[str, tuple[str, ...]] = {}
        for m, name in enumerate(problem.objective_names):
            proven, order = order_of_claims(claims, m, self.level(problem, log_inv_delta))
            whole = bool(proven[np.ix_(order, order)][np.triu_indices(len(order), 1)].all())
            groups[name] = tuple(problem.arms[i] for i in order.tolist()) if whole else ()
        return GoalAnswer(self.word, all(groups.values()), groups)
