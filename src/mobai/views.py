"""Verdicts and intervals as plain data: what the command line prints as JSON, and anybody else may show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.problem import Problem
    from mobai.theory.intervals import Intervals


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data, ready for JSON."""
    return {
        "stopped": verdict.stopped,
        "stopped_at": verdict.stopped_at,
        "pulls": verdict.pulls,
        "log_inv_delta": verdict.log_inv_delta,
        "certified": verdict.certified,
        "objectives": objective_rows(verdict),
    }


def objective_rows(verdict: Verdict) -> list[dict[str, Any]]:
    """Return what a verdict says of each objective, as plain data."""
    return [
        {
            "objective": objective.name,
            "direction": objective.direction,
            "arm": verdict.answers[m],
            "decided_at": decision.pull if (decision := verdict.decisions[m]) else None,
            "evidence": float(verdict.evidence[m]),
            "threshold": float(verdict.threshold[m]),
            # A probability is given only where it is proven.
            "log_inv_delta_reached": float(verdict.reached[m]) if verdict.certified else None,
            "smallest_delta": float(verdict.smallest_deltas[m]) if verdict.certified else None,
        }
        for m, objective in enumerate(verdict.problem.objectives)
    ]


def intervals_json(problem: Problem, intervals: Intervals) -> list[dict[str, Any]]:
    """Return intervals as plain data, one record an arm and objective; null where there is no end."""
    ends = (("lower", intervals.lower), ("upper", intervals.upper))
    return [
        {"arm": arm, "objective": name, **{key: finite(float(table[i, m])) for key, table in ends}}
        for i, arm in enumerate(problem.arms)
        for m, name in enumerate(problem.objective_names)
    ]


def finite(value: float) -> float | None:
    """JSON knows no infinity."""
    return value if math.isfinite(value) else None
