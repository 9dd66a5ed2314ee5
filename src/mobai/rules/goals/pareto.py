"""The Pareto set: the arms that no other one beats in every objective. Proof: docs/goals.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mobai.errors import InputError
from mobai.problem import Problem
from mobai.rules.goals.base import Claims, GoalAnswer


@dataclass(frozen=True)
class Pareto:
    """Which arms are on the front, and which are dominated.

    An arm is dominated once the *least* evidence, over objectives, that one other arm is better exceeds
    log(K(K-1)/delta); it is on the front once the *largest* evidence that it is better, within eps, exceeds
    log((M-1)K(K-1)/delta) against every other one, or log(MK(K-1)/delta) where an objective has an eps.
    """

    @property
    def word(self) -> str:
        """How it is written."""
        return "pareto"

    def check(self, problem: Problem) -> None:
        """Refuse a single objective."""
        if problem.shape[1] < 2:
            raise InputError("goal", "must not be pareto with a single objective: that is its best arm")

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return the evidence that being on the front needs."""
        arms, objectives = problem.shape
        factor = objectives if (problem.eps[:objectives] > 0).any() else objectives - 1
        return log_inv_delta + math.log(factor * arms * (arms - 1))

    def answer(self, problem: Problem, claims: Claims, log_inv_delta: float) -> GoalAnswer:
        """Return who is on the front, who is dominated, and of whom that is open."""
        arms = problem.shape[0]
        itself = np.eye(arms, dtype=bool)
        behind = claims.strict.min(axis=0) > log_inv_delta + math.log(arms * (arms - 1))
        dominated = (behind & ~itself).any(axis=0)
        ahead = claims.near.max(axis=0) > self.level(problem, log_inv_delta)
        front = (ahead | itself).all(axis=1)
        groups = {"on the front": front, "dominated": dominated, "open": ~front & ~dominated}
        named = {name: tuple(np.array(problem.arms, object)[flags].tolist()) for name, flags in groups.items()}
        return GoalAnswer(self.word, not named["open"], named)
