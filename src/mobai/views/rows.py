"""Rows as CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mobai.errors import visible

Row = Mapping[str, Any]


def csv_text(rows: Iterable[Row], columns: Sequence[str], *, raw: bool = False, header: bool = True) -> str:
    """Return rows as CSV, with a header. No text in it can be taken for a formula, unless it is to be ``raw``."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    change = _same if raw else _defuse
    if header:
        writer.writerow([change(name) for name in columns])
    writer.writerows([change(plain_value(row.get(name))) for name in columns] for row in rows)
    return buffer.getvalue()


def json_lines(rows: Iterable[Row]) -> str:
    """Return rows as JSON, an object per line."""
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def plain_value(value: Any) -> Any:
    """Return the value, or None for infinity and NaN, which JSON and CSV do not have; texts for a terminal."""
    if isinstance(value, str):
        return visible(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _same(value: Any) -> Any:
    return value


def _defuse(value: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula; numbers are what they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
