"""What a stopping rule is: it starts a monitor of an experiment, which looks at the evidence after every answer."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from mobai.kernels.evidence.scores import Scoring
from mobai.problem import FloatArray, Problem
from mobai.theory.intervals import IntervalLevels
from mobai.theory.observations import Observations


class Decision(NamedTuple):
    """An objective's answer: the arm, after how many answered pulls, and when (Unix time, where there is a clock).

    The arm is ``NOBODY`` (-2) where no arm keeps every limit. ``evidence`` is what there was when it was decided, in
    nats; None where that was not kept.
    """

    arm: int
    pull: int
    at: float | None = None
    evidence: float | None = None


class Monitor(Protocol):
    """Follows the evidence of one experiment."""

    def look(self, observations: Observations, at: float | None = None) -> bool:
        """Look at the evidence after an answer, or after several that count as one moment; none may be left out.

        Return whether something may have been decided.
        """
        ...

    def evidence(self, observations: Observations) -> FloatArray:
        """Return the evidence of every objective at this moment, in nats."""
        ...

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Return each objective's decision at this delta, or None."""
        ...


@runtime_checkable
class ArmsMayChange(Monitor, Protocol):
    """A monitor of an experiment whose arms may come and go."""

    def arms_changed(self, observations: Observations) -> None:
        """Take note of who takes part now."""
        ...

    @property
    def surcharges(self) -> FloatArray:
        """Per arm, the nats by which the level of its pairs exceeds that of two initial arms. Shape (K,)."""
        ...

    def interval_levels(self, log_inv_delta: float) -> IntervalLevels:
        """Return the levels of the confidence intervals that are right together with the decisions."""
        ...

    def reopen(self, objective: int) -> None:
        """Forget what was decided on an objective."""
        ...

    def restore(self, objective: int, decision: Decision) -> None:
        """Take over a decision made before, at the only delta that is asked for."""
        ...


@runtime_checkable
class ScoresPairs(Monitor, Protocol):
    """A monitor that compares leaders with their rivals, pair by pair."""

    def scoring(self, pulls: int) -> Scoring:
        """Return how pairs are scored after some pulls."""
        ...


@runtime_checkable
class StoppingRule(Protocol):
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
        """Return the evidence that delta demands of every objective; InputError if it cannot answer this delta."""
        ...

    def reached(self, problem: Problem, evidence: float) -> float:
        """Return the largest log(1/delta) that some evidence is enough for, 0 if for none."""
        ...

    def start(self, problem: Problem, log_inv_delta: float | None = None) -> Monitor:
        """Begin to follow an experiment; ``log_inv_delta`` if its decisions are asked for at that delta only."""
        ...


@runtime_checkable
class SharesDelta(StoppingRule, Protocol):
    """A stopping rule that can leave a part of delta to arms that come later, and to confidence intervals."""

    @property
    def reserve(self) -> float:
        """The share of delta kept for arms that are added or retired later."""
        ...

    @property
    def fits_intervals(self) -> bool:
        """Whether its decisions are right on the event of the confidence intervals, so that these may use them."""
        ...


@runtime_checkable
class Laddered(StoppingRule, Protocol):
    """A stopping rule that compiled trials can follow: its levels are rungs that the evidence climbs."""

    @property
    def kind(self) -> int:
        """The number of its score among the compiled ones."""
        ...

    @property
    def sticky(self) -> bool:
        """Whether objectives are decided one by one."""
        ...
