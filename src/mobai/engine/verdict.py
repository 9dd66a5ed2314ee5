"""Where an experiment stands at one error probability: the recommendation, and what speaks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mobai import views
from mobai.engine.contention import Contention
from mobai.extras import need
from mobai.kernels.stats.observations import LimitState
from mobai.problem import FloatArray, Problem
from mobai.problem.guardrail import NOBODY
from mobai.problem.problem import frozen
from mobai.rules.stopping import Decision
from mobai.theory.confidence import delta_of
from mobai.views.facts import fact
from mobai.views.notifications import NOBODY_QUALIFIES


@dataclass(frozen=True, eq=False)
class Verdict:
    """Where an experiment stands at one error probability.

    Attributes
    ----------
    problem
        The arms and objectives it speaks of.
    log_inv_delta
        log(1/delta).
    leaders
        The empirical best arm of every objective now (the first arm as long as nothing was told). Shape (M,).
    leading
        Per objective: whether the leader's mean is above all others, not tied and not without rewards.
    decisions
        Per objective: the arm decided on, the pull at which it was and when, or None.
    evidence, threshold
        Per objective: what the data say, and what delta demands, in nats. An objective is decided the first time its
        evidence exceeds its threshold (with elimination: once its turn has come); later evidence may fall without
        undoing that.
    pulls
        How many pulls have been answered.
    proven
        Whether the stopping rule is proven to keep the error probability at most delta, if the families hold.
    doubts
        Per metric: what speaks against its family, and which one to use instead; None where nothing does.
    alarms
        What else speaks against calling it certified: that results are lost for one arm more often than for another.
    held, least
        Per objective: whether the evidence is enough, and too few rewards are there to rule out rare extremes; and how
        many rewards that takes, 0 where that is not looked at.
    contention
        Per objective: which arms may still be best, which are out, and by how much those left can differ. Empty where
        it was not asked for, or the stopping rule is not proven for it.
    limits
        Per guardrail and arm: whether the limit is kept or broken, or open: nothing can be said yet.
    refused, lost
        How many pulls were lost because of their value; and for reasons that are said to have nothing to do with any.
    reaches
        Returns the largest log(1/delta) at which some evidence suffices; 0 if there is none.
    """

    problem: Problem
    log_inv_delta: float = field(metadata=fact("log(1/delta).", float))
    leaders: tuple[int, ...]
    leading: tuple[bool, ...]
    decisions: tuple[Decision | None, ...]
    evidence: FloatArray
    threshold: FloatArray
    pulls: int = field(metadata=fact("Assignments that were answered.", int))
    proven: bool = field(metadata=fact("Whether the stopping rule is proven, if the families hold.", bool))
    doubts: tuple[str | None, ...]
    reaches: Callable[[float], float] = field(repr=False)
    limits: tuple[tuple[LimitState, ...], ...] = ()
    refused: int = field(default=0, metadata=fact("Pulls that were lost because of their value.", int))
    lost: int = field(
        default=0,
        metadata=fact("Pulls that were said to be lost for reasons that have nothing to do with any result.", int),
    )
    alarms: tuple[str, ...] = field(
        default=(), metadata=fact("What else speaks against calling it certified.", list[str], write=list, read=tuple)
    )
    held: tuple[bool, ...] = field(
        default=(),
        metadata=fact(
            "Per objective: it has the evidence, and too few to rule out rare extremes.",
            list[bool],
            write=list,
            read=tuple,
        ),
    )
    least: int = field(default=0, metadata=fact("How many rewards it takes to rule them out.", int))
    contention: tuple[Contention, ...] = field(
        default=(),
        metadata=fact(
            "Per objective: which arms may still be best, which are out, and by how much those left can differ.",
            list[dict[str, Any]],
            write=lambda found: [one.json() for one in found],
            read=lambda rows: tuple(Contention.of(row) for row in rows),
        ),
    )

    @property
    def delta(self) -> float:
        """The error probability (0.0 where it is too small for a double)."""
        return delta_of(self.log_inv_delta)

    @property
    def certified(self) -> bool:
        """Whether the error probability is at most delta: it is proven, and no family visibly fails to hold."""
        return self.proven and not any(self.doubts) and not self.refused and not self.alarms

    @property
    def remarks(self) -> list[str]:
        """Why it is not certified, a line per reason."""
        doubted = zip(self.problem.metric_names, self.doubts, strict=True)
        lines = [f"not certified: {name!r}: {doubt}" for name, doubt in doubted if doubt]
        lines += [f"not certified: {alarm}" for alarm in self.alarms]
        if self.refused:
            lines.append(f"not certified: {self.refused:,} lost because of their value; means are those of the others")
        return lines if self.proven else ["not certified: the stopping rule is not proven", *lines]

    @property
    def assumptions(self) -> list[str]:
        """What the guarantee rests on besides, a line each."""
        lines = []
        if self.lost:
            lines.append(f"assuming that what was lost ({self.lost:,}) has nothing to do with any result, as was said")
        for objective, decision in zip(self.problem.objectives, self.decisions, strict=True):
            if decision is not None and objective.family.hides_extremes and self.certified:
                often = (
                    f"; an extreme in one of {self.least / self.log_inv_delta:.0f} would have shown"
                    if self.least
                    else ""
                )
                lines.append(f"{objective.name}: certified for bell-shaped rewards without rare extremes{often}")
        return lines

    @property
    def reservations(self) -> list[str]:
        """Why objectives are open that have the evidence, a line each."""
        takes = f"too few to rule out rare extremes, which takes {self.least:,} of every arm in question"
        facts = zip(self.problem.objective_names, self.held, self.decisions, strict=False)
        return [f"{name}: {takes}" for name, held, decision in facts if held and decision is None]

    @property
    def stopped(self) -> bool:
        """Whether every objective has been decided."""
        return all(decision is not None for decision in self.decisions)

    @property
    def stopped_at(self) -> int | None:
        """The pull at which the last objective was decided, or None."""
        pulls = [decision.pull for decision in self.decisions if decision is not None]
        return max(pulls) if self.stopped else None

    @cached_property
    def reached(self) -> FloatArray:
        """Per objective, the largest log(1/delta) at which the current evidence suffices; 0 if there is none."""
        return frozen(np.array([self.reaches(float(e)) for e in self.evidence]))

    @property
    def smallest_deltas(self) -> FloatArray:
        """Per objective, the smallest delta at which the current evidence suffices; 1 if there is none."""
        return np.exp(-self.reached)

    @property
    def recommended(self) -> tuple[int, ...]:
        """The index of the arm to use for every objective: the decided one, else the leader.

        ``NOBODY`` (-2) where it is decided that no arm keeps every limit.
        """
        return tuple(
            leader if decision is None else decision.arm
            for leader, decision in zip(self.leaders, self.decisions, strict=True)
        )

    @property
    def winners(self) -> dict[str, str | None]:
        """The arm decided on in every objective; None where it is open."""
        made = zip(self.problem.objective_names, self.answers, self.decisions, strict=True)
        return {name: None if decision is None else answer for name, answer, decision in made}

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the recommended arms; ``"none qualifies"`` where no arm keeps every limit."""
        return tuple(NOBODY_QUALIFIES if arm == NOBODY else self.problem.arms[arm] for arm in self.recommended)

    def limit_status(self, guardrail: int, arm: int) -> str:
        """Return what can be said of an arm and a limit: ``kept``, ``broken``, ``open``, or ``-`` for a baseline."""
        if self.problem.guardrails[guardrail].of == self.problem.arms[arm]:
            return "-"
        return LimitState(self.limits[guardrail][arm]).name.lower()

    def to_pandas(self) -> Any:
        """Return a data frame: a row per objective, labelled by it."""
        return need("pandas").DataFrame(views.objective_rows(self)).set_index("objective")

    def _repr_html_(self) -> str:
        return views.verdict_html(self)

    def __str__(self) -> str:
        """Say it in a few lines."""
        state = f"stopped at pull {self.stopped_at:,}" if self.stopped else f"not stopped after {self.pulls:,} pulls"
        lines = [f"{state}, log(1/delta) = {self.log_inv_delta:.4g}"]
        for m, name in enumerate(self.problem.objective_names):
            decision = self.decisions[m]
            leads = "leading, not decided" if self.leading[m] else "nobody leads"
            fact = f"decided at pull {decision.pull:,}" if decision else leads
            lines.append(f"  {name}: {views.settled_answer(self, m)} ({fact}; {views.evidence_text(self, m)} nats)")
        return "\n".join([*lines, *self.remarks, *self.reservations, *self.assumptions])
