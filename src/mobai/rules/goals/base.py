"""What all goals have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mobai.problem import FloatArray, Problem


class Claims(NamedTuple):
    """The evidence of every ordered pair, in nats: by objective, the arm that is better, and the other one.

    ``strict`` that it is better, ``near`` that it is not worse by more than the objective's eps. Each is a bet of its
    own: if the claim is false, it ever exceeds x with probability at most exp(-x).
    """

    strict: FloatArray
    near: FloatArray


@dataclass(frozen=True)
class GoalAnswer:
    """What is known of an answer.

    Attributes
    ----------
    goal
        How it was asked for.
    decided
        Whether the answer is complete.
    groups
        Arms by what is proven of them, in words, in the order of the answer; of a goal with an answer per objective, by
        objective. What is open is last.
    """

    goal: str
    decided: bool
    groups: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        """Say it in a line."""
        said = "; ".join(f"{name}: {', '.join(arms)}" for name, arms in self.groups.items() if arms)
        return f"{self.goal}: {said}{'' if self.decided else ' (not complete)'}"


class Goal(Protocol):
    """Which claims an answer needs, and how much evidence of each."""

    @property
    def word(self) -> str:
        """How it is written."""

    def check(self, problem: Problem) -> None:
        """Refuse a problem that it has no answer for."""

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return the most evidence that any of its claims needs."""

    def answer(self, problem: Problem, claims: Claims, log_inv_delta: float) -> GoalAnswer:
        """Return what is proven, with error probability at most delta for everything that is ever said of it."""
