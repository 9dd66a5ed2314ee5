"""Rows as a table, JSON or CSV, on standard output."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from mobai import views
from mobai.cli import screen
from mobai.errors import visible

Row = Mapping[str, Any]
FORMATS = ("table", "json", "csv")


def format_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Take the format of the output."""
    choice = click.Choice(FORMATS)
    return click.option("--format", "form", type=choice, default="table", show_default=True, help="Output format.")


def raw_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Offer CSV in which texts are as they are."""
    words = "With --format csv: do not put ' before texts that a spreadsheet would take for formulas."
    return click.option("--raw", is_flag=True, help=words)


def emit(rows: Sequence[Row], form: str, columns: Sequence[str], *, raw: bool = False) -> None:
    """Print rows; CSV has no formulas unless it is to be ``raw``."""
    if form == "json":
        click.echo(json.dumps([_plain(row) for row in rows], indent=2, allow_nan=False))
    elif form == "csv":
        click.echo(views.csv_text(rows, columns, raw=raw), nl=False)
    else:
        table = screen.plain_table(*columns)
        for row in rows:
            table.add_row(*(_text(row.get(column)) for column in columns))
        screen.out.print(table)


def _plain(row: Row) -> dict[str, Any]:
    return {key: views.plain_value(value) for key, value in row.items()}


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))
