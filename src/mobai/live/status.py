"""Where an experiment stands, ready to be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mobai.live.assignments import DROPPED, EXPIRED, STATUS_NAMES
from mobai.live.state import State
from mobai.policy import Verdict
from mobai.problem import FloatArray, IntArray, Problem
from mobai.problem.problem import frozen
from mobai.rules.catalogue import rule_spec
from mobai.rules.stopping import Decision
from mobai.theory.growth import Roster
from mobai.theory.intervals import Intervals, confidence_intervals


@dataclass(frozen=True, eq=False)
class GrowingGLR:
    """What evidence reaches in a live experiment: ``mixture``, with a reserve for arms that come and go."""

    roster: Roster

    def reached(self, problem: Problem, evidence: float) -> float:
        """Give the largest log(1/delta) that so much evidence is enough for, 0 if for none."""
        return max(evidence - self.roster.level(0.0, problem.shape[1]), 0.0)


@dataclass(frozen=True, eq=False)
class Status:
    """Where an experiment stands.

    Attributes
    ----------
    name, rule
        The experiment and its sampling rule.
    verdict
        What is decided, and the evidence.
    intervals
        Confidence intervals for every mean, K x M.
    active
        Which arms take part.
    asked, answered, pulls, means
        Per arm: assignments handed out and answered; per arm and objective: rewards and their mean (own direction).
    pending, dropped, expired
        Assignments by how they stand.
    events
        How long the journal is.
    created_at, closed_at
        Unix times; None while it is open.
    past
        Decisions that arms added or retired later have opened again.
    """

    name: str
    rule: str
    verdict: Verdict
    intervals: Intervals
    active: np.ndarray[tuple[int], np.dtype[np.bool_]]
    asked: IntArray
    answered: IntArray
    pulls: IntArray
    means: FloatArray
    pending: int
    dropped: int
    expired: int
    events: int
    created_at: float
    closed_at: float | None
    past: tuple[tuple[str, str, int], ...]


def verdict_of(state: State) -> Verdict:
    """Say what is decided."""
    return Verdict(
        problem=state.problem,
        log_inv_delta=state.settings.log_inv_delta,
        leaders=tuple(state.leaders.tolist()),
        decisions=tuple(None if one is None else Decision(one.arm, one.pull) for one in state.decisions),
        evidence=frozen(state.evidence),
        threshold=frozen(np.full(state.problem.shape[1], state.level)),
        pulls=state.tally.told,
        certified=True,
        stopping=GrowingGLR(state.roster),
    )


def describe(name: str, state: State) -> Status:
    """Put a status together."""
    problem, verdict = state.problem, verdict_of(state)
    decided = tuple(None if one is None else one.arm for one in verdict.decisions)
    levels = state.level + state.roster.surcharges
    status = state.assignments.arrays()["status"]
    with np.errstate(invalid="ignore"):
        means = state.tally.means * problem.signs
    return Status(
        name=name,
        rule=rule_spec(state.settings.rule),
        verdict=verdict,
        intervals=confidence_intervals(problem, state.tally, levels, decided, state.active),
        active=state.active.copy(),
        asked=state.tally.asked.copy(),
        answered=state.tally.answered.copy(),
        pulls=state.tally.pulls.copy(),
        means=np.where(state.tally.pulls > 0, means, np.nan),
        pending=state.assignments.pending,
        dropped=int((status == DROPPED).sum()),
        expired=int((status == EXPIRED).sum()),
        events=state.seq,
        created_at=state.created_at,
        closed_at=state.closed_at,
        past=tuple((objective, problem.arms[one.arm], one.pull) for objective, one in state.past),
    )


def records_of(state: State) -> list[dict[str, Any]]:
    """Give every assignment with what was told of it, as plain rows; None where nothing was."""
    names, found = state.problem.objective_names, []
    for number in range(1, state.assignments.count + 1):
        row = {
            "id": number,
            "arm": state.problem.arms[state.assignments.arm(number)],
            "status": STATUS_NAMES[state.assignments.status(number)],
            "asked_at": state.assignments.since(number),
        }
        told = zip(names, state.assignments.rewards(number), strict=True)
        found.append(row | {name: None if math.isnan(value) else value for name, value in told})
    return found
