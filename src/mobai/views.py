"""What people are shown: verdicts, status, analyses, bounds and summaries as plain data, tables and pieces of HTML.

The command line, notebooks and reports share them. It reads the objects it shows and imports none of them.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mobai.document import Block, Paragraph, Table, to_fragment

if TYPE_CHECKING:
    from mobai.analysis.analyse import Analysis
    from mobai.engine import Verdict
    from mobai.lab.summary import Summary
    from mobai.live.status import Status
    from mobai.problem import FloatArray, IntArray, Problem
    from mobai.theory.forecast import Remaining
    from mobai.theory.intervals import Intervals
    from mobai.theory.lower_bound import LowerBound

_MOST_ARMS = 12  # in a table of arms


# Plain data


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
            "decided": verdict.decisions[m] is not None,
            "decided_at": decision.pull if (decision := verdict.decisions[m]) else None,
            "decided_time": time_text(decision.at) if decision else None,
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
        "certified": verdict.certified,
        "remarks": status_remarks(status),
        "pulls": verdict.pulls,
        "decided": sum(decision is not None for decision in verdict.decisions),
        "pending": status.pending,
        "incomplete": status.incomplete,
        "dropped": status.dropped,
        "expired": status.expired,
        "events": status.events,
        "created_at": time_text(status.created_at),
        "closed_at": time_text(status.closed_at),
        "objectives": objectives,
        "arms": arms,
        "means": means_json(verdict.problem, status.pulls, status.means, status.intervals),
    }


def status_rows(status: Status) -> list[dict[str, Any]]:
    """Return a status as flat rows, one per arm and objective, for CSV."""
    facts = status_json(status)
    keys = ("name", "state", "rule", "delta", "certified", "pulls", "pending", "incomplete", "dropped", "expired")
    about = {**{key: facts[key] for key in keys}, "remarks": "; ".join(facts["remarks"])}
    objectives = {row["objective"]: row for row in facts["objectives"]}
    arms = {row["arm"]: row for row in facts["arms"]}
    return [
        {
            **about,
            **{f"leader_{key}" if key == "arm" else key: value for key, value in objectives[row["objective"]].items()},
            "active": arms[row["arm"]]["active"],
            "asked": arms[row["arm"]]["asked"],
            **row,
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
    return {**verdict, "means": means, "forecast": forecast, "assumption": analysis.assumption}


def finite(value: float) -> float | None:
    """Return the number, or None if JSON has no word for it."""
    return value if math.isfinite(value) else None


def time_text(at: float | None) -> str | None:
    """Return a Unix time in ISO 8601, to the millisecond; None for none."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


# Sentences


def certification(threshold: str, certified: bool) -> str:
    """Return a line that says whether the error probability is proven to be at most delta."""
    if certified:
        proof = "the error probability is proven to be at most delta, if the rewards are as stated"
        return f"threshold {threshold}: certified, {proof}"
    return f"threshold {threshold}: not certified, its error probability can exceed delta"


def answer_text(verdict: Verdict, m: int) -> str:
    """Return the arm decided on, the one that leads, or nothing without rewards or in a tie."""
    if verdict.decisions[m] is not None:
        return verdict.answers[m]
    return f"{verdict.answers[m]} leads" if verdict.leading[m] else "-"


def number_text(value: float, width: float) -> str:
    """Return a number with as many digits as an interval of this width around it deserves, three at least."""
    if not (math.isfinite(value) and math.isfinite(width) and width > 0):
        return f"{value:.3g}"
    digits = 3 + max(0, math.floor(math.log10(max(abs(value), 1e-300) / width)))
    return f"{value:.{min(digits, 17)}g}"


def plural(count: int, word: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def verdict_line(verdict: Verdict) -> str:
    """Return one line: how many pulls, and how many objectives are decided."""
    decided = sum(decision is not None for decision in verdict.decisions)
    proof = "" if verdict.certified else ", NOT certified"
    count = f"{decided} of {plural(len(verdict.decisions), 'objective')}"
    return f"{plural(verdict.pulls, 'pull')}, {count} decided at delta = {verdict.delta:g}{proof}"


def samples_text(samples: float) -> str:
    """Return a forecast in words, to two digits."""
    if not math.isfinite(samples):
        return "no forecast: tied so far"
    rounded = int(float(f"{max(samples, 1.0):.1g}" if samples < 1000 else f"{samples:.2g}"))
    return f"roughly {plural(rounded, 'more sample')}"


def missing_text(verdict: Verdict, forecast: Remaining | None, m: int) -> str:
    """Return what an objective still lacks, in plain words."""
    decision = verdict.decisions[m]
    if decision is not None:
        return f"decided at pull {decision.pull:,}{_when(decision.at)}"
    if forecast is None:
        return "too early for a forecast"
    return samples_text(float(forecast.per_objective[m]))


def _when(at: float | None) -> str:
    """Return the time of day, with the date unless it is today; nothing for None."""
    if at is None:
        return ""
    then, now = datetime.fromtimestamp(at, UTC), datetime.now(UTC)
    return f", {then:%H:%M} UTC" if then.date() == now.date() else f", {then:%d %b %Y %H:%M} UTC"


def intervals_caption(verdict: Verdict, intervals: Intervals) -> str:
    """Return a sentence that says what the intervals promise."""
    promise = f"where the true means lie: all of them, at all times, with probability {1 - verdict.delta:.6g}"
    if not intervals.certified:
        return f"{promise}, if the rewards were as stated, which they do not seem to be"
    if intervals.fitted:
        return promise
    rule = "another certified rule" if verdict.certified else "a rule that is not certified"
    return f"{promise} (proven for the intervals alone, apart from the decisions of {rule})"


def status_line(status: Status) -> str:
    """Return one line: where an experiment stands."""
    verdict = status.verdict
    lost = status.dropped + status.expired
    waiting = f"{status.pending:,} pending" + (f", {status.incomplete:,} incomplete" if status.incomplete else "")
    counts = f"{plural(verdict.pulls, 'pull')}, {waiting}" + (f", {lost:,} dropped or expired" if lost else "")
    state = status.state if verdict.certified else f"{status.state}, NOT certified"
    return f"{status.name}: {state}, {counts}, {status.rule}, delta = {verdict.delta:g}"


def status_remarks(status: Status) -> list[str]:
    """Return what else a reader should know: doubts, what is outstanding, earlier decisions, means that drifted."""
    names, answered = status.verdict.problem.objective_names, status.verdict.pulls
    remarks = status.verdict.remarks
    for name, reported in zip(names, status.pulls.sum(axis=0).tolist(), strict=True):
        if reported < answered:
            remarks.append(f"{name}: {reported:,} of {answered:,} reported")
    if status.incomplete:
        waiting = plural(status.incomplete, "pull")
        remarks.append(f"sampling waits for {waiting} to be complete; null says that a metric will not come")
    remarks += [
        f"earlier, among other arms: {objective} was decided for {arm} at pull {pull:,}"
        for objective, arm, pull in status.past
    ]
    if status.intervals.contradicted.any():
        remarks.append("the current data contradict an earlier decision: have the means drifted?")
    return remarks


# Tables


def verdict_table(verdict: Verdict) -> Table:
    """Return a row per objective: the answer, when it was decided, and the evidence."""
    rows = []
    for m, objective in enumerate(verdict.problem.objectives):
        decision = verdict.decisions[m]
        rows.append(
            [
                f"{objective.name} (min)" if objective.direction == "min" else objective.name,
                answer_text(verdict, m),
                f"{decision.pull:,}" if decision else "not yet",
                f"{verdict.evidence[m]:.2f}",
                f"{verdict.threshold[m]:.2f}",
            ]
        )
    return Table(["objective", "best arm", "decided at pull", "evidence", "needed"], rows, left=2)


def progress_table(verdict: Verdict, forecast: Remaining | None) -> Table:
    """Return a row per objective: the answer, what is missing in plain words, and the evidence in nats."""
    rows = []
    for m, objective in enumerate(verdict.problem.objectives):
        rows.append(
            [
                f"{objective.name} (min)" if objective.direction == "min" else objective.name,
                answer_text(verdict, m),
                missing_text(verdict, forecast, m),
                "" if verdict.decisions[m] else f"{max(verdict.evidence[m], 0.0):.2f} of {verdict.threshold[m]:.2f}",
            ]
        )
    return Table(["objective", "best arm", "state (forecast)", "nats"], rows, left=3)


def intervals_table(problem: Problem, intervals: Intervals) -> Table:
    """Return a row per arm, for the first arms: where its means lie."""
    rows = [
        [arm, *(f"{low:.4g} to {high:.4g}" for low, high in zip(intervals.lower[i], intervals.upper[i], strict=True))]
        for i, arm in enumerate(problem.arms[:_MOST_ARMS])
    ]
    return Table(["arm", *problem.objective_names], rows)


def means_table(problem: Problem, counts: IntArray, means: FloatArray, intervals: Intervals) -> Table:
    """Return a row per arm, for the first arms: mean, interval and number of rewards in each objective."""
    rows = []
    for i, arm in enumerate(problem.arms[:_MOST_ARMS]):
        cells = [arm]
        for m in range(problem.shape[1]):
            low, high = intervals.lower[i, m], intervals.upper[i, m]
            shown = [number_text(float(value), float(high - low)) for value in (means[i, m], low, high)]
            lies = f"{shown[1]} to {shown[2]}" if math.isfinite(high - low) else "unknown"
            cells.append(f"{shown[0]} ({lies})" if counts[i, m] else "-")
        numbers = sorted(set(counts[i].tolist()))
        rows.append(
            [*cells, " to ".join(f"{n:,}" for n in (numbers if len(numbers) < 3 else numbers[:: len(numbers) - 1]))]
        )
    return Table(["arm", *(f"{name}: mean (interval)" for name in problem.objective_names), "rewards"], rows)


def missing_table(analysis: Analysis) -> Table:
    """Return a row per arm: its rewards and what is missing, per objective, and where more samples should go."""
    problem, more = analysis.verdict.problem, analysis.forecast
    header = ["arm"]
    shown = [m for m in range(problem.shape[1]) if analysis.missing[:, m].any()]
    for m in shown:
        header += [f"{problem.objective_names[m]}: rewards", "missing"]
    rows = []
    for i, arm in enumerate(problem.arms[:_MOST_ARMS]):
        cells = [arm]
        for m in shown:
            cells += [f"{analysis.counts[i, m]:,}", f"{analysis.missing[i, m]:,}"]
        rows.append([*cells, "-" if more is None or more.per_arm[i] == math.inf else f"{more.per_arm[i]:,.0f}"])
    return Table([*header, "more (forecast)"], rows)


# Text and HTML


def to_text(table: Table) -> str:
    """Return a table as lines of text."""
    cells = [list(table.header), *(list(row) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(
            c.ljust(w) if n < table.left else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def status_text(status: Status) -> str:
    """Return a status as lines of text."""
    return "\n".join(_lines(status_blocks(status)))


def analysis_text(analysis: Analysis) -> str:
    """Return an analysis as lines of text."""
    return "\n".join(_lines(analysis_blocks(analysis)))


def _lines(blocks: list[Block]) -> list[str]:
    return [to_text(block) if isinstance(block, Table) else getattr(block, "text", "") for block in blocks]


def status_blocks(status: Status) -> list[Block]:
    """Return a status as paragraphs and tables."""
    verdict = status.verdict
    return [
        Paragraph(status_line(status)),
        progress_table(verdict, status.forecast),
        means_table(verdict.problem, status.pulls, status.means, status.intervals),
        Paragraph(intervals_caption(verdict, status.intervals)),
        *(Paragraph(remark) for remark in status_remarks(status)),
    ]


def analysis_blocks(analysis: Analysis) -> list[Block]:
    """Return an analysis as paragraphs and tables."""
    verdict, more = analysis.verdict, analysis.forecast
    forecast = "" if more is None or verdict.stopped else f"; {samples_text(more.samples)} in all (a forecast)"
    return [
        Paragraph(f"{verdict_line(verdict).replace(' pull', ' row', 1)}{forecast}"),
        progress_table(verdict, more),
        means_table(verdict.problem, analysis.counts, analysis.means, analysis.intervals),
        missing_table(analysis),
        Paragraph(intervals_caption(verdict, analysis.intervals)),
        Paragraph(analysis.assumption),
        *(Paragraph(remark) for remark in verdict.remarks),
    ]


def verdict_html(verdict: Verdict) -> str:
    """Return a verdict as a piece of HTML."""
    when = (
        f"stopped at pull {verdict.stopped_at:,}" if verdict.stopped else f"not stopped after {verdict.pulls:,} pulls"
    )
    line = f"{when}, delta = {verdict.delta:.3g}{', certified' if verdict.certified else ''}; evidence in nats"
    return to_fragment([verdict_table(verdict), Paragraph(line), *(Paragraph(one) for one in verdict.remarks)])


def status_html(status: Status) -> str:
    """Return a status as a piece of HTML."""
    return to_fragment(status_blocks(status))


def analysis_html(analysis: Analysis) -> str:
    """Return an analysis as a piece of HTML."""
    return to_fragment(analysis_blocks(analysis))


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
