"""What a sampling rule sees of an experiment: the arms that take part, with pending pulls counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobai.kernels.programs.dense import Integers
from mobai.problem import Problem
from mobai.theory.observations import Moment, Observations

# Moments that are put off.
_MOST_KEPT = 256


class SamplingView:
    """The observations of the active arms, which the rule knows by their rows.

    They are brought up to date when somebody looks at them: a long journal is read without anybody looking.

    Attributes
    ----------
    problem
        The problem of the active arms, as the rule is given it.
    arms
        The arm of each row.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self._observations = problem, Observations(problem, counts_pending=True)
        self.arms = list(range(problem.shape[0]))
        self._rows = np.array(self.arms, np.int64)  # of each arm, -1 for one that does not take part
        self._asked: dict[int, int] = {}  # by row, since somebody looked; and what was told since
        self._told: list[tuple[Moment, Integers]] = []

    @property
    def observations(self) -> Observations:
        """What the rule is given."""
        self._catch_up()
        return self._observations

    def _catch_up(self) -> None:
        for row, times in self._asked.items():
            self._observations.ask(row, times)
        for moment, ends in self._told:
            self._observations.tell_in_order(moment, ends)
        self._asked.clear()
        self._told.clear()

    def ask(self, arm: int, times: int = 1) -> None:
        """Count an arm as asked for, if it takes part; a negative number of times for pulls that never were."""
        row = int(self._rows[arm])
        if row >= 0:
            self._asked[row] = self._asked.get(row, 0) + times

    def forget_ask(self, arm: int) -> None:
        """Count a pull as never asked for; what was pending of it is told apart."""
        row = int(self._rows[arm])
        if row >= 0:
            self.observations.arrays.asked[row] -= 1

    def tell_all(self, rows: Moment, ends: Integers) -> None:
        """Add what was told of pulls, moment by moment; that of arms that do not take part is left out."""
        self._told.append((rows._replace(arms=self._rows[rows.arms]), ends))
        if len(self._told) >= _MOST_KEPT:
            self._catch_up()

    def enrol(self, problem: Problem, active: npt.NDArray[np.bool_]) -> None:
        """Take note of who takes part now; what was observed of them is kept."""
        rows = [*self._rows.tolist(), *[-1] * (problem.shape[0] - len(self._rows))]
        self.arms = np.flatnonzero(active).tolist()
        names = [problem.arms[arm] for arm in self.arms]
        self.problem = problem.with_arms(names, problem.sd[self.arms])
        self._observations = self.observations.with_arms(self.problem, [rows[arm] for arm in self.arms])
        self._rows = np.full(problem.shape[0], -1)
        self._rows[self.arms] = np.arange(len(self.arms))
