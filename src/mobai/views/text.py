"""Whole pages of what is shown: paragraphs and tables, as blocks and as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mobai.document import Block, Paragraph, Table
from mobai.views.headline import analysis_headline, headline, status_line, status_remarks
from mobai.views.race_tables import standings_tables
from mobai.views.tables import (
    differences_table,
    limits_table,
    means_table,
    missing_table,
    progress_table,
)
from mobai.views.words import intervals_caption, samples_text, verdict_line

if TYPE_CHECKING:
    from mobai.analysis.analyse import Analysis
    from mobai.engine import Verdict
    from mobai.live.status import Status
    from mobai.problem import IntArray
    from mobai.theory.differences import Differences


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
        Paragraph(headline(status)),
        Paragraph(status_line(status)),
        progress_table(verdict, status.forecast, status.state in ("ended", "closed"), status.equal),
        *comparison_tables(verdict, status.rewards, status.differences),
        *standings_tables(status),
        means_table(verdict, status.rewards, status.means, status.intervals, status.active),
        Paragraph(intervals_caption(verdict, status.intervals)),
        *(Paragraph(remark) for remark in status_remarks(status)),
    ]


def comparison_tables(verdict: Verdict, counts: IntArray, differences: Differences | None) -> list[Table]:
    """Return what can be said of limits, and of the differences to a baseline, where there are any."""
    found = [limits_table(verdict, counts)] if verdict.problem.guardrails else []
    return [*found, *([] if differences is None else [differences_table(verdict, counts, differences)])]


def answer_line(analysis: Analysis) -> str:
    """Return what is proven of the goal that was stated."""
    if not analysis.verdict.certified:
        return f"{analysis.answer}; not certified"
    return f"{analysis.answer}, with an error probability of {analysis.verdict.delta:g} of its own"


def analysis_blocks(analysis: Analysis) -> list[Block]:
    """Return an analysis as paragraphs and tables."""
    verdict, more = analysis.verdict, analysis.forecast
    missing, forecast = missing_table(analysis), ""
    if more is not None and not verdict.stopped:
        known = math.isfinite(more.samples)
        forecast = f"; {samples_text(more.samples)}{' in all (a forecast)' if known else ''}"
    return [
        Paragraph(analysis_headline(verdict)),
        Paragraph(f"{verdict_line(verdict).replace(' pull', ' row', 1)}{forecast}"),
        *([] if analysis.answer is None else [Paragraph(answer_line(analysis))]),
        progress_table(verdict, more),
        *comparison_tables(verdict, analysis.counts, analysis.differences),
        *standings_tables(analysis),
        means_table(verdict, analysis.counts, analysis.means, analysis.intervals),
        *([] if missing is None else [missing]),
        Paragraph(intervals_caption(verdict, analysis.intervals)),
        Paragraph(analysis.assumption),
        *map(Paragraph, analysis.findings),
        *map(Paragraph, [*verdict.remarks, *verdict.reservations, *verdict.assumptions]),
    ]
