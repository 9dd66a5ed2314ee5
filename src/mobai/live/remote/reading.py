"""What a service shows as JSON, back as the objects it was made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from mobai.engine import Verdict
from mobai.engine.concerns import Concern
from mobai.engine.explain import Explanation, Limit, Pair
from mobai.errors import InputError, StorageError
from mobai.live.settings import Settings, problem_from_body
from mobai.live.state import Milestone
from mobai.live.status import HeldUp, Status
from mobai.live.trace import Series
from mobai.problem import FloatArray, Problem
from mobai.problem.guardrail import NOBODY
from mobai.problem.problem import frozen
from mobai.rules.stopping import Decision
from mobai.store.journal import Event
from mobai.theory.differences import Differences
from mobai.theory.forecast import Remaining
from mobai.theory.intervals import Intervals

Facts = Mapping[str, Any]
_LIMITS = {"open": 0, "kept": 1, "broken": 2, "-": 0, None: 0}
_AGAINST_BASELINE = {"open": 0, "better": 1, "worse": -1}


@contextmanager
def reading() -> Iterator[None]:
    """Turn what is not of the form a service answers in into one clear line."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise StorageError("the service did not answer as mobai does; is it at that address?") from error


def status_of(facts: Facts, settings: Settings) -> Status:
    """Return a status, given what :func:`mobai.views.status_json` makes of it. Times are to the millisecond."""
    problem = problem_from_body(facts["problem"])
    arms, means, forecast = facts["arms"], facts["means"], facts["forecast"]
    lower, upper = _table(problem, means, "lower", -math.inf), _table(problem, means, "upper", math.inf)
    notes = facts["intervals"]
    remaining = None
    if forecast is not None:
        per_objective, per_arm = (_numbers(rows, "forecast", math.inf) for rows in (facts["objectives"], arms))
        remaining = Remaining(_or(forecast["samples"], math.inf), per_objective, per_arm)
    return Status(
        name=facts["name"],
        rule=facts["rule"],
        verdict=verdict_of(facts, settings, problem),
        intervals=Intervals(lower, upper, np.array(notes["contradicted"]), notes["fitted"], notes["certified"]),
        active=np.array([arm["active"] for arm in arms]),
        asked=np.array([arm["asked"] for arm in arms], np.intp),
        answered=np.array([arm["answered"] for arm in arms], np.intp),
        pulls=_table(problem, means, "rewards", 0).astype(np.intp),
        means=_table(problem, means, "mean", math.nan),
        **{key: facts[key] for key in ("pending", "incomplete", "dropped", "expired", "late")},
        **{key: facts[key] for key in ("events", "head", "ending")},
        waiting=tuple(
            HeldUp(**{**one, "asked_at": _time(one["asked_at"]) or 0.0, "until": _time(one["until"])})
            for one in facts["waiting"]
        ),
        worst=facts["worst"],
        created_at=_time(facts["created_at"]) or 0.0,
        closed_at=_time(facts["closed_at"]),
        paused_at=_time(facts["paused_at"]),
        last_report_at=_time(facts["last_report_at"]),
        barred=np.array([arm["barred"] for arm in arms]),
        differences=_differences(problem, facts["differences"]),
        concerns=tuple(Concern(**concern) for concern in facts["concerns"]),
        timeline=tuple(Milestone(*(one[key] for key in Milestone._fields)) for one in facts["timeline"]),
        past=tuple((objective, arm, pull) for objective, arm, pull in facts["past"]),
        forecast=remaining,
        weighed_otherwise=facts["weighed_otherwise"],
    )


def verdict_of(facts: Facts, settings: Settings, problem: Problem | None = None) -> Verdict:
    """Return the verdict of a status."""
    problem = problem_from_body(facts["problem"]) if problem is None else problem
    rows = facts["objectives"]
    by_limit = {(one["guardrail"], one["arm"]): _LIMITS[one["status"]] for one in facts["guardrails"]}
    return Verdict(
        problem=problem,
        log_inv_delta=facts["log_inv_delta"],
        leaders=tuple(problem.arms.index(row["leader"]) for row in rows),
        leading=tuple(row["leading"] for row in rows),
        decisions=tuple(_decision(problem, row) for row in rows),
        evidence=frozen(_numbers(rows, "evidence", -math.inf)),
        threshold=frozen(_numbers(rows, "threshold", math.inf)),
        pulls=facts["pulls"],
        proven=facts["proven"],
        doubts=tuple(facts["doubts"][name] for name in problem.metric_names),
        limits=tuple(tuple(by_limit[str(one), arm] for arm in problem.arms) for one in problem.guardrails),
        refused=facts["refused"],
        lost=facts["lost"],
        alarms=tuple(facts["alarms"]),
        held=tuple(facts["held"]),
        least=facts["least"],
        reaches=partial(settings.stopping.reached, settings.problem),
    )


def series_of(facts: Facts) -> Series:
    """Return how an experiment went, given what :func:`mobai.views.series_json` makes of it."""
    problem, points = problem_from_body(facts["problem"]), len(facts["pulls"])
    (arms, objectives), metrics = problem.shape, len(problem.metrics)
    shapes = {"evidence": (points, objectives), **dict.fromkeys(("means", "lower", "upper"), (points, arms, metrics))}
    holes = {"evidence": -math.inf, "means": math.nan, "lower": -math.inf, "upper": math.inf}
    tables = {name: _filled(facts[name], holes[name]).reshape(shape) for name, shape in shapes.items()}
    for arm, since in enumerate(facts["since"]):
        for name in ("lower", "upper"):
            tables[name][:since, arm] = math.nan
    return Series(
        problem=problem,
        threshold=facts["threshold"],
        pulls=np.array(facts["pulls"], np.intp),
        at=np.array(facts["at"], np.float64),
        asked=np.array(facts["asked"], np.intp).reshape(points, arms),
        rewards=np.array(facts["rewards"], np.intp).reshape(points, arms, len(problem.metrics)),
        **tables,
    )


def explanation_of(facts: Facts) -> Explanation:
    """Return an explanation, given what :func:`mobai.views.explanation_json` makes of it."""
    nothing = {"gap": math.nan}
    pairs = [{key: _or(value, nothing.get(key, -math.inf)) for key, value in row.items()} for row in facts["pairs"]]
    limits = [{key: _or(value, -math.inf) for key, value in row.items()} for row in facts["limits"]]
    return Explanation(
        pairs=tuple(Pair(**row) for row in pairs),
        limits=tuple(Limit(**row) for row in limits),
        next_arm=facts["next_arm"],
        reason=facts["reason"],
        sentences=tuple(facts["sentences"]),
    )


def events_of(rows: Iterable[Facts]) -> list[Event]:
    """Return events, given what :func:`mobai.views.event_json` makes of them."""
    return [Event(*(row[name] for name in Event._fields)) for row in rows]


def _decision(problem: Problem, row: Facts) -> Decision | None:
    if not row["decided"]:
        return None
    arm = NOBODY if row["decided_arm"] is None else problem.arms.index(row["decided_arm"])
    return Decision(arm, row["decided_at"], _time(row["decided_time"]))


def _differences(problem: Problem, rows: Sequence[Facts] | None) -> Differences | None:
    if rows is None or problem.baseline is None:
        return None
    base, shape = problem.arms.index(problem.baseline), (problem.shape[0], len(problem.metrics))
    lower, upper, verdicts = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.intp)
    for row in rows:
        place = problem.arms.index(row["arm"]), problem.metric_names.index(row["metric"])
        lower[place], upper[place] = _or(row["lower"], -math.inf), _or(row["upper"], math.inf)
        verdicts[place] = _AGAINST_BASELINE[row["verdict"]]
    return Differences(base, lower, upper, verdicts)


def _table(problem: Problem, rows: Sequence[Facts], key: str, nothing: float) -> FloatArray:
    """Return a table of arms by metrics, whose rows come in that order."""
    return _numbers(rows, key, nothing).reshape(problem.shape[0], len(problem.metrics))


def _numbers(rows: Iterable[Facts], key: str, nothing: float) -> FloatArray:
    return np.array([_or(row[key], nothing) for row in rows], np.float64)


def _filled(values: Any, nothing: float) -> FloatArray:
    """Return nested lists as an array, with a number for None."""
    array = np.array(values, np.float64)  # None becomes NaN
    return np.where(np.isnan(array), nothing, array)


def _or(value: Any, nothing: float) -> Any:
    return nothing if value is None else value


def _time(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()
