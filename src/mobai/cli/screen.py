"""What a run looks like on the terminal: bars of evidence, tables of verdicts. Data to stdout, progress to stderr."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from mobai import document, views
from mobai.errors import visible
from mobai.kernels.jit.cache import is_cold

if TYPE_CHECKING:
    # Importing them imports the kernels; whether compiled, the command decides.
    from mobai.engine import Session, Verdict
    from mobai.problem import IntArray
    from mobai.theory.intervals import Intervals

# How much wider than the screen a table may be: its cells are then wrapped.
_WRAPPED = 1.5
# Names come from files: what looks like markup in them is part of the name.
out = Console(markup=False, highlight=False)
err = Console(stderr=True, markup=False, highlight=False)


def say(text: str = "") -> None:
    """Print a line as it is, however wide the terminal."""
    out.print(visible(text), soft_wrap=True)


def working(what: str) -> Status:
    """Show that something takes a moment; the first time on a machine, kernels are compiled for it."""
    if not err.is_terminal and is_cold():
        err.print("mobai: kernels are compiled, once, which takes some seconds", soft_wrap=True)
    return err.status(f"{what} (the first time, kernels are compiled for some seconds)")


def plain_table(*columns: str) -> Table:
    """Start a table with few lines; columns named with a leading ``>`` are aligned right."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table


def laid_out(table: document.Table, decided: Sequence[bool] = (), *, firm: bool = False) -> Table:
    """Return a table of a view for the terminal.

    With ``decided``, the second column is coloured by it; ``firm`` wraps nothing but names.
    """
    columns = (name if n < table.left else f">{name}" for n, name in enumerate(table.header))
    laid = plain_table(*columns)
    for column in laid.columns[table.left :] if firm else ():
        column.no_wrap = True
    for n, row in enumerate(table.rows):
        cells = [Text(visible(cell)) for cell in row]
        if decided:
            cells[1].stylize("green" if decided[n] else "yellow")
        laid.add_row(*cells)
    return laid


def verdict_table(verdict: Verdict) -> Table:
    """Return a row per objective: the answer, when it was decided, and the evidence."""
    return laid_out(views.verdict_table(verdict), [decision is not None for decision in verdict.decisions])


def bar(share: float, width: int = 28) -> Text:
    """Draw a share of one as a bar of characters, with eighths for the last one."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return Text("█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip(), style="cyan")


def intervals_table(verdict: Verdict, counts: IntArray, intervals: Intervals) -> Table:
    """Return where the means lie; recommended arms in green."""
    table, shown = laid_out(views.intervals_table(verdict, counts, intervals)), views.arms_to_show(verdict, counts)
    for m, column in enumerate(table.columns[1:]):
        for cell, i in zip(column.cells, shown, strict=False):
            if isinstance(cell, Text) and verdict.recommended[m] == i:
                cell.stylize("green")
    table.caption, table.caption_justify = views.intervals_caption(verdict, intervals), "left"
    return table


def fitting(table: document.Table, width: int) -> list[document.Table]:
    """Return a table as it is, or if its cells could not be read, as several that repeat its first column."""
    widths = [max(len(row[n]) for row in (table.header, *table.rows)) + 3 for n in range(len(table.header))]
    if sum(widths) <= _WRAPPED * width or len(widths) <= 2:
        return [table]
    groups: list[list[int]] = []
    for n in range(1, len(widths)):
        if groups and sum(widths[k] for k in (0, *groups[-1], n)) <= width:
            groups[-1].append(n)
        else:
            groups.append([n])
    return [_part_of(table, [0, *group]) for group in groups]


def _part_of(table: document.Table, columns: Sequence[int]) -> document.Table:
    rows = [[row[n] for n in columns] for row in table.rows]
    return document.Table([table.header[n] for n in columns], rows, left=sum(n < table.left for n in columns))


def laid_out_blocks(blocks: Sequence[document.Block]) -> RenderableType:
    """Return paragraphs and tables of a view for the terminal."""
    parts: list[RenderableType] = []
    for block in blocks:
        if isinstance(block, document.Table):
            parts += [part for one in fitting(block, out.width) for part in (Text(), laid_out(one))] + [Text()]
        else:
            parts.append(Text(visible(getattr(block, "text", ""))))
    return Group(*parts)


class EvidenceScreen:
    """Draws the evidence per objective while a trial runs; a context manager, and the ``watch=`` of a trial."""

    def __init__(self, title: str, delta: float) -> None:
        self._title, self._delta, self._next = title, delta, 0.0
        self._live = Live(console=err, refresh_per_second=10, transient=True)

    def __enter__(self) -> EvidenceScreen:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, session: Session) -> None:
        """Redraw, at most ten times a second."""
        if err.is_terminal and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.1
            self._live.update(self._picture(session, session.verdict(self._delta)))

    def _picture(self, session: Session, verdict: Verdict) -> RenderableType:
        table = plain_table("objective", "leader", "evidence", "")
        for m, name in enumerate(verdict.problem.objective_names):
            done = verdict.decisions[m]
            share = 1.0 if done else max(0.0, float(verdict.evidence[m] / verdict.threshold[m]))
            state = Text(f"decided at pull {done.pull:,}", style="green") if done else Text(f"{share:4.0%}")
            table.add_row(name, verdict.answers[m], ProgressBar(1.0, min(share, 1.0), width=30), state)
        counts = session.observations.asked
        shares = plain_table("arm", "share of pulls", ">pulls")
        for arm, count in zip(verdict.problem.arms[:12], counts[:12].tolist(), strict=True):
            shares.add_row(arm, bar(count / max(1, verdict.pulls)), f"{count:,}")
        return Group(Text(f"{self._title}: pull {verdict.pulls:,}", style="bold"), table, Text(), shares)
