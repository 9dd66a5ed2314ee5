"""What the API returns, for its documentation: the handlers send what the views make, and tests compare the two."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from mobai.engine import Verdict
from mobai.live.status import Status
from mobai.views.facts import facts_in


def _about(text: str) -> Any:
    return Field(description=text)


class AssignmentOut(BaseModel):
    """One pull to make."""

    assignment: int
    arm: str
    item: Annotated[str | int | None, _about("What it is measured on; with items and rounds only.")] = None
    index: Annotated[int | None, _about("Its place in the common order, from 0; with items and rounds only.")] = None


class AssignmentsOut(BaseModel):
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
    decided_evidence: Annotated[float | None, _about("The evidence there was when it was decided, in nats.")]
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


class _Tables(BaseModel):
    state: Annotated[str, _about("running, decided, paused, ended or closed")]
    stopped: Annotated[bool, _about("Whether every objective is decided.")]
    delta: Annotated[float, _about("The error probability of all decisions together.")]
    certified: Annotated[
        bool, _about("Whether that probability holds: it is proven, and no reward contradicts its family.")
    ]
    doubts: Annotated[dict[str, str | None], _about("What speaks against the family of a metric.")]
    remarks: list[str]
    decided: Annotated[int, _about("How many objectives are decided.")]
    stamp: Annotated[str, _about("Another text whenever the status is another one.")]
    objectives: list[ObjectiveOut]
    guardrails: list[dict[str, Any]]
    baseline: str | None
    differences: list[dict[str, Any]] | None
    arms: list[ArmOut]
    means: list[MeanOut]
    intervals: dict[str, Any]
    forecast: dict[str, float | None] | None
    problem: dict[str, Any]


def status_model(*kinds: type) -> type[BaseModel]:
    """Return what a status is in JSON: its tables, and the facts that its dataclasses state."""
    facts = {name: one for kind in kinds for name, one in facts_in(kind).items()}
    named: dict[str, Any] = {name: (Annotated[one.type, _about(one.about)], ...) for name, one in facts.items()}
    about = "Where an experiment stands. Infinite numbers are null."
    return create_model("StatusOut", __base__=_Tables, __doc__=about, **named)


StatusOut = status_model(Verdict, Status)


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
