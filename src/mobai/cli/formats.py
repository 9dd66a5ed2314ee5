"""Rows as a table, JSON or CSV, on standard output."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from mobai.cli import screen
from mobai.errors import visible

Row = Mapping[str, Any]
FORMATS = ("table", "json", "csv")


def format_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Take the format of the output."""
    choice = click.Choice(FORMATS)
    return click.option("--format", "form", type=choice, default="table", show_default=True, help="Output format.")


def excel_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Offer CSV in which no text is a formula."""
    words = "With --format csv: put ' before texts that a spreadsheet would take for formulas."
    return click.option("--excel", is_flag=True, help=words)


def emit(rows: Sequence[Row], form: str, columns: Sequence[str], *, excel: bool = False) -> None:
    """Print rows; with ``excel``, CSV has no formulas."""
    if form == "json":
        click.echo(json.dumps([_plain(row) for row in rows], indent=2, allow_nan=False))
    elif form == "csv":
        if excel:
            rows, columns = _defused(rows), [_defuse(name) for name in columns]
        click.echo(as_csv(rows, columns), nl=False)
    else:
        table = screen.plain_table(*columns)
        for row in rows:
            table.add_row(*(_text(row.get(column)) for column in columns))
        screen.out.print(table)


def as_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Write rows as CSV, with a header."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows([{key: _plain_value(value) for key, value in row.items()} for row in rows])
    return buffer.getvalue()


def _defused(rows: Sequence[Row]) -> list[Row]:
    return [{_defuse(key): _defuse(value) for key, value in row.items()} for row in rows]


def _defuse(value: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula; numbers are what they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _plain(row: Row) -> dict[str, Any]:
    return {key: _plain_value(value) for key, value in row.items()}


def _plain_value(value: Any) -> Any:
    """Return the value, or None for infinity and NaN, which JSON and CSV do not have; texts for a terminal."""
    if isinstance(value, str):
        return visible(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))
