"""What is shown, as tables of text."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from mobai.document import Table
from mobai.views.answers import answer_text
from mobai.views.words import difference_text, evidence_text, interval_text, missing_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mobai.analysis.analyse import Analysis
    from mobai.engine import Verdict
    from mobai.engine.explain import Explanation
    from mobai.live.status import Status
    from mobai.problem import FloatArray, Guardrail, IntArray, Problem
    from mobai.theory.differences import Differences
    from mobai.theory.forecast import Remaining
    from mobai.theory.intervals import Intervals

MOST_ARMS = 12  # in a table of arms
_MOST_PAIRS = 30


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
    return Table(["objective", "answer", "decided at pull", "evidence", "needed"], rows, left=2)


def progress_table(
    verdict: Verdict, forecast: Remaining | None, ended: bool = False, equal: Collection[str] = ()
) -> Table:
    """Return a row per objective: the answer, what is missing in plain words, and the evidence in nats."""
    rows = []
    for m, objective in enumerate(verdict.problem.objectives):
        rows.append(
            [
                f"{objective.name} (min)" if objective.direction == "min" else objective.name,
                answer_text(verdict, m),
                missing_text(verdict, forecast, m, ended, equal),
                evidence_text(verdict, m),
            ]
        )
    return Table(["objective", "answer", "state (forecast)", "nats"], rows, left=3)


def arms_to_show(verdict: Verdict, counts: IntArray) -> list[int]:
    """Return the arms a table has room for: those that lead, then those with the most rewards, in their own order."""
    leading, rewards = {*verdict.leaders, *verdict.recommended}, counts.reshape(len(counts), -1).sum(axis=1).tolist()
    order = sorted(range(len(rewards)), key=lambda i: (i not in leading, -rewards[i], i))
    return sorted(order[:MOST_ARMS])


def best_in(status: Status, m: int) -> list[int]:
    """Return all arms, those that lead or are decided on in a metric first, then by their means in it."""
    verdict, sign = status.verdict, -1.0 if status.verdict.problem.metrics[m].direction == "min" else 1.0
    first = {verdict.leaders[m], verdict.recommended[m]} if m < len(verdict.decisions) else set()
    means = [-sign * mean if math.isfinite(mean) else math.inf for mean in status.means[:, m].tolist()]
    return sorted(range(len(means)), key=lambda i: (i not in first, not status.active[i], means[i], i))


def contenders(status: Status, most: int) -> list[int]:
    """Return at most ``most`` arms, in their own order: the best of every metric by turns."""
    orders = [best_in(status, m) for m in range(len(status.verdict.problem.metrics))]
    by_turns = dict.fromkeys(i for row in zip(*orders, strict=True) for i in row)
    return sorted(list(by_turns)[:most])


def _others(problem: Problem, columns: int) -> list[list[str]]:
    """Return a row that says how many arms are not shown, if there are any."""
    left_out = len(problem.arms) - MOST_ARMS
    return [[f"... and {left_out:,} more", *[""] * (columns - 1)]] if left_out > 0 else []


def intervals_table(verdict: Verdict, counts: IntArray, intervals: Intervals) -> Table:
    """Return a row per arm: where its means lie."""
    problem = verdict.problem
    rows = [
        [
            problem.arms[i],
            *(f"{low:.4g} to {high:.4g}" for low, high in zip(intervals.lower[i], intervals.upper[i], strict=True)),
        ]
        for i in arms_to_show(verdict, counts)
    ]
    header = ["arm", *problem.metric_names]
    return Table(header, [*rows, *_others(problem, len(header))])


def means_table(
    verdict: Verdict,
    counts: IntArray,
    means: FloatArray,
    intervals: Intervals,
    active: npt.NDArray[np.bool_] | None = None,
    arms: Sequence[int] | None = None,
) -> Table:
    """Return a row per arm: mean, interval and number of rewards in each objective; retired ones are marked.

    Of many arms, those that matter most are shown, or the ``arms`` given.
    """
    rows, problem = [], verdict.problem
    for i in arms_to_show(verdict, counts) if arms is None else arms:
        cells = [problem.arms[i] if active is None or active[i] else f"{problem.arms[i]} (retired)"]
        for m in range(len(problem.metrics)):
            known = (float(table[i, m]) for table in (means, intervals.lower, intervals.upper))
            cells.append(interval_text(*known) if counts[i, m] else "-")
        numbers = sorted(set(counts[i].tolist()))
        rows.append(
            [*cells, " to ".join(f"{n:,}" for n in (numbers if len(numbers) < 3 else numbers[:: len(numbers) - 1]))]
        )
    header = [
        "arm",
        *(f"{metric.name}{'' if metric.family.functional else ': mean'} (interval)" for metric in problem.metrics),
        "rewards",
    ]
    return Table(header, rows if arms is not None else [*rows, *_others(problem, len(header))])


def limits_table(verdict: Verdict, counts: IntArray) -> Table:
    """Return a row per arm: what can be said of each limit."""
    problem = verdict.problem
    rows = [
        [problem.arms[i], *(verdict.limit_status(c, i) for c in range(len(problem.guardrails)))]
        for i in arms_to_show(verdict, counts)
    ]
    header = [
        "arm",
        *(f"{guardrail.metric} {guardrail.words}{_tolerance(guardrail)}" for guardrail in problem.guardrails),
    ]
    return Table(header, [*rows, *_others(problem, len(header))], left=len(header))


def _tolerance(guardrail: Guardrail) -> str:
    return f" (tolerance {guardrail.eps:g})" if guardrail.eps else ""


def differences_table(verdict: Verdict, counts: IntArray, differences: Differences) -> Table:
    """Return a row per arm: by how much it differs from the baseline in each metric."""
    problem = verdict.problem
    rows = [
        [problem.arms[i], *(difference_text(differences, i, m) for m in range(len(problem.metrics)))]
        for i in arms_to_show(verdict, counts)
        if i != differences.baseline
    ]
    header = [f"against {problem.baseline}", *problem.metric_names]
    return Table(header, [*rows, *_others(problem, len(header))])


def pairs_table(explanation: Explanation) -> Table:
    """Return a row per rival: how far it is behind its leader, and what speaks for that."""
    rows = [
        [
            pair.objective,
            pair.leader,
            pair.rival,
            "-" if math.isnan(pair.gap) else f"{pair.gap:.4g}",
            f"{pair.broken:.2f} (breaks a limit)" if pair.broken > pair.evidence else f"{max(pair.evidence, 0.0):.2f}",
            f"{pair.threshold:.2f}",
        ]
        for pair in explanation.pairs[:_MOST_PAIRS]
    ]
    if len(explanation.pairs) > _MOST_PAIRS:
        rows.append([f"... and {len(explanation.pairs) - _MOST_PAIRS:,} more", *[""] * 5])
    return Table(["objective", "leader", "rival", "ahead by", "evidence", "needed"], rows, left=3)


def limit_evidence_table(explanation: Explanation) -> Table:
    """Return a row per limit and arm: the evidence that it is kept, and that it is broken."""
    rows = [
        [one.guardrail, one.arm, one.status, *(_nats(value) for value in (one.kept, one.broken, one.threshold))]
        for one in explanation.limits[:_MOST_PAIRS]
    ]
    return Table(["limit", "arm", "so far", "kept", "broken", "needed"], rows, left=3)


def _nats(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def missing_table(analysis: Analysis) -> Table | None:
    """Return a row per arm: its rewards and what is missing, per objective, and where more samples should go.

    None if nothing is missing, and everything is decided.
    """
    problem, more = analysis.verdict.problem, analysis.forecast
    if analysis.verdict.stopped and not analysis.missing.any():
        return None
    header = ["arm"]
    shown = [m for m in range(len(problem.metrics)) if analysis.missing[:, m].any()]
    for m in shown:
        header += [f"{problem.metric_names[m]}: rewards", "missing"]
    rows = []
    for i in arms_to_show(analysis.verdict, analysis.counts):
        cells = [problem.arms[i]]
        for m in shown:
            cells += [f"{analysis.counts[i, m]:,}", f"{analysis.missing[i, m]:,}"]
        rows.append([*cells, "-" if more is None or more.per_arm[i] == math.inf else f"{more.per_arm[i]:,.0f}"])
    header.append("more (forecast)")
    return Table(header, [*rows, *_others(problem, len(header))])
