"""What is shown, as plain data that JSON and CSV can hold."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mobai.views.words import status_remarks

if TYPE_CHECKING:
    from mobai.analysis.analyse import Analysis
    from mobai.engine import Verdict
    from mobai.engine.explain import Explanation
    from mobai.live.status import Status
    from mobai.live.trace import Series
    from mobai.problem import FloatArray, IntArray, Problem
    from mobai.store.journal import Event
    from mobai.theory.differences import Differences
    from mobai.theory.intervals import Intervals


_SERIES = ("pulls", "at", "evidence", "asked", "rewards", "means", "lower", "upper")


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data, ready for JSON."""
    return {
        "stopped": verdict.stopped,
        "stopped_at": verdict.stopped_at,
        "pulls": verdict.pulls,
        "log_inv_delta": verdict.log_inv_delta,
        "certified": verdict.certified,
        "remarks": verdict.remarks,
        "objectives": objective_rows(verdict),
    }


def objective_rows(verdict: Verdict) -> list[dict[str, Any]]:
    """Return what a verdict says of each objective, as plain data; no arm before the first pull."""
    return [
        {
            "objective": objective.name,
            "direction": objective.direction,
            "family": str(objective.family),
            "eps": float(objective.eps),
            "arm": verdict.answers[m] if verdict.leading[m] or verdict.decisions[m] else None,
            "leader": verdict.problem.arms[verdict.leaders[m]],
            "leading": verdict.leading[m],
            "decided": verdict.decisions[m] is not None,
            "decided_arm": _decided_arm(verdict, m),
            "decided_at": decision.pull if (decision := verdict.decisions[m]) else None,
            "decided_time": time_text(decision.at) if decision else None,
            "evidence": finite(float(verdict.evidence[m])),
            "threshold": float(verdict.threshold[m]),
            # A probability is given only where it is proven.
            "log_inv_delta_reached": finite(float(verdict.reached[m])) if verdict.certified else None,
            "smallest_delta": float(verdict.smallest_deltas[m]) if verdict.certified else None,
        }
        for m, objective in enumerate(verdict.problem.objectives)
    ]


def _decided_arm(verdict: Verdict, m: int) -> str | None:
    """Return the arm decided on; None if there is none yet, or none that keeps every limit."""
    decision = verdict.decisions[m]
    return verdict.problem.arms[decision.arm] if decision is not None and decision.arm >= 0 else None


def intervals_json(problem: Problem, intervals: Intervals) -> list[dict[str, Any]]:
    """Return intervals as plain data, one record per arm and objective; None for an end at infinity."""
    ends = (("lower", intervals.lower), ("upper", intervals.upper))
    return [
        {"arm": arm, "objective": name, **{key: finite(float(table[i, m])) for key, table in ends}}
        for i, arm in enumerate(problem.arms)
        for m, name in enumerate(problem.metric_names)
    ]


def limits_json(verdict: Verdict) -> list[dict[str, Any]]:
    """Return what can be said of every limit and arm, as plain data."""
    return [
        {
            "guardrail": str(guardrail),
            "metric": guardrail.metric,
            "arm": arm,
            "status": None if arm == guardrail.of else verdict.limit_status(c, i),
        }
        for c, guardrail in enumerate(verdict.problem.guardrails)
        for i, arm in enumerate(verdict.problem.arms)
    ]


def differences_json(problem: Problem, differences: Differences | None) -> list[dict[str, Any]] | None:
    """Return the differences to the baseline, as plain data; None without one."""
    if differences is None:
        return None
    return [
        {
            "arm": arm,
            "metric": name,
            "lower": finite(float(differences.lower[i, m])),
            "upper": finite(float(differences.upper[i, m])),
            "verdict": differences.words(i, m),
        }
        for i, arm in enumerate(problem.arms)
        for m, name in enumerate(problem.metric_names)
        if i != differences.baseline
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


def means_json(problem: Problem, counts: IntArray, means: FloatArray, intervals: Intervals) -> list[dict[str, Any]]:
    """Return what is known of every arm in every objective, as plain data."""
    found = intervals_json(problem, intervals)
    for row, count, mean in zip(found, counts.ravel().tolist(), means.ravel().tolist(), strict=True):
        row |= {"rewards": count, "mean": finite(mean)}
    return found


def status_json(status: Status) -> dict[str, Any]:
    """Return a status as plain data: everything it says."""
    verdict, more = status.verdict, status.forecast
    objectives = objective_rows(verdict)
    for m, row in enumerate(objectives):
        row |= {
            "reported": int(status.pulls[:, m].sum()),
            "outstanding": int(verdict.pulls - status.pulls[:, m].sum()),
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
        "name": status.name,
        "state": status.state,
        "rule": status.rule,
        "delta": verdict.delta,
        "log_inv_delta": verdict.log_inv_delta,
        "certified": verdict.certified,
        "proven": verdict.proven,
        "doubts": dict(zip(verdict.problem.metric_names, verdict.doubts, strict=True)),
        "refused": verdict.refused,
        "lost": verdict.lost,
        "alarms": list(verdict.alarms),
        "held": list(verdict.held),
        "least": verdict.least,
        "remarks": status_remarks(status),
        "pulls": verdict.pulls,
        "stopped": verdict.stopped,
        "decided": sum(decision is not None for decision in verdict.decisions),
        "pending": status.pending,
        "incomplete": status.incomplete,
        "dropped": status.dropped,
        "expired": status.expired,
        "waiting": [
            {**one._asdict(), "asked_at": time_text(one.asked_at), "until": time_text(one.until)}
            for one in status.waiting
        ],
        "worst": status.worst,
        "late": status.late,
        "events": status.events,
        "head": status.head,
        "created_at": time_text(status.created_at),
        "closed_at": time_text(status.closed_at),
        "paused_at": time_text(status.paused_at),
        "last_report_at": time_text(status.last_report_at),
        "ending": status.ending,
        "concerns": [concern._asdict() for concern in status.concerns],
        "objectives": objectives,
        "guardrails": limits_json(verdict),
        "baseline": verdict.problem.baseline,
        "differences": differences_json(verdict.problem, status.differences),
        "arms": arms,
        "means": means_json(verdict.problem, status.pulls, status.means, status.intervals),
        "intervals": {
            "fitted": status.intervals.fitted,
            "certified": status.intervals.certified,
            "contradicted": status.intervals.contradicted.tolist(),
        },
        "forecast": None if more is None else {"samples": finite(more.samples)},
        "timeline": [{**one._asdict(), "time": time_text(one.at)} for one in status.timeline],
        "past": [list(one) for one in status.past],
        "weighed_otherwise": status.weighed_otherwise,
        "problem": problem_json(verdict.problem),
    }


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


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain data; None for noise that is not known."""
    return {
        "arms": list(problem.arms),
        "objectives": [str(objective) for objective in problem.objectives],
        **({"guardrails": [str(guardrail) for guardrail in problem.guardrails]} if problem.guardrails else {}),
        **({"baseline": problem.baseline} if problem.baseline is not None else {}),
        "sd": [[None if math.isnan(value) else value for value in row] for row in problem.sd.tolist()],
    }


def series_json(series: Series) -> dict[str, Any]:
    """Return how an experiment went as plain data: lists with an entry per point; None where nothing was known."""
    arrays = {name: getattr(series, name) for name in _SERIES}
    return {
        "problem": problem_json(series.problem),
        "arms": list(series.problem.arms),
        "objectives": list(series.problem.objective_names),
        "metrics": list(series.problem.metric_names),
        "threshold": series.threshold,
        # From which point on each arm takes part: NaN in the tables before that.
        "since": [int((table != table).sum()) for table in series.lower[:, :, 0].T],
        **{name: _finite_all(array.tolist()) for name, array in arrays.items()},
    }


def _finite_all(values: Any) -> Any:
    """Return nested lists with None for what JSON has no word for."""
    if isinstance(values, list):
        return [_finite_all(value) for value in values]
    return finite(values) if isinstance(values, float) else values


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as plain data; ``at`` is a Unix time, which its hash covers."""
    return {**event._asdict(), "time": time_text(event.at)}


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


def analysis_json(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as plain data."""
    problem, more = analysis.verdict.problem, analysis.forecast
    means = means_json(problem, analysis.counts, analysis.means, analysis.intervals)
    for row, missing in zip(means, analysis.missing.ravel().tolist(), strict=True):
        row["missing"] = missing
    forecast = None
    if more is not None:
        forecast = {
            "samples": finite(more.samples),
            "per_arm": {arm: finite(float(n)) for arm, n in zip(problem.arms, more.per_arm, strict=True)},
        }
    verdict = verdict_json(analysis.verdict)
    return {
        **verdict,
        "guardrails": limits_json(analysis.verdict),
        "differences": differences_json(problem, analysis.differences),
        "means": means,
        "forecast": forecast,
        "assumption": analysis.assumption,
        "findings": list(analysis.findings),
    }


def finite(value: float) -> float | None:
    """Return the number, or None if JSON has no word for it."""
    return value if math.isfinite(value) else None


def time_text(at: float | None) -> str | None:
    """Return a Unix time in ISO 8601, to the millisecond; None for none, the number for one beyond the calendar."""
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{at:g}"
