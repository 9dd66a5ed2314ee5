"""How far each objective is, as bars."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mobai.views.answers import answer_text
from mobai.views.charts.scale import svg

if TYPE_CHECKING:
    from mobai.engine import Verdict


def progress_chart(verdict: Verdict) -> str:
    """Return a table with a bar per objective: how much of the evidence that a decision takes is in."""
    rows = []
    for m, objective in enumerate(verdict.problem.objectives):
        decision = verdict.decisions[m]
        share = min(max(float(verdict.evidence[m]) / float(verdict.threshold[m]), 0.0), 1.0)
        words = f"decided at sample {decision.pull:,}" if decision is not None else f"{share:.0%} of the evidence is in"
        goal = "less is better" if objective.direction == "min" else "more is better"
        bar = progress_bar(1.0 if decision is not None else share)
        rows.append(
            f'<tr><th scope="row">{escape(objective.name)} ({goal})</th><td class="left">'
            f"{escape(answer_text(verdict, m))}</td><td>{bar}</td><td>{words}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("objective", "answer", "evidence", "state"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def progress_bar(share: float) -> str:
    """Return a bar that is filled up to a share."""
    kind = "full" if share >= 1 else "done"
    width = 100 * min(max(share, 0.0), 1.0)
    track = '<rect width="100%" height="100%" rx="3"/>'
    return svg("bar-track", f'{track}<rect class="{kind}" width="{width:.1f}%" height="100%" rx="3"/>')
