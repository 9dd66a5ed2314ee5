"""What goals with an order have in common."""

from __future__ import annotations

from mobai.errors import InputError
from mobai.problem import Problem


def need_means(word: str, problem: Problem) -> None:
    """Refuse metrics of which wins count: arms may beat each other in a circle."""
    for objective in problem.objectives:
        if objective.family.counts_wins:
            raise InputError("goal", f"must not be {word} where wins count, which may have no order: {objective.name}")


def pairs_in_doubt(problem: Problem) -> int:
    """Return how many claims can be what makes an order wrong, over all objectives."""
    arms, objectives = problem.shape
    exact = not (problem.eps[:objectives] > 0).any()
    return objectives * (arms - 1 if exact else arms * (arms - 1) // 2)
