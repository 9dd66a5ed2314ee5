"""What people are shown: verdicts, status, bounds and summaries as plain data, tables and pieces of HTML.

The command line, notebooks and reports share them. It reads the objects it shows and imports none of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mobai.document import Block, Paragraph, Table, to_fragment

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.lab.summary import Summary
    from mobai.live.status import Status
    from mobai.problem import Problem
    from mobai.theory.intervals import Intervals
    from mobai.theory.lower_bound import LowerBound

_MOST_ARMS = 12  # in a table of arms


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
    """Return intervals as plain data, one record per arm and objective; None for an end at infinity."""
    ends = (("lower", intervals.lower), ("upper", intervals.upper))
    return [
        {"arm": arm, "objective": name, **{key: finite(float(table[i, m])) for key, table in ends}}
        for i, arm in enumerate(problem.arms)
        for m, name in enumerate(problem.objective_names)
    ]


def finite(value: float) -> float | None:
    """Return the number, or None if JSON has no word for it."""
    return value if math.isfinite(value) else None


def certification(threshold: str, certified: bool) -> str:
    """Return a line that says whether the error probability is proven to be at most delta."""
    if certified:
        return f"threshold {threshold}: certified, the error probability is proven to be at most delta"
    return f"threshold {threshold}: not certified, its error probability can exceed delta"


def verdict_table(verdict: Verdict) -> Table:
    """Return a row per objective: the answer, when it was decided, and the evidence."""
    rows = []
    for m, objective in enumerate(verdict.problem.objectives):
        decision = verdict.decisions[m]
        rows.append(
            [
                objective.name + (" (less is better)" if objective.direction == "min" else ""),
                verdict.answers[m],
                f"{decision.pull:,}" if decision else "not yet",
                f"{verdict.evidence[m]:.2f}",
                f"{verdict.threshold[m]:.2f}",
            ]
        )
    return Table(["objective", "best arm", "decided at pull", "evidence", "needed"], rows, left=2)


def intervals_table(problem: Problem, intervals: Intervals) -> Table:
    """Return a row per arm, for the first arms: where its means lie."""
    rows = [
        [arm, *(f"{low:.4g} to {high:.4g}" for low, high in zip(intervals.lower[i], intervals.upper[i], strict=True))]
        for i, arm in enumerate(problem.arms[:_MOST_ARMS])
    ]
    return Table(["arm", *problem.objective_names], rows)


def intervals_caption(verdict: Verdict, intervals: Intervals) -> str:
    """Return a sentence that says what the intervals promise."""
    promise = f"where the true means lie: all of them, at all times, with probability {1 - verdict.delta:.6g}"
    if intervals.fitted:
        return promise
    rule = "another certified rule" if verdict.certified else "a rule that is not certified"
    return f"{promise} (proven for the intervals alone, apart from the decisions of {rule})"


def status_line(status: Status) -> str:
    """Return one line: where an experiment stands."""
    verdict = status.verdict
    state = "closed" if status.closed_at else "decided" if verdict.stopped else "running"
    lost = status.dropped + status.expired
    counts = f"{verdict.pulls:,} pulls, {status.pending:,} pending, {lost:,} dropped or expired"
    return f"{status.name}: {state}, {counts}, {status.rule}, delta = {verdict.delta:g}"


def status_remarks(status: Status) -> list[str]:
    """Return what else a reader should know: doubts, earlier decisions, and means that seem to have drifted."""
    remarks = status.verdict.remarks + [
        f"earlier, among other arms: {objective} was decided for {arm} at pull {pull:,}"
        for objective, arm, pull in status.past
    ]
    if status.intervals.contradicted.any():
        remarks.append("the current data contradict an earlier decision: have the means drifted?")
    return remarks


def verdict_html(verdict: Verdict) -> str:
    """Return a verdict as a piece of HTML."""
    when = (
        f"stopped at pull {verdict.stopped_at:,}" if verdict.stopped else f"not stopped after {verdict.pulls:,} pulls"
    )
    line = f"{when}, delta = {verdict.delta:.3g}{', certified' if verdict.certified else ''}; evidence in nats"
    return to_fragment([verdict_table(verdict), Paragraph(line), *(Paragraph(one) for one in verdict.remarks)])


def status_html(status: Status) -> str:
    """Return a status as a piece of HTML."""
    verdict = status.verdict
    blocks: list[Block] = [
        Paragraph(status_line(status)),
        verdict_table(verdict),
        intervals_table(verdict.problem, status.intervals),
        Paragraph(intervals_caption(verdict, status.intervals)),
        *(Paragraph(remark) for remark in status_remarks(status)),
    ]
    return to_fragment(blocks)


def bound_html(bound: LowerBound) -> str:
    """Return a lower bound as a piece of HTML: the number, and the arms that should get most samples."""
    arms = bound.problem.arms
    order = sorted(range(len(arms)), key=lambda i: (-bound.weights[i], i))[:_MOST_ARMS]
    line = f"{bound.value:.6g} samples per nat of evidence, relative gap {bound.gap:.1g}"
    kind = "" if bound.exact else "; for Gaussian rewards of the same means and standard deviations"
    table = Table(["arm", "share of the samples"], [[arms[i], f"{bound.weights[i]:.2%}"] for i in order])
    return to_fragment([Paragraph(line + kind), table])


def summary_html(summary: Summary) -> str:
    """Return a summary as a piece of HTML."""
    return to_fragment([summary.table])
