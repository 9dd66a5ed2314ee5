"""Stopping by the GLR statistic with one of the thresholds of :mod:`mobai.theory.thresholds`."""

from __future__ import annotations

from dataclasses import dataclass

from mobai.problem import Problem, Tally
from mobai.rules.stopping.base import Decision
from mobai.rules.stopping.ladder import Ladder
from mobai.theory.thresholds import check_families, find_threshold, reached_level, weakest_pairs


@dataclass(frozen=True)
class GLR:
    """Decide an objective once its evidence exceeds the level that delta demands.

    With ``mixture`` and ``kaufmann_koolen`` every objective is decided at its own time and stays decided. With
    ``theory`` and ``empirical``, and with ``at_once``, all are decided together, at the first time when every one
    exceeds the level (the paper).

    Examples
    --------
    >>> GLR().certified, GLR("empirical").certified
    (True, False)
    """

    threshold: str = "mixture"
    at_once: bool = False

    def __post_init__(self) -> None:
        """Check the name of the threshold."""
        find_threshold(self.threshold)

    @property
    def name(self) -> str:
        """The name of the threshold."""
        return f"{self.threshold}, all at once" if self.at_once else self.threshold

    @property
    def certified(self) -> bool:
        """Whether there is a proof that the error probability is at most delta."""
        return find_threshold(self.threshold).certified

    @property
    def sticky(self) -> bool:
        """Whether objectives are decided one by one."""
        return find_threshold(self.threshold).sticky and not self.at_once

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Give the evidence that delta demands of every objective; refuses families it is not proven for."""
        rule = find_threshold(self.threshold)
        if rule.gaussian_only:
            check_families(f"threshold {self.threshold!r}", problem)
        return rule.level(log_inv_delta, *problem.shape)

    def reached(self, problem: Problem, evidence: float) -> float:
        """Give the largest log(1/delta) that so much evidence is enough for, 0 if for none."""
        return reached_level(find_threshold(self.threshold), evidence, *problem.shape)

    def start(self, problem: Problem) -> GLRWatch:
        """Begin to watch an experiment."""
        return GLRWatch(self, problem)


class GLRWatch:
    """The ladder of one experiment's evidence: that of each objective's weakest pair."""

    def __init__(self, rule: GLR, problem: Problem) -> None:
        self._rule, self._problem = rule, problem
        self._ladder = Ladder(problem.shape[1], sticky=rule.sticky)
        self.look(Tally(problem))

    def look(self, tally: Tally) -> None:
        """Weigh the evidence after an answer."""
        rule = find_threshold(self._rule.threshold)
        self.leaders, self.evidence = weakest_pairs(rule, self._problem, tally)
        self._ladder.climb(tally.told, self.evidence, self.leaders)

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Give each objective's first crossing of the level of delta, or None."""
        return self._ladder.decisions(self._rule.level(self._problem, log_inv_delta))
