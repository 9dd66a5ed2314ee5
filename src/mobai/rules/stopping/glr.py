"""Stopping by the GLR statistic with one of the thresholds of :mod:`mobai.theory.thresholds`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai.problem import FloatArray, Problem, Tally
from mobai.theory.glr import GLRStatistic, tally_statistic
from mobai.theory.thresholds import find_threshold


@dataclass(frozen=True)
class GLR:
    """Decide an objective once its evidence exceeds the level that delta demands.

    With ``mixture`` and ``kaufmann_koolen`` every objective is decided at its own time and stays decided. With
    ``theory`` and ``empirical`` all are decided together, at the first time when every one exceeds the level (the
    paper).

    Examples
    --------
    >>> GLR().certified, GLR("empirical").certified
    (True, False)
    """

    threshold: str = "mixture"

    def __post_init__(self) -> None:
        """Check the name of the threshold."""
        find_threshold(self.threshold)

    @property
    def name(self) -> str:
        """The name of the threshold."""
        return self.threshold

    @property
    def certified(self) -> bool:
        """Whether there is a proof that the error probability is at most delta."""
        return find_threshold(self.threshold).certified

    @property
    def sticky(self) -> bool:
        """Whether objectives are decided one by one."""
        return find_threshold(self.threshold).sticky

    def evidence(self, problem: Problem, tally: Tally) -> tuple[GLRStatistic, FloatArray]:
        """Give the GLR statistic and the evidence of each objective, that of its weakest pair. Shape (M,)."""
        statistic = tally_statistic(problem, tally)
        best = (statistic.leaders, np.arange(problem.shape[1]))
        scores = find_threshold(self.threshold).score(
            statistic.pairs,
            leader=tally.pulls[best],
            other=tally.pulls,
            pulls=tally.told,
            shape=problem.shape,
            sd_ratio=problem.sd / problem.sd[best],
        )
        return statistic, scores.min(axis=0)

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Give the evidence that delta demands of every objective."""
        return find_threshold(self.threshold).level(log_inv_delta, *problem.shape)
