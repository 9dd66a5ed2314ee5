"""What a sampling rule sees of an experiment: the arms that take part, with pending pulls counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobai.kernels.dense import Integers
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations


class SamplingView:
    """The observations of the active arms, which the rule knows by their rows.

    Attributes
    ----------
    problem, observations
        What the rule is given.
    arms
        The arm of each row.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.observations = problem, Observations(problem, counts_pending=True)
        self.arms = list(range(problem.shape[0]))
        self._rows = np.array(self.arms, np.int64)  # of each arm, -1 for one that does not take part

    def has(self, arm: int) -> bool:
        """Whether an arm takes part."""
        return bool(self._rows[arm] >= 0)

    def ask(self, arm: int) -> None:
        """Count an arm as asked for, if it takes part."""
        if self.has(arm):
            self.observations.ask(self._rows[arm])

    def drop(self, arm: int) -> None:
        """Count a pending pull as never asked for, if its arm takes part."""
        if self.has(arm):
            self.observations.drop(self._rows[arm])

    def tell_all(self, arms: Integers, rewards: FloatArray, first: npt.NDArray[np.bool_]) -> None:
        """Add the rewards of several pulls; those of arms that do not take part are left out."""
        self.observations.tell_all(self._rows[arms], rewards, first)

    def enrol(self, problem: Problem, active: npt.NDArray[np.bool_]) -> None:
        """Take note of who takes part now; what was observed of them is kept."""
        rows = [*self._rows.tolist(), *[-1] * (problem.shape[0] - len(self._rows))]
        self.arms = np.flatnonzero(active).tolist()
        names = [problem.arms[arm] for arm in self.arms]
        self.problem = Problem(names, problem.objectives, problem.sd[self.arms])
        self.observations = self.observations.with_arms(self.problem, [rows[arm] for arm in self.arms])
        self._rows = np.full(problem.shape[0], -1)
        self._rows[self.arms] = np.arange(len(self.arms))
