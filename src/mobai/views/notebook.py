"""What notebooks show: the charts of the pages, with a style that touches nothing else in the notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from mobai.document import Paragraph, Table, to_fragment, to_rows
from mobai.views.charts import IntervalRow, framed, interval_chart, progress_chart, wide
from mobai.views.charts.forest import Band
from mobai.views.experiment_parts import (
    facts_html,
    guarantee_text,
    limits_html,
    metrics_html,
    parts_of,
    remarks_html,
    tradeoff_html,
)
from mobai.views.headline import headline
from mobai.views.tables import verdict_table
from mobai.views.text import analysis_blocks

if TYPE_CHECKING:
    from mobai.analysis.analyse import Analysis
    from mobai.engine import Verdict
    from mobai.lab.summary import Summary, SummaryRow
    from mobai.live.status import Status
    from mobai.live.trace import Series
    from mobai.theory.lower_bound import LowerBound

_MOST_ARMS = 12  # in a table of arms


def verdict_html(verdict: Verdict) -> str:
    """Return a verdict: how far each objective is, and the evidence as numbers."""
    when = (
        f"stopped at pull {verdict.stopped_at:,}" if verdict.stopped else f"not stopped after {verdict.pulls:,} pulls"
    )
    line = f"{when}, delta = {verdict.delta:.3g}{', certified' if verdict.certified else ''}"
    remarks = "".join(f"<li>{escape(one)}</li>" for one in verdict.remarks)
    return framed(
        f"<p>{escape(line)}</p>{progress_chart(verdict)}"
        + (f'<ul class="remarks">{remarks}</ul>' if remarks else "")
        + _folded("Evidence in nats", to_rows(verdict_table(verdict)))
    )


def status_html(status: Status) -> str:
    """Return where an experiment stands."""
    promise = f'<p class="quiet">{escape(guarantee_text(status))}</p>'
    parts = (promise, facts_html(status), remarks_html(status), metrics_html(status), limits_html(status))
    return framed(f"{_title(status)}{''.join(parts)}")


def experiment_html(status: Status, series: Series) -> str:
    """Return where an experiment stands, and how it went."""
    parts = parts_of(status, series)
    course = f'<div class="pair">{parts["evidence"]}{parts["allocation"]}</div>'
    shown = (
        parts["guarantee"],
        parts["facts"],
        parts["remarks"],
        parts["metrics"],
        parts["limits"],
        course,
        tradeoff_html(status),
    )
    return framed(f"{_title(status)}{''.join(shown)}{_folded('All numbers', parts['numbers'])}")


def _title(status: Status) -> str:
    return f'<p><b>{escape(status.name)}</b></p><div class="headline"><p>{escape(headline(status))}</p></div>'


def _folded(title: str, html: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{wide(html, title)}</details>"


def analysis_html(analysis: Analysis) -> str:
    """Return an analysis: how far each objective is, and its tables."""
    return framed(progress_chart(analysis.verdict) + to_fragment(analysis_blocks(analysis)))


def bound_html(bound: LowerBound) -> str:
    """Return a lower bound: the number, and the arms that should get most samples."""
    arms = bound.problem.arms
    order = sorted(range(len(arms)), key=lambda i: (-bound.weights[i], i))[:_MOST_ARMS]
    line = f"{bound.value:.6g} samples per nat of evidence, relative gap {bound.gap:.1g}"
    kind = "" if bound.exact else "; for Gaussian rewards of the same means and standard deviations"
    table = Table(["arm", "share of the samples"], [[arms[i], f"{bound.weights[i]:.2%}"] for i in order])
    return framed(to_fragment([Paragraph(line + kind), table]))


def summary_html(summary: Summary) -> str:
    """Return a summary with its charts."""
    return framed(summary_charts(summary))


def summary_charts(summary: Summary) -> str:
    """Return a chart of mean stopping times per delta, and the table."""
    groups: dict[float, list[SummaryRow]] = {}
    for row in summary:
        groups.setdefault(row.log_inv_delta, []).append(row)
    charts = "".join(f'<div class="card">{stopping_chart(rows)}</div>' for rows in groups.values())
    return charts + _folded("All numbers", to_rows(summary.table))


def stopping_chart(rows: Sequence[SummaryRow]) -> str:
    """Return a chart of the mean stopping times at one delta; the lower bound is a line."""
    first, names = rows[0], len({row.stopping for row in rows}) > 1
    drawn = [
        IntervalRow(
            row.rule + (f", {row.stopping}" if names else "") + ("" if row.certified else " (not certified)"),
            row.mean,
            *row.mean_interval,
            _mean_text(row),
        )
        for row in rows
    ]
    bound = first.bound
    delta = f"{first.delta:.3g}" if first.delta > 1e-300 else f"exp(-{first.log_inv_delta:g})"
    title = f"Mean samples until stopped, delta = {delta}" + ("" if bound is None else f" (lower bound {bound:,.0f})")
    bands = [] if bound is None or not math.isfinite(bound) else [Band("limit", bound, bound)]
    return interval_chart(title, drawn, ("rule", "95 % interval", "mean (interval)"), bands)


def _mean_text(row: SummaryRow) -> str:
    low, high = row.mean_interval
    return f"{row.mean:,.0f} ({low:,.0f} to {high:,.0f})" if math.isfinite(high - low) else f"{row.mean:,.0f}"
