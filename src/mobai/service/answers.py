"""What the API returns, for its documentation: the handlers send what the views make, and tests compare the two."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field


def _about(text: str) -> Any:
    return Field(description=text)


class AssignmentOut(BaseModel):
    """One pull to make."""

    assignment: int
    arm: str


class Assignments(BaseModel):
    """What is to be done next; none where nothing is handed out."""

    assignments: list[AssignmentOut]
    stopped: Annotated[bool, _about("Whether every objective is decided.")]


class ProblemOut(BaseModel):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] = []


class ObjectiveOut(BaseModel):
    """Where an objective stands."""

    objective: str
    direction: str
    family: Annotated[str, _about("What its rewards are.")]
    eps: Annotated[float, _about("Differences up to this do not matter.")]
    arm: Annotated[str | None, _about("The arm to use: the one decided on, or the leader; null before there is one.")]
    leader: Annotated[str, _about("The arm with the best mean now.")]
    leading: Annotated[bool, _about("Whether it is ahead of all others.")]
    decided: bool
    decided_arm: Annotated[str | None, _about("Null if undecided, or if it is decided that no arm keeps every limit.")]
    decided_at: Annotated[int | None, _about("At which pull.")]
    decided_time: str | None
    evidence: Annotated[float | None, _about("In nats; decided once it exceeds the threshold. Null for none yet.")]
    threshold: float
    log_inv_delta_reached: float | None
    smallest_delta: Annotated[float | None, _about("The error probability that the evidence is enough for now.")]
    reported: Annotated[int, _about("Rewards that came.")]
    outstanding: Annotated[int, _about("Answered pulls without this metric.")]
    forecast: Annotated[float | None, _about("Further samples it will take, roughly.")]


class ArmOut(BaseModel):
    """Where an arm stands."""

    arm: str
    active: Annotated[bool, _about("Whether it takes part; false once it was retired.")]
    barred: Annotated[bool, _about("Whether it breaks a limit, and is asked for no more.")]
    asked: int
    answered: int
    forecast: Annotated[float | None, _about("Further samples it should get, roughly.")]


class MeanOut(BaseModel):
    """What is known of an arm in a metric."""

    arm: str
    objective: Annotated[str, _about("The metric.")]
    rewards: int
    mean: float | None
    lower: Annotated[float | None, _about("Lower end of the interval, which holds at all times; null for none.")]
    upper: float | None


class StatusOut(BaseModel):
    """Where an experiment stands. Infinite numbers are null."""

    name: str
    state: Annotated[str, _about("running, decided, paused, ended or closed")]
    stopped: Annotated[bool, _about("Whether every objective is decided.")]
    rule: str
    delta: Annotated[float, _about("The error probability of all decisions together.")]
    log_inv_delta: float
    certified: Annotated[
        bool, _about("Whether that probability holds: it is proven, and no reward contradicts its family.")
    ]
    proven: bool
    doubts: Annotated[dict[str, str | None], _about("What speaks against the family of a metric.")]
    refused: Annotated[int, _about("Pulls that were lost because of their value.")]
    lost: Annotated[int, _about("Pulls that were said to be lost for reasons that have nothing to do with any result.")]
    held: Annotated[list[bool], _about("Per objective: it has the evidence, and too few to rule out rare extremes.")]
    least: Annotated[int, _about("How many rewards it takes to rule them out.")]
    alarms: Annotated[list[str], _about("What else speaks against calling it certified.")]
    remarks: list[str]
    pulls: Annotated[int, _about("Assignments that were answered.")]
    decided: Annotated[int, _about("How many objectives are decided.")]
    pending: int
    incomplete: Annotated[int, _about("Answered, and waiting for a metric.")]
    dropped: int
    expired: int
    waiting: Annotated[
        list[dict[str, Any]], _about("Metrics that are held up: how many results wait, and for which assignment.")
    ]
    worst: Annotated[int, _about("Results that were dropped, and count as the worst there could be.")]
    late: Annotated[int, _about("Results that came when it had been settled what their metric counts as.")]
    events: int
    head: Annotated[str, _about("The hash of the last event of the journal.")]
    stamp: Annotated[str, _about("Another text whenever the status is another one.")]
    created_at: str
    closed_at: str | None
    paused_at: str | None
    last_report_at: Annotated[str | None, _about("When something was told last.")]
    ending: Annotated[str | None, _about("Why nothing is handed out.")]
    concerns: Annotated[list[dict[str, str | None]], _about("Warnings, which are not part of the guarantee.")]
    objectives: list[ObjectiveOut]
    guardrails: list[dict[str, Any]]
    baseline: str | None
    differences: list[dict[str, Any]] | None
    arms: list[ArmOut]
    means: list[MeanOut]
    intervals: dict[str, Any]
    forecast: dict[str, float | None] | None
    timeline: Annotated[list[dict[str, Any]], _about("Pauses, arms that came and went, the end.")]
    past: Annotated[list[list[Any]], _about("Decisions that were undone because arms came or went.")]
    weighed_otherwise: Annotated[bool, _about("Begun by a version that weighed evidence in another way.")]
    problem: dict[str, Any]


class SummaryOut(BaseModel):
    """An experiment in a list."""

    name: str
    state: str
    arms: int
    objectives: int
    decided: int
    pulls: int
    pending: int
    certified: bool
    warnings: int
    last_report_at: str | None
    created_at: str


class PageOut(BaseModel):
    """A page of experiments; with `only=names`, their names."""

    experiments: list[SummaryOut] = []
    names: list[str] = []
    total: int
    more: bool


class EventOut(BaseModel):
    """An event of the journal."""

    seq: int
    kind: str
    at: Annotated[float, _about("Unix time, which the hash covers.")]
    time: str
    body: dict[str, Any]
    hash: Annotated[str, _about("Of this event and the one before.")]


class EventsOut(BaseModel):
    """A page of the journal."""

    events: list[EventOut]


class Dropped(BaseModel):
    """How many assignments were dropped."""

    dropped: int
