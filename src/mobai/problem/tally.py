"""What has been seen so far: the sufficient statistics of an experiment."""

from __future__ import annotations

import numpy as np

from mobai.problem.problem import FloatArray, IntArray, Problem


class Tally:
    """Counts and sums per arm and objective: everything a rule may look at.

    Rewards are *oriented*: minimised objectives are negated at the border, so that more is better here.

    Attributes
    ----------
    asked
        How often each arm was handed out, answered or not. Tracking reads this. Shape (K,).
    pulls
        How many rewards each arm has returned, per objective. Estimates read this. Shape (K, M).
    sums
        The sum of those rewards. Shape (K, M).
    told
        How many pulls have been answered.
    """

    def __init__(self, problem: Problem) -> None:
        self.asked: IntArray = np.zeros(problem.shape[0], dtype=np.intp)
        self.pulls: IntArray = np.zeros(problem.shape, dtype=np.intp)
        self.sums: FloatArray = np.zeros(problem.shape)
        self.told = 0

    @property
    def means(self) -> FloatArray:
        """The empirical means; an arm that has not answered yet counts as minus infinity."""
        if self.complete:
            return self.sums / self.pulls
        with np.errstate(invalid="ignore"):
            return np.where(self.pulls > 0, self.sums / np.maximum(self.pulls, 1), -np.inf)

    @property
    def complete(self) -> bool:
        """Whether every arm has answered in every objective."""
        return bool(self.pulls.min() > 0)

    def ask(self, arm: int) -> None:
        """Count an arm as handed out."""
        self.asked[arm] += 1

    def tell(self, arm: int, rewards: FloatArray) -> None:
        """Add the oriented rewards of one pull."""
        self.pulls[arm] += 1
        self.sums[arm] += rewards
        self.told += 1
