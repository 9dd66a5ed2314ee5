"""What goals with an order have in common."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem import Problem
from mobai.rules.goals.base import Claims


def need_means(word: str, problem: Problem) -> None:
    """Refuse metrics of which wins count: arms may beat each other in a circle."""
    for objective in problem.objectives:
        if objective.family.counts_wins:
            raise InputError("goal", f"must not be {word} where wins count, which may have no order: {objective.name}")


def order_of_claims(claims: Claims, m: int, level: float) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Return which arm is proven better than which in an objective, and the arms by how many others they are."""
    proven = claims.near[m] > level
    np.fill_diagonal(proven, False)
    return proven, np.argsort(-proven.sum(axis=1), kind="stable")


def pairs_in_doubt(problem: Problem) -> int:
    """Return how many claims can be what makes an order wrong, over all objectives."""
    arms, objectives = problem.shape
    exact = not (problem.eps[:objectives] > 0).any()
    return objectives * (arms - 1 if exact else arms * (arms - 1) // 2)
