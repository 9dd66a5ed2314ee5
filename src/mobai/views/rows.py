"""Rows as CSV and JSON lines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mobai.errors import visible

Row = Mapping[str, Any]

_SPLITS = re.compile(r'[,;|\t\r\n"]')
# With the wide forms that spreadsheets of some languages take for the same.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]")


def csv_text(rows: Iterable[Row], columns: Sequence[str], *, raw: bool = False, header: bool = True) -> str:
    """Return rows as CSV, with a header. No text in it can be taken for a formula, unless it is to be ``raw``."""
    change = _same if raw else _defuse
    lines = [[change(name) for name in columns]] if header else []
    lines += [[change(plain_value(row.get(name))) for name in columns] for row in rows]
    return "".join(",".join(map(_cell, line)) + "\n" for line in lines)


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


def _cell(value: Any) -> str:
    """Return a value as it is written: in quotes where a spreadsheet of any country would split it."""
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if _SPLITS.search(text) or text != text.strip() else text


def _defuse(value: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula; numbers are what they are."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
