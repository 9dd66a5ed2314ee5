"""What is shown, as plain data that JSON and CSV can hold."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mobai.views.headline import analysis_headline

if TYPE_CHECKING:
    from mobai.analysis.analyse import Analysis
    from mobai.engine import Verdict
    from mobai.problem import FloatArray, IntArray, Problem
    from mobai.theory.differences import Differences
    from mobai.theory.intervals import Intervals


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
            "decided_evidence": None if decision is None or decision.evidence is None else finite(decision.evidence),
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
            "lift_lower": finite(float(differences.lift_lower[i, m])),
            "lift_upper": finite(float(differences.lift_upper[i, m])),
            "verdict": differences.words(i, m),
        }
        for i, arm in enumerate(problem.arms)
        for m, name in enumerate(problem.metric_names)
        if i != differences.baseline
    ]


def means_json(problem: Problem, counts: IntArray, means: FloatArray, intervals: Intervals) -> list[dict[str, Any]]:
    """Return what is known of every arm in every objective, as plain data."""
    found = intervals_json(problem, intervals)
    for row, count, mean in zip(found, counts.ravel().tolist(), means.ravel().tolist(), strict=True):
        row |= {"rewards": count, "mean": finite(mean)}
    return found


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
        "headline": analysis_headline(analysis.verdict),
        "contention": [one.json() for one in analysis.verdict.contention],
        "guardrails": limits_json(analysis.verdict),
        "differences": differences_json(problem, analysis.differences),
        "means": means,
        "forecast": forecast,
        "assumption": analysis.assumption,
        "findings": list(analysis.findings),
        **({} if analysis.answer is None else {"answer": dict(vars(analysis.answer))}),
        **({"standings": [one.json() for one in analysis.standings]} if analysis.standings else {}),
    }


def finite(value: float) -> float | None:
    """Return the number, or None if JSON has no word for it."""
    return value if math.isfinite(value) else None


def time_of(text: str | None) -> Any:
    """Return the Unix time that :func:`time_text` made a text of; None for none."""
    return None if text is None else datetime.fromisoformat(text).timestamp()


def time_text(at: float | None) -> str | None:
    """Return a Unix time in ISO 8601, to the millisecond; None for none, the number for one beyond the calendar."""
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{at:g}"
