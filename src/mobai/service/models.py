"""What the API takes, typed at the border."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from mobai.live.operations import MOST_REPORTED_OVER_HTTP
from mobai.problem.design import MOST_NAMES

MOST_ASKED = 1_000
_LONGEST = 200

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Metrics = Annotated[
    dict[str, Number | None],
    Field(description="A number per metric; null for one that will not come; left out if it may still come."),
]
By = Annotated[str | None, Field(max_length=_LONGEST, description="Who does this, for the journal.")]
IfDecided = Annotated[
    str,
    Field(description="What to do once everything is decided: go-on, stop, or winner=OBJECTIVE.", max_length=1000),
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewExperiment(_Model):
    """An experiment to begin, as for ``mobai.Experiment.create``."""

    name: Annotated[str, Field(max_length=_LONGEST)]
    arms: Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(min_length=2, max_length=10_000)]
    objectives: Annotated[list[str], Field(min_length=1, max_length=1_000, examples=[["signup:bernoulli"]])]
    sd: Any = Field(None, description="Standard deviations where they are known and not in the objectives.")
    guardrails: Annotated[list[str], Field(max_length=1_000)] = []
    baseline: str | None = None
    items: Annotated[
        StrictInt | str | Annotated[list[str], Field(max_length=MOST_NAMES)] | None,
        Field(description="What every arm is measured on: how many items, their names, or stream."),
    ] = None
    rounds: Annotated[bool, Field(strict=True, description="Whether arms are compared in rounds.")] = False
    items_digest: Annotated[
        str | None, Field(max_length=_LONGEST, description="Tells a list of items from others.")
    ] = None
    ahead: Annotated[int | None, Field(strict=True, description="Of items and rounds: how far arms may run ahead.")] = (
        None
    )
    costs: Annotated[
        dict[str, Number] | list[Number] | None, Field(max_length=10_000, description="What a sample costs, by arm.")
    ] = None
    cost_metric: Annotated[
        str | None, Field(max_length=_LONGEST, description="The metric that says what a sample cost.")
    ] = None
    cost_unit: Annotated[str | None, Field(max_length=100, examples=["USD"])] = None
    max_cost: Annotated[Number | None, Field(description="Hand out nothing once samples have cost this much.")] = None
    part: Annotated[
        dict[str, Any] | None, Field(description="Which segment of an experiment it is: of, segment, segments, delta.")
    ] = None
    delta: Number = 0.05
    rule: Annotated[str, Field(max_length=_LONGEST)] = "top-two"
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    focus: Annotated[bool, Field(strict=True)] = True
    expire_after: Number | None = None
    reserve: Number = 0.1
    on_broken: str = "bar"
    max_samples: Annotated[int | None, Field(strict=True)] = None
    until: Number | str | None = None
    order: str = "asked"
    rare: Number | None = 0.02
    interval_share: Annotated[Number, Field(description="Of delta, for the intervals.")] = 0.1
    allow_large_delta: Annotated[bool, Field(strict=True, description="Whether a delta of 0.5 or more is meant.")] = (
        False
    )
    by: By = None


class NewSegments(NewExperiment):
    """An experiment to begin in every segment, as for ``mobai.Segments.create``."""

    segments: Annotated[list[Annotated[str, Field(max_length=_LONGEST)]], Field(min_length=2, max_length=1_000)]
    shares: Annotated[dict[str, Number] | None, Field(description="Which part of all visitors each segment is.")] = None


class DropOlder(_Model):
    """Assignments that are given up."""

    older_than: Annotated[Number, Field(description="Seconds.")]
    reason: Annotated[str | None, Field(description="lost: it has nothing to do with any result")] = None
    by: By = None


class Ask(_Model):
    """How many assignments are wanted."""

    n: Annotated[int, Field(strict=True, ge=1, le=MOST_ASKED)] = 1
    if_decided: IfDecided = "go-on"
    by: By = None


class UnitAsk(_Model):
    """The ask of a unit, which has one assignment for ever."""

    if_decided: IfDecided = "go-on"
    by: By = None


class Report(_Model):
    """What was measured of an assignment, which is named by its number or by its unit."""

    assignment: Annotated[int | None, Field(strict=True)] = None
    unit: Annotated[str | None, Field(min_length=1, max_length=_LONGEST)] = None
    arm: Annotated[str | None, Field(description="Refused if the assignment is for another one.")] = None
    metrics: Metrics

    @model_validator(mode="after")
    def _one_name(self) -> Report:
        if (self.assignment is None) == (self.unit is None):
            raise ValueError("an assignment or a unit is needed, and not both")
        return self


class Reports(_Model):
    """Reports to take in together, all or none; new assignments can be had in the same transaction."""

    reports: Annotated[list[Report], Field(max_length=MOST_REPORTED_OVER_HTTP)]
    ask: Annotated[int, Field(strict=True, ge=0, le=MOST_ASKED)] = 0
    if_decided: IfDecided = "go-on"
    by: By = None


class Observation(_Model):
    """What was measured of an arm that nobody asked for."""

    arm: str
    metrics: Metrics


class ObservationsIn(_Model):
    """Observations that nobody asked for, to take in together, all or none."""

    observations: Annotated[list[Observation], Field(min_length=1, max_length=MOST_REPORTED_OVER_HTTP)]
    by: By = None


class NewArm(_Model):
    """An arm to add."""

    arm: Annotated[str, Field(max_length=1_000)]
    sd: Any = Field(
        None, description="Its standard deviations, where they are known; those of the others unless given."
    )
    by: By = None


class Who(_Model):
    """Who does it."""

    by: By = None


class Closing(Who):
    """How it ends."""

    as_equal: Annotated[
        StrictBool | list[str], Field(description="Names of open objectives that end in a tie, or true for all.")
    ] = False


class NewWebhook(_Model):
    """Where to send what happens."""

    name: Annotated[str, Field(max_length=_LONGEST)]
    url: Annotated[str, Field(max_length=2_000)]
    only: Annotated[str, Field(max_length=_LONGEST, description="A pattern of experiments' names.")] = "*"
    events: Annotated[list[str], Field(max_length=20, description="Which kinds; all unless given.")] = []
    format: Annotated[str, Field(description="standard or slack")] = "standard"
    private: Annotated[bool, Field(strict=True, description="Whether the address may be a private one.")] = False
