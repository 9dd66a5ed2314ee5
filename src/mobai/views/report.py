"""A report of an experiment: one file that opens from disk and prints well."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from mobai.document import Heading, Paragraph, to_fragment, to_markdown
from mobai.views.charts import allocation_chart, chart_style, evidence_chart, forest
from mobai.views.pages import comparison_tables, status_blocks
from mobai.views.words import certification, headline, intervals_caption, status_line, status_remarks

if TYPE_CHECKING:
    from mobai.live.status import Status
    from mobai.live.trace import Series


def report_html(status: Status, series: Series) -> str:
    """Return a report as one page with its charts inside, which loads nothing."""
    verdict, name = status.verdict, escape(status.name)
    names = zip(verdict.problem.objective_names, verdict.decisions, strict=True)
    decided = {objective for objective, decision in names if decision is not None}
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in status_remarks(status))
    parts = [
        f"<h1>{name}</h1>",
        f'<p class="headline">{escape(headline(status))}</p>',
        f'<p class="quiet">{escape(status_line(status))}</p>',
        f'<ul class="remarks">{remarks}</ul>' if remarks else "",
        "<h2>Metrics</h2>",
        *(forest(status, m) for m in range(len(verdict.problem.metrics))),
        f'<p class="quiet">{escape(intervals_caption(verdict, status.intervals))}</p>',
        to_fragment(comparison_tables(verdict, status.pulls, status.differences)),
        f'<h2>Course</h2><div class="pair">{evidence_chart(series, decided)}{allocation_chart(series)}</div>',
        "<h2>Guarantee</h2>",
        to_fragment([Paragraph(_guarantee(status)), Paragraph(_provenance(status))]),
    ]
    width = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{width}<title>{name}</title>'
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>\n{chart_style()}</style></head>'
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def report_markdown(status: Status) -> str:
    """Return a report as Markdown: the sentence, the tables and the guarantee."""
    blocks = [Heading(status.name, 1), Paragraph(headline(status)), *status_blocks(status)]
    return to_markdown([*blocks, Heading("Guarantee"), Paragraph(_guarantee(status)), Paragraph(_provenance(status))])


def _guarantee(status: Status) -> str:
    proof = certification("mixture", status.verdict.certified)
    return f"delta = {status.verdict.delta:g}; {proof}."


def _provenance(status: Status) -> str:
    made = f"{datetime.now(UTC):%d %b %Y %H:%M} UTC"
    return f"Made {made} from {status.events:,} events; the hash of the last one is {status.head}."
