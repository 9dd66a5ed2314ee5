"""Segments: a table of them by objectives, each cell with who is best there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mobai.document import Table
from mobai.views.answers import answer_text
from mobai.views.text import to_text
from mobai.views.words import ends_text, plural

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.live.segments import Overall, SegmentedStatus

OVERALL = "all"


def cell_text(verdict: Verdict, m: int) -> str:
    """Return who is best in an objective of a segment, and how far it is."""
    if verdict.decisions[m] is not None:
        return (
            f"{answer_text(verdict, m)}, decided" if verdict.certified else f"{answer_text(verdict, m)}, NOT certified"
        )
    if not verdict.pulls:
        return "nothing yet"
    share = max(min(float(verdict.evidence[m]) / float(verdict.threshold[m]), 0.99), 0.0)
    return f"{answer_text(verdict, m)}, {share:.0%} of the evidence"


def overall_text(found: Overall) -> str:
    """Return who is best over all segments."""
    width = found.upper - found.lower
    bounds = f" ({ends_text(found.lower, found.upper, width)})" if math.isfinite(width) else ""
    return f"{found.arm}{bounds}, {'decided' if found.decided else 'looks best'}"


def segments_table(status: SegmentedStatus) -> Table:
    """Return a row per segment, and one for all where shares are stated."""
    first = next(iter(status.by_segment.values())).verdict.problem
    rows = [
        [segment, f"{one.pulls:,}", *(cell_text(one.verdict, m) for m in range(len(first.objectives)))]
        for segment, one in status.by_segment.items()
    ]
    if status.overall:
        by_name = {one.objective: overall_text(one) for one in status.overall}
        rows.append([OVERALL, f"{status.pulls:,}", *(by_name.get(name, "-") for name in first.objective_names)])
    return Table(["segment", "pulls", *first.objective_names], rows, left=1)


def segments_headline(status: SegmentedStatus) -> str:
    """Return one sentence: how much is decided, under which delta."""
    answers = [decision for one in status.by_segment.values() for decision in one.verdict.decisions]
    decided = sum(decision is not None for decision in answers)
    certain = f"delta = {status.delta:g} for all of them" if status.certified else "NOT certified"
    return f"{status.name}: {decided} of {plural(len(answers), 'answer')} decided, {certain}"


def segments_text(status: SegmentedStatus) -> str:
    """Return where segments stand as lines of text."""
    return f"{segments_headline(status)}\n{to_text(segments_table(status))}"


def segments_json(status: SegmentedStatus) -> dict[str, Any]:
    """Return where segments stand as plain data."""
    return {
        "name": status.name,
        "delta": status.delta,
        "stopped": status.stopped,
        "certified": status.certified,
        "pulls": status.pulls,
        "segments": {
            segment: {
                "experiment": one.name,
                "pulls": one.pulls,
                "objectives": {
                    name: {"answer": answer, "decided": decision is not None}
                    for name, answer, decision in zip(
                        one.verdict.problem.objective_names, one.verdict.answers, one.verdict.decisions, strict=True
                    )
                },
            }
            for segment, one in status.by_segment.items()
        },
        "overall": [
            {
                key: None if isinstance(value, float) and not math.isfinite(value) else value
                for key, value in row.items()
            }
            for row in (one._asdict() for one in status.overall)
        ],
    }
