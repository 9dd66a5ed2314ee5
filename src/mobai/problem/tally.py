"""What has been seen so far: the sufficient statistics of an experiment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy

import numpy as np
import numpy.typing as npt

from mobai.problem.problem import FloatArray, IntArray, Problem


class Tally:
    """Counts, sums and scatter per arm and objective: everything a rule may look at.

    Rewards are *oriented*: minimised objectives are negated at the border, so that more is better here.

    Attributes
    ----------
    asked
        How often each arm was handed out, answered or not. Tracking reads this. Shape (K,).
    answered
        How many of these have been answered, with one reward or with all. Shape (K,).
    pulls
        How many rewards each arm has returned, per objective. Estimates read this. Shape (K, M).
    sums
        The sum of those rewards. Shape (K, M).
    scatter
        The sum of their squared distances from their mean. Shape (K, M).
    open
        Objectives that sampling should still work for. Shape (M,).
    told
        How many pulls have been answered.
    """

    def __init__(self, problem: Problem) -> None:
        self.asked: IntArray = np.zeros(problem.shape[0], dtype=np.intp)
        self.answered: IntArray = np.zeros(problem.shape[0], dtype=np.intp)
        self.pulls: IntArray = np.zeros(problem.shape, dtype=np.intp)
        self.sums: FloatArray = np.zeros(problem.shape)
        self.scatter: FloatArray = np.zeros(problem.shape)
        self.open: npt.NDArray[np.bool_] = np.ones(problem.shape[1], dtype=np.bool_)
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
        return int(np.count_nonzero(self.pulls)) == self.pulls.size

    def ask(self, arm: int) -> None:
        """Count an arm as handed out."""
        self.asked[arm] += 1

    def drop(self, arm: int) -> None:
        """Count a hand-out as never answered."""
        self.asked[arm] -= 1

    def add_arm(self) -> None:
        """Make room for one more arm."""
        for name in ("asked", "answered", "pulls", "sums", "scatter"):
            table = getattr(self, name)
            setattr(self, name, np.concatenate([table, np.zeros_like(table[:1])]))

    def rows(self, arms: IntArray) -> Tally:
        """Give the tally of some arms alone, a copy."""
        part = copy(self)
        for name in ("asked", "answered", "pulls", "sums", "scatter"):
            setattr(part, name, getattr(self, name)[arms])
        part.open = self.open.copy()
        return part

    def tell(self, arm: int, rewards: Iterable[float], *, first: bool = True) -> None:
        """Add the oriented rewards of one pull; NaN where one is missing.

        Rewards that come after the first ones of the same pull are told with ``first=False``.
        """
        for m, reward in enumerate(map(float, rewards)):
            if not math.isnan(reward):
                count, total = int(self.pulls[arm, m]), float(self.sums[arm, m])
                before = total / count if count else reward
                # Welford's update: no difference of large numbers.
                after = (total + reward) / (count + 1)
                self.pulls[arm, m], self.sums[arm, m] = count + 1, total + reward
                self.scatter[arm, m] += (reward - before) * (reward - after)
        if first:
            self.answered[arm] += 1
            self.told += 1
