"""A report of an experiment: one file that opens from disk and prints well."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from mobai.document import Heading, Paragraph, to_markdown
from mobai.views.charts import chart_style
from mobai.views.experiment_parts import parts_of, provenance_html, tradeoff_html
from mobai.views.notebook import summary_charts
from mobai.views.text import status_blocks
from mobai.views.words import certification

if TYPE_CHECKING:
    from mobai.lab.summary import Summary
    from mobai.live.status import Status
    from mobai.live.trace import Series


def report_html(status: Status, series: Series) -> str:
    """Return a report as one page with its charts inside, which loads nothing."""
    parts, name = parts_of(status, series), escape(status.name)
    sections = {
        "Metrics": parts["metrics"],
        "Who is left": parts["standings"],
        "Limits and differences": parts["limits"],
        "How it went": f'<div class="pair">{parts["evidence"]}{parts["allocation"]}</div>',
        "Trade-off": tradeoff_html(status),
        "Means over time": parts["drift"],
        "Timeline": parts["timeline"],
        "All numbers": parts["numbers"],
        "Guarantee": parts["guarantee"] + provenance_html(status) + f'<p class="quiet">Made {_now()}.</p>',
    }
    body = f'<h1>{name}</h1><div class="headline">{parts["headline"]}</div>{parts["facts"]}{parts["remarks"]}'
    body += "".join(f"<section><h2>{title}</h2>{html}</section>" for title, html in sections.items() if html)
    return _page(name, body)


def summary_page(summary: Summary, title: str) -> str:
    """Return a summary of simulations as one page with its charts inside, which loads nothing."""
    name = escape(title)
    return _page(name, f"<h1>{name}</h1>{summary_charts(summary)}")


def _page(title: str, body: str) -> str:
    """Return a page of its own, given a title and a body that are HTML."""
    width = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{width}<title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>\n{chart_style()}</style></head>'
        f'<body class="mobai"><main>\n{body}\n</main></body></html>\n'
    )


def report_markdown(status: Status) -> str:
    """Return a report as Markdown: the sentence, the tables and the guarantee."""
    proof = f"delta = {status.verdict.delta:g}; {certification('mixture', status.verdict.certified)}."
    made = f"Made {_now()} from {status.events:,} events; the hash of the last one is {status.head}."
    blocks = [Heading(status.name, 1), *status_blocks(status)]
    return to_markdown([*blocks, Heading("Guarantee"), Paragraph(proof), Paragraph(made)])


def _now() -> str:
    return f"{datetime.now(UTC):%d %b %Y %H:%M} UTC"
