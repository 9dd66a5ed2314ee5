"""What a stopping rule is: it starts a watch over an experiment, which looks after every answer."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from mobai.problem import FloatArray, IntArray, Problem, Tally


class Decision(NamedTuple):
    """An objective's answer: the arm, and the number of answered pulls after which it was decided."""

    arm: int
    pull: int


class Watch(Protocol):
    """Follows one experiment.

    ``leaders`` are the empirical best arms and ``evidence`` what speaks for them, one per objective, as last looked at.
    """

    leaders: IntArray
    evidence: FloatArray

    def look(self, tally: Tally) -> None:
        """Weigh the evidence after an answer; every answer must be looked at, so that no crossing is missed."""
        ...

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Give each objective's decision at this delta, or None."""
        ...


class Reaching(Protocol):
    """Knows which delta some evidence is enough for."""

    def reached(self, problem: Problem, evidence: float) -> float:
        """Give the largest log(1/delta) that so much evidence is enough for, 0 if for none."""
        ...


@runtime_checkable
class StoppingRule(Reaching, Protocol):
    """Decides when the evidence is enough."""

    @property
    def name(self) -> str:
        """The name on the command line and in results."""
        ...

    @property
    def certified(self) -> bool:
        """Whether there is a proof that the error probability is at most delta."""
        ...

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Give the evidence that delta demands of every objective; InputError if it cannot answer this delta."""
        ...

    def start(self, problem: Problem) -> Watch:
        """Begin to watch an experiment."""
        ...
