"""What a service and exports show, as plain data, and back as the objects it was made of: each way beside the other.

Fields that are shown as they are say so themselves (:mod:`mobai.views.facts`): one that :class:`Status` or
:class:`Verdict` states is in the JSON, in the documentation of the API and in the twin of an experiment elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mobai.engine import Verdict
from mobai.engine.explain import Explanation, Limit, Pair
from mobai.kernels.stats.observations import LimitState
from mobai.live.settings import Settings
from mobai.live.status import Status
from mobai.live.trace import Series
from mobai.problem import FloatArray, Problem
from mobai.problem.codec import problem_json, problem_of
from mobai.problem.guardrail import NOBODY
from mobai.problem.problem import frozen
from mobai.rules.stopping import Decision
from mobai.store.journal import Event
from mobai.theory.differences import Differences
from mobai.theory.forecast import Remaining
from mobai.theory.intervals import Intervals
from mobai.views.data import differences_json, finite, limits_json, means_json, objective_rows, time_of, time_text
from mobai.views.facts import facts_json, facts_of
from mobai.views.headline import status_remarks

Facts = Mapping[str, Any]
_SERIES = ("pulls", "at", "evidence", "asked", "rewards", "means", "lower", "upper")
_LIMITS: dict[str | None, LimitState] = {
    "-": LimitState.OPEN,
    None: LimitState.OPEN,
    **{one.name.lower(): one for one in LimitState},
}
_AGAINST_BASELINE = {"open": 0, "better": 1, "worse": -1}
# The columns of :func:`status_rows`, in their order.
STATUS_COLUMNS = (
    "name",
    "state",
    "rule",
    "delta",
    "certified",
    "remarks",
    "pulls",
    "pending",
    "incomplete",
    "dropped",
    "expired",
    "objective",
    "direction",
    "family",
    "eps",
    "leader_arm",
    "decided",
    "decided_at",
    "decided_time",
    "decided_evidence",
    "evidence",
    "threshold",
    "smallest_delta",
    "reported",
    "outstanding",
    "forecast",
    "arm",
    "active",
    "asked",
    "rewards",
    "mean",
    "lower",
    "upper",
    "barred",
    "limits",
    "difference_lower",
    "difference_upper",
    "against_baseline",
)


def status_json(status: Status) -> dict[str, Any]:
    """Return a status as plain data: everything it says."""
    verdict, more = status.verdict, status.forecast
    objectives = objective_rows(verdict)
    for m, row in enumerate(objectives):
        row |= {
            "reported": int(status.rewards[:, m].sum()),
            "outstanding": int(verdict.pulls - status.rewards[:, m].sum()),
            "forecast": None if more is None else finite(float(more.per_objective[m])),
        }
    arms = [
        {
            "arm": arm,
            "active": bool(status.active[i]),
            "barred": bool(status.barred[i]),
            "asked": int(status.asked[i]),
            "answered": int(status.answered[i]),
            "forecast": None if more is None else finite(float(more.per_arm[i])),
        }
        for i, arm in enumerate(verdict.problem.arms)
    ]
    return {
        **facts_json(verdict),
        **facts_json(status),
        "state": status.state,
        "delta": verdict.delta,
        "certified": verdict.certified,
        "doubts": dict(zip(verdict.problem.metric_names, verdict.doubts, strict=True)),
        "remarks": status_remarks(status),
        "stopped": verdict.stopped,
        "decided": sum(decision is not None for decision in verdict.decisions),
        "objectives": objectives,
        "guardrails": limits_json(verdict),
        "baseline": verdict.problem.baseline,
        "differences": differences_json(verdict.problem, status.differences),
        "arms": arms,
        "means": means_json(verdict.problem, status.rewards, status.means, status.intervals),
        "intervals": {
            "fitted": status.intervals.fitted,
            "certified": status.intervals.certified,
            "contradicted": status.intervals.contradicted.tolist(),
        },
        "forecast": None if more is None else {"samples": finite(more.samples)},
        "problem": problem_json(verdict.problem, names_items=False),
    }


def status_of(facts: Facts, settings: Settings) -> Status:
    """Return a status, given what :func:`status_json` makes of it. Times are to the millisecond."""
    problem = problem_of(facts["problem"])
    arms, means, forecast = facts["arms"], facts["means"], facts["forecast"]
    lower, upper = _table(problem, means, "lower", -math.inf), _table(problem, means, "upper", math.inf)
    notes = facts["intervals"]
    remaining = None
    if forecast is not None:
        per_objective, per_arm = (_numbers(rows, "forecast", math.inf) for rows in (facts["objectives"], arms))
        remaining = Remaining(_or(forecast["samples"], math.inf), per_objective, per_arm)
    return Status(
        **facts_of(Status, facts),
        verdict=verdict_of(facts, settings, problem),
        intervals=Intervals(lower, upper, np.array(notes["contradicted"]), notes["fitted"], notes["certified"]),
        active=np.array([arm["active"] for arm in arms]),
        asked=np.array([arm["asked"] for arm in arms], np.intp),
        answered=np.array([arm["answered"] for arm in arms], np.intp),
        rewards=_table(problem, means, "rewards", 0).astype(np.intp),
        means=_table(problem, means, "mean", math.nan),
        barred=np.array([arm["barred"] for arm in arms]),
        differences=_differences(problem, facts["differences"]),
        forecast=remaining,
    )


def verdict_of(facts: Facts, settings: Settings, problem: Problem | None = None) -> Verdict:
    """Return the verdict of a status."""
    problem = problem_of(facts["problem"]) if problem is None else problem
    rows = facts["objectives"]
    by_limit = {(one["guardrail"], one["arm"]): _LIMITS[one["status"]] for one in facts["guardrails"]}
    return Verdict(
        **facts_of(Verdict, facts),
        problem=problem,
        leaders=tuple(problem.arms.index(row["leader"]) for row in rows),
        leading=tuple(row["leading"] for row in rows),
        decisions=tuple(_decision(problem, row) for row in rows),
        evidence=frozen(_numbers(rows, "evidence", -math.inf)),
        threshold=frozen(_numbers(rows, "threshold", math.inf)),
        doubts=tuple(facts["doubts"][name] for name in problem.metric_names),
        limits=tuple(tuple(by_limit[str(one), arm] for arm in problem.arms) for one in problem.guardrails),
        reaches=partial(settings.stopping.reached, settings.problem),
    )


def _decision(problem: Problem, row: Facts) -> Decision | None:
    if not row["decided"]:
        return None
    arm = NOBODY if row["decided_arm"] is None else problem.arms.index(row["decided_arm"])
    return Decision(arm, row["decided_at"], time_of(row["decided_time"]), row.get("decided_evidence"))


def _differences(problem: Problem, rows: Sequence[Facts] | None) -> Differences | None:
    if rows is None or problem.baseline is None:
        return None
    base, shape = problem.arms.index(problem.baseline), (problem.shape[0], len(problem.metrics))
    lower, upper, verdicts = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.intp)
    lifts = np.full((2, *shape), math.nan)
    for row in rows:
        place = problem.arms.index(row["arm"]), problem.metric_names.index(row["metric"])
        lower[place], upper[place] = _or(row["lower"], -math.inf), _or(row["upper"], math.inf)
        verdicts[place] = _AGAINST_BASELINE[row["verdict"]]
        lifts[0][place], lifts[1][place] = _or(row["lift_lower"], math.nan), _or(row["lift_upper"], math.nan)
    lifts[:, base] = np.where(np.isnan(lifts[0]).all(axis=0), math.nan, 0.0)
    return Differences(base, lower, upper, verdicts, lifts[0], lifts[1])


def status_summary(status: Status) -> dict[str, Any]:
    """Return a status in a few plain facts, for lists of experiments."""
    verdict, objectives = status.verdict, len(status.verdict.decisions)
    decided = sum(decision is not None for decision in verdict.decisions)
    return {
        "name": status.name,
        "state": status.state,
        "arms": int(status.active.sum()),
        "objectives": objectives,
        "decided": decided,
        "pulls": verdict.pulls,
        "pending": status.pending,
        "certified": verdict.certified,
        "warnings": len(status.concerns),
        "last_report_at": time_text(status.last_report_at),
        "created_at": time_text(status.created_at),
    }


def status_rows(status: Status) -> list[dict[str, Any]]:
    """Return a status as flat rows, one per arm and objective, for CSV."""
    facts = status_json(status)
    keys = ("name", "state", "rule", "delta", "certified", "pulls", "pending", "incomplete", "dropped", "expired")
    about = {**{key: facts[key] for key in keys}, "remarks": "; ".join(facts["remarks"])}
    objectives = {row["objective"]: row for row in facts["objectives"]}
    arms = {row["arm"]: row for row in facts["arms"]}
    limits: dict[tuple[str, str], list[str]] = {}
    for one in facts["guardrails"]:
        if one["status"] is not None:
            limits.setdefault((one["arm"], one["metric"]), []).append(one["status"])
    differences = {
        (one["arm"], one["metric"]): {
            "difference_lower": one["lower"],
            "difference_upper": one["upper"],
            "against_baseline": one["verdict"],
        }
        for one in facts["differences"] or ()
    }
    return [
        {
            **about,
            **{
                f"leader_{key}" if key == "arm" else key: value
                for key, value in objectives.get(row["objective"], {}).items()
            },
            "active": arms[row["arm"]]["active"],
            "barred": arms[row["arm"]]["barred"],
            "asked": arms[row["arm"]]["asked"],
            **row,
            "limits": "; ".join(limits.get((row["arm"], row["objective"]), ())),
            **differences.get((row["arm"], row["objective"]), {}),
        }
        for row in facts["means"]
    ]


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data."""

    def plain(row: Any) -> dict[str, Any]:
        return {key: finite(value) if isinstance(value, float) else value for key, value in row._asdict().items()}

    return {
        "next_arm": explanation.next_arm,
        "reason": explanation.reason,
        "sentences": list(explanation.sentences),
        "pairs": [plain(pair) for pair in explanation.pairs],
        "limits": [plain(limit) for limit in explanation.limits],
    }


def explanation_of(facts: Facts) -> Explanation:
    """Return an explanation, given what :func:`explanation_json` makes of it."""
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


def series_json(series: Series) -> dict[str, Any]:
    """Return how an experiment went as plain data: lists with an entry per point; None where nothing was known."""
    arrays = {name: getattr(series, name) for name in _SERIES}
    return {
        "problem": problem_json(series.problem, names_items=False),
        "arms": list(series.problem.arms),
        "objectives": list(series.problem.objective_names),
        "metrics": list(series.problem.metric_names),
        "threshold": series.threshold,
        # From which point on each arm takes part: NaN in the tables before that.
        "since": [int((table != table).sum()) for table in series.lower[:, :, 0].T],
        **{name: _finite_all(array.tolist()) for name, array in arrays.items()},
    }


def series_of(facts: Facts) -> Series:
    """Return how an experiment went, given what :func:`series_json` makes of it."""
    problem, points = problem_of(facts["problem"]), len(facts["pulls"])
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


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as plain data; ``at`` is a Unix time, which its hash covers."""
    return {**event._asdict(), "time": time_text(event.at)}


def events_of(rows: Iterable[Facts]) -> list[Event]:
    """Return events, given what :func:`event_json` makes of them."""
    return [Event(*(row[name] for name in Event._fields)) for row in rows]


def _finite_all(values: Any) -> Any:
    """Return nested lists with None for what JSON has no word for."""
    if isinstance(values, list):
        return [_finite_all(value) for value in values]
    return finite(values) if isinstance(values, float) else values


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
