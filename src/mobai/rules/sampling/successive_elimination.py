"""MO-SE (Algorithm 4 of the paper): successive elimination (Even-Dar, Mannor and Mansour 2006), objective by objective.

For each objective in turn all arms start alive; every round pulls each arm alive once and then drops those whose mean
(over all rewards seen so far) is behind the best by more than the two arms' radii
``sd sqrt(2 log(4 M K n^2 / delta) / n)``. The last one is the answer.

As printed n counts *all* pulls, which is far too confident with many arms; here it counts the arm's own, as in the
original, and ``as_printed=True`` gives the printed rule. The repaired rule is certified: a mean leaves its
radius with probability at most ``delta / (2 M K n^2)``, and the sum over n, arms and objectives is below delta.

The rule carries its delta, stops by itself, and answers that delta only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mobai.kernels.trials.sampling import elimination as kernels
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule
from mobai.rules.stopping import StoppingRule
from mobai.rules.stopping.elimination import Elimination, new_survivors
from mobai.theory.confidence import resolve_log_inv_delta


@dataclass(frozen=True)
class SuccessiveElimination(CompiledRule):
    """Pull every arm that is still in for the current objective, round by round.

    Parameters
    ----------
    delta
        The error probability it stops at.
    as_printed
        Count all pulls in the radius, as the paper prints it.
    """

    delta: float
    as_printed: bool = False
    name = "successive-elimination"

    def __post_init__(self) -> None:
        """Check the parameters."""
        Elimination(self.delta, self.as_printed)

    @property
    def stopping(self) -> Elimination:
        """The only stopping rule it goes with."""
        return Elimination(self.delta, self.as_printed)

    def init(self, problem: Problem) -> kernels.Survivors:
        """Start with all arms in."""
        return new_survivors(problem)

    def can_follow(self, stoppings: Sequence[StoppingRule]) -> bool:
        """Whether whole trials can be compiled with these stopping rules: with its own alone."""
        return list(stoppings) == [self.stopping]

    def play(self, memory: kernels.Survivors, trial: TrialArrays) -> int:
        """Pull the next arm of the round; when everything is decided, all arms in turn."""
        x = resolve_log_inv_delta(self.delta)
        return kernels.play(trial, x, self.as_printed, memory)
