"""Where an experiment stands, ready to be shown."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mobai import views
from mobai.engine import Verdict
from mobai.engine.asks import Waiting
from mobai.engine.concerns import Concern
from mobai.engine.engine import Engine
from mobai.engine.standings import HardItem, Standing
from mobai.extras import need
from mobai.live.assignments import ANSWERED, DROPPED, EXPIRED, PENDING, STATUS_NAMES, Assignments
from mobai.live.settings import EVIDENCE
from mobai.live.spending import Spending, costs_by_arm
from mobai.live.state import Milestone, State
from mobai.problem import FloatArray, IntArray, Problem
from mobai.theory.differences import Differences
from mobai.theory.forecast import Remaining
from mobai.theory.intervals import Intervals
from mobai.theory.observations import Observations
from mobai.views.data import time_of, time_text
from mobai.views.facts import fact
from mobai.views.notifications import NOBODY_QUALIFIES

# Items of each objective that are named.
_HARDEST = 5


class HeldUp(NamedTuple):
    """What holds a metric up: how many results wait, for which assignment of which arm, handed out when (Unix time).

    ``status`` is how that assignment stands: answered in part, for example. ``until`` is when the metric counts as what
    it does otherwise, None if it has no window.
    """

    metric: str
    results: int
    assignment: int
    arm: str
    asked_at: float
    status: str
    until: float | None

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**self._asdict(), "asked_at": time_text(self.asked_at), "until": time_text(self.until)}

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> HeldUp:
        """Return what :meth:`json` made plain data of."""
        return cls(**{**row, "asked_at": time_of(row["asked_at"]), "until": time_of(row["until"])})


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
    asked, answered, rewards, means
        Per arm: assignments handed out and answered; per arm and metric: how many rewards, and their mean (own
        direction).
    pending, incomplete, dropped, expired
        Assignments by how they stand: of which nothing was told yet, of which metrics are missing that may still come.
    waiting
        Per metric that is held up: how many of its results wait to become evidence, and for which assignment.
    late
        How many results came when it had been settled what their metric counts as; they are kept aside.
    worst
        How many results were dropped, and count as the worst there could be.
    events, head
        How long the journal is, and the hash of its last event: written down, it proves later that nothing changed.
    created_at, closed_at, paused_at, last_report_at
        Unix times; None while it is open, while it is not paused, and before anything was told.
    barred
        Which arms are asked for no more because they break a limit.
    differences
        By how much the arms differ from the baseline; None without one.
    concerns
        What looks wrong, with a rate of false alarms of one in a thousand per kind; not part of delta.
    ending
        Why nothing is handed out any more or at the moment (paused, time, ``max_samples``); None if something is.
    timeline
        What somebody did to it: paused, resumed, arms that came and went, closed.
    past
        Decisions that arms added or retired later have opened again.
    forecast
        How many more samples it takes and where, if the means are as they look now; None before every arm has rewards.
    equal
        Objectives that were closed as equal: the arms, and by how much they can differ.
    standings
        How every arm stands to the leader of every objective, where all are measured on the same things.
    hardest
        Of every objective, the items on which the leader loses most: what to read next.
    spending
        What samples have cost, may cost and are going to; None where they have no costs.
    weighed_otherwise
        Whether it was created by a version that weighed evidence in another way.
    """

    name: str = field(metadata=fact("The experiment.", str))
    rule: str = field(metadata=fact("The sampling rule, with its options.", str))
    verdict: Verdict
    intervals: Intervals
    active: np.ndarray[tuple[int], np.dtype[np.bool_]]
    asked: IntArray
    answered: IntArray
    rewards: IntArray
    means: FloatArray
    pending: int = field(metadata=fact("Assignments of which nothing was told yet.", int))
    incomplete: int = field(metadata=fact("Answered, and waiting for a metric.", int))
    dropped: int = field(metadata=fact("Assignments that were dropped.", int))
    expired: int = field(metadata=fact("Assignments that were not answered in time.", int))
    waiting: tuple[HeldUp, ...] = field(
        metadata=fact(
            "Metrics that are held up: how many results wait, and for which assignment.",
            list[dict[str, Any]],
            write=lambda found: [one.json() for one in found],
            read=lambda rows: tuple(HeldUp.of(row) for row in rows),
        )
    )
    late: int = field(metadata=fact("Results that came when it had been settled what their metric counts as.", int))
    worst: int = field(metadata=fact("Results that were dropped, and count as the worst there could be.", int))
    events: int = field(metadata=fact("How long the journal is.", int))
    head: str = field(metadata=fact("The hash of the last event of the journal.", str))
    created_at: float = field(metadata=fact("When it was created.", str, write=time_text, read=time_of))
    closed_at: float | None = field(metadata=fact("When it was closed.", str | None, write=time_text, read=time_of))
    paused_at: float | None = field(
        metadata=fact("Since when it is paused.", str | None, write=time_text, read=time_of)
    )
    last_report_at: float | None = field(
        metadata=fact("When something was told last.", str | None, write=time_text, read=time_of)
    )
    barred: np.ndarray[tuple[int], np.dtype[np.bool_]]
    differences: Differences | None
    concerns: tuple[Concern, ...] = field(
        metadata=fact(
            "Warnings, which are not part of the guarantee.",
            list[dict[str, str | None]],
            write=lambda found: [one._asdict() for one in found],
            read=lambda rows: tuple(Concern(**row) for row in rows),
        )
    )
    ending: str | None = field(metadata=fact("Why nothing is handed out.", str | None))
    timeline: tuple[Milestone, ...] = field(
        metadata=fact(
            "Pauses, arms that came and went, the end.",
            list[dict[str, Any]],
            write=lambda found: [{**one._asdict(), "time": time_text(one.at)} for one in found],
            read=lambda rows: tuple(Milestone(*(one[key] for key in Milestone._fields)) for one in rows),
        )
    )
    past: tuple[tuple[str, str, int], ...] = field(
        metadata=fact(
            "Decisions that were undone because arms came or went.",
            list[list[Any]],
            write=lambda found: [list(one) for one in found],
            read=lambda rows: tuple(map(tuple, rows)),
        )
    )
    forecast: Remaining | None
    equal: dict[str, dict[str, Any]] = field(
        default_factory=dict,
        metadata=fact("Objectives that were closed as equal: the arms, and how much they can differ.", dict[str, Any]),
    )
    standings: tuple[Standing, ...] = field(
        default=(),
        metadata=fact(
            "With items or rounds: how every arm stands to the leader of every objective.",
            list[dict[str, Any]],
            write=lambda found: [one.json() for one in found],
            read=lambda rows: tuple(Standing.of(row) for row in rows),
        ),
    )
    hardest: tuple[HardItem, ...] = field(
        default=(),
        metadata=fact(
            "With items: those on which the leader of an objective loses most.",
            list[dict[str, Any]],
            write=lambda found: [one.json() for one in found],
            read=lambda rows: tuple(HardItem.of(row) for row in rows),
        ),
    )
    spending: Spending | None = field(
        default=None,
        metadata=fact(
            "Where samples have costs: what was spent, may be spent and is forecast, and the unit.",
            dict[str, Any] | None,
            write=lambda found: None if found is None else found.json(),
            read=lambda row: None if row is None else Spending(**row),
        ),
    )
    weighed_otherwise: bool = field(
        default=False, metadata=fact("Begun by a version that weighed evidence in another way.", bool)
    )

    @property
    def pulls(self) -> int:
        """How many pulls were answered."""
        return self.verdict.pulls

    @property
    def state(self) -> str:
        """``running``, ``decided``, ``paused``, ``ended`` (time or samples are used up) or ``closed``."""
        if self.closed_at:
            return "closed"
        if self.verdict.stopped:
            return "decided"
        return "paused" if self.paused_at else "ended" if self.ending else "running"

    def to_pandas(self) -> Any:
        """Return a data frame: a row per arm and metric, labelled by both, with what ``--format csv`` has."""
        from mobai.live.codec import STATUS_COLUMNS, status_rows

        rows = status_rows(self)
        columns = [name for name in STATUS_COLUMNS if rows and name in rows[0]]
        return need("pandas").DataFrame(rows, columns=columns).set_index(["arm", "objective"])

    def __str__(self) -> str:
        """Say it in a few lines."""
        return views.status_text(self)

    def _repr_html_(self) -> str:
        return views.status_html(self)


def describe(name: str, state: State) -> Status:
    """Put a status together."""
    return begin_to_describe(name, state)()


def begin_to_describe(name: str, state: State) -> Callable[[], Status]:
    """Take note of a state as it is now, and return what puts its status together, while the state may go on.

    What takes time with many arms (intervals, differences, forecasts) is left to the second step.
    """
    problem, assignments, now = state.problem, state.assignments, time.time()
    observed, engine = state.engine.observations, state.engine.still()
    overdue = sum(assignments.status(number) == PENDING for number in state.given_up(now))
    facts: dict[str, Any] = {
        "name": name,
        "rule": state.settings.rule_address,
        "pending": assignments.pending - overdue,
        "incomplete": assignments.incomplete,
        "dropped": assignments.total(DROPPED),
        "expired": assignments.total(EXPIRED) + overdue,
        "waiting": tuple(_held_up(problem, assignments, one) for one in engine.waiting),
        "late": len(state.late),
        "worst": int(engine.observations.arrays.worst.sum()),
        "answered": np.array([assignments.by_status[ANSWERED][arm] for arm in range(problem.shape[0])], np.intp),
        "events": state.seq,
        "head": state.head,
        "created_at": state.created_at,
        "closed_at": state.closed_at,
        "paused_at": state.paused_at,
        "last_report_at": state.last_report_at,
        "concerns": tuple(state.concerns()),
        "ending": state.ending(now),
        "equal": state.equal,
        "timeline": tuple(state.timeline),
        "weighed_otherwise": state.settings.evidence != EVIDENCE,
    }
    verdict = state.with_losses(engine.verdict(contention=True))
    # The costs as they are now; the forecast comes later.
    facts["spending"] = state.spending()
    costs = costs_by_arm(problem, assignments)
    return partial(_described, problem, engine, observed, verdict, facts, state.item, costs)


def _held_up(problem: Problem, assignments: Assignments, one: Waiting) -> HeldUp:
    names = problem.metric_names[one.metric], problem.arms[one.arm]
    status = STATUS_NAMES[assignments.status(one.number)]
    window = problem.metrics[one.metric].window
    until = None if window is None else assignments.due(one.number) + window
    return HeldUp(names[0], one.values, one.number, names[1], assignments.since(one.number), status, until)


def _described(
    problem: Problem,
    engine: Engine,
    source: Observations,
    verdict: Verdict,
    facts: dict[str, Any],
    item: Callable[[int], str | int],
    costs: FloatArray | None,
) -> Status:
    forecast = engine.forecast()
    if costs is not None and forecast is not None and math.isfinite(forecast.samples):
        facts = {**facts, "spending": facts["spending"]._replace(left=float(forecast.per_arm @ np.nan_to_num(costs)))}
    observed, intervals = engine.observations, engine.intervals()
    intervals = intervals._replace(certified=intervals.certified and not verdict.alarms)
    source.bounds = observed.bounds  # so that the next status need not find them again
    pulls = observed.pulls
    with np.errstate(invalid="ignore"):
        means = observed.means * problem.signs
    return Status(
        **facts,
        verdict=verdict,
        intervals=intervals,
        active=observed.active,
        asked=observed.asked,
        rewards=pulls,
        means=np.where(pulls > 0, means + 0.0, np.nan),
        barred=engine.barred,
        differences=engine.differences(),
        past=tuple((objective, _answer(problem, one.arm), one.pull) for objective, one in engine.past),
        forecast=forecast,
        standings=engine.standings(),
        hardest=engine.hardest(_HARDEST, item),
    )


def _answer(problem: Problem, arm: int) -> str:
    return problem.arms[arm] if arm >= 0 else NOBODY_QUALIFIES


def records_of(
    problem: Problem, assignments: Assignments, place: Callable[[int], tuple[int, str | int]] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every assignment with what was told of it, as plain rows; None where nothing was.

    ``place`` says where in the common order an assignment is, and what is there.
    """
    for number in range(1, assignments.count + 1):
        row = {
            "id": number,
            "arm": problem.arms[assignments.arm(number)],
            "status": STATUS_NAMES[assignments.status(number)],
            "asked_at": time_text(assignments.since(number)),
        }
        if place is not None:
            row["index"], row["item"] = place(number)
        told = problem.named(assignments.rewards(number)).items()
        yield row | {name: value if math.isfinite(value) else None for name, value in told}
