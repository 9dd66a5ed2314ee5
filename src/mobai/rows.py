"""Rows from files, each a mapping from column to value: CSV, JSON lines, a JSON array, Parquet.

Every complaint is one line that names the file and the row. Cells that are left empty are empty strings; None is what
JSON calls null.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.extras import need

Row = dict[str, Any]


class Frame(Protocol):
    """A data frame of pandas or polars, or an Arrow table."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the columns over."""
        ...


def read_rows(source: str | Path) -> list[Row]:
    """Read a file, or standard input for ``-``; at least one row."""
    name = "standard input" if str(source) == "-" else str(source)
    try:
        if Path(source).suffix.lower() in (".parquet", ".pq"):
            rows = _read_parquet(Path(source))
        else:
            data = sys.stdin.buffer.read() if str(source) == "-" else Path(source).read_bytes()
            rows = parse_rows(decoded(data))
    except UnicodeDecodeError:
        raise InputError(None, "is not a text file in UTF-8 or UTF-16", source=name) from None
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", source=name) from None
    except InputError as error:
        raise error.within(source=name) from None
    return rows


def decoded(data: bytes) -> str:
    """Return a text file as text: UTF-8, with or without a mark at its beginning, or UTF-16 with one."""
    return data.decode("utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig")


def frame_rows(data: Any) -> list[Row] | None:
    """Return the rows of a data frame (pandas, polars, or anything that Arrow can read); None for anything else.

    A cell without a value is left out of its row.
    """
    columns = frame_columns(data)
    if columns is None:
        return None
    rows = (zip(columns, cells, strict=True) for cells in zip(*columns.values(), strict=True))
    return [{name: cell for name, cell in row if cell is not None} for row in rows]


def frame_columns(data: Any) -> dict[str, list[Any]] | None:
    """Return the columns of a data frame, as :func:`frame_rows` does its rows: None for cells without a value."""
    if hasattr(data, "to_dict") and hasattr(getattr(data, "columns", None), "is_unique"):
        names, columns = list(map(str, data.columns)), [data.iloc[:, n] for n in range(len(data.columns))]
        cells = [column.tolist() for column in columns]
    elif hasattr(data, "to_dicts") and hasattr(data, "columns"):
        names = list(data.columns)
        cells = [data[name].to_list() for name in names]
    elif hasattr(data, "__arrow_c_stream__"):
        table = _arrow_table(data)
        names, cells = table.column_names, [column.to_pylist() for column in table.columns]
    else:
        return None
    _refuse_twice(names, "column")
    return {
        name: [None if _is_empty(cell) else cell for cell in found] for name, found in zip(names, cells, strict=True)
    }


def numbers_in(cells: Sequence[Any]) -> npt.NDArray[np.float64] | None:
    """Return a column of numbers and empty cells, NaN for those; None if there is more to it, cell by cell."""
    kinds = set(map(type, cells))
    try:
        if kinds <= {float, int, bool, type(None)} or (kinds == {str} and not any("_" in cell for cell in cells)):
            found = np.array(cells, np.float64)
            return None if np.isinf(found).any() or (str in kinds and np.isnan(found).any()) else found
    except (ValueError, OverflowError):
        pass
    return None


def _arrow_table(data: Any) -> Any:
    arrow = need("pyarrow")
    try:
        return arrow.table(data)
    except arrow.ArrowException:
        raise InputError("rows", f"must be a table with named columns, not {type(data).__name__}") from None


def _is_empty(value: Any) -> bool:
    """Whether a cell of a frame has no value: None, NaN and their relatives, which differ from themselves."""
    if value is None or isinstance(value, str):
        return value is None
    differs = value != value
    return bool(differs) if isinstance(differs, bool) or hasattr(differs, "dtype") else type(value).__name__ == "NAType"


def parse_rows(text: str) -> list[Row]:
    """Read rows from text, at least one: a JSON array, JSON lines, or CSV with a header."""
    start = text.lstrip()[:1]
    rows = _parse_json(text) if start in ("[", "{") else _parse_csv(text)
    if not rows:
        raise InputError("has no rows")
    return rows


def parquet_bytes(rows: Iterable[Row], columns: Sequence[str], at_a_time: int = 50_000) -> bytes:
    """Return rows as a Parquet file; id is a whole number, texts are texts, everything else is a number."""
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    kinds = {"id": arrow.int64(), **dict.fromkeys(("unit", "arm", "status", "asked_at"), arrow.string())}
    schema = arrow.schema([(name, kinds.get(name, arrow.float64())) for name in columns])
    buffer, waiting = io.BytesIO(), iter(rows)
    with parquet.ParquetWriter(buffer, schema) as writer:
        while part := list(islice(waiting, at_a_time)):
            writer.write_table(arrow.Table.from_pylist(part, schema))
    return buffer.getvalue()


def split_csv(text: str) -> list[list[str]]:
    """Return the cells of a table in CSV, without empty lines, at least one row.

    They are separated by commas, semicolons or tabs: whichever makes most cells of the first row.
    """
    try:
        separator = max(",;\t", key=lambda one: len(_first_row(text, one)))
        cells = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows = [row for row in cells if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"is not a table in CSV ({error})") from None
    if not rows:
        raise InputError("the table is empty")
    return rows


def _first_row(text: str, separator: str) -> list[str]:
    """Return the cells of the first row that is not empty."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return next((row for row in rows if any(cell.strip() for cell in row)), [])


def check_rectangular(body: Iterable[list[str]], width: int, first: int) -> None:
    """Refuse rows that are shorter or longer than the first."""
    for number, row in enumerate(body, start=first):
        if len(row) != width:
            raise InputError(None, f"has {len(row)} cells, the first row has {width}", row=number)


def number_in(row: Row, column: str) -> float | None:
    """Return the number in a column, None where it is left empty."""
    value = row.get(column)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return float(value.strip().lower() == "true")
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and "_" in value:
        raise InputError(column, f"must be a number, not {value[:80]!r}")
    try:
        found = float(value) if isinstance(value, str | Real | Decimal) or hasattr(value, "dtype") else math.nan
    except (TypeError, ValueError, OverflowError):
        found = math.inf
    if math.isnan(found) and isinstance(value, float):
        return None
    if not math.isfinite(found):
        raise InputError(column, f"must be a number, not {str(value)[:80]!r}{_instead_of(str(value))}")
    return found


def _instead_of(text: str) -> str:
    """Return what to write instead of something that others take for a number."""
    if text.strip().lower() in ("nan", "na", "n/a", "null", "none", "-"):
        return "; leave the cell empty if it is missing"
    if text.strip().lower() in ("yes", "no", "y", "n", "t", "f"):
        return "; write 1 for yes and 0 for no"
    return "; decimals are written with a point" if re.fullmatch(r"\s*-?[\d.]*\d,\d+\s*", text) else ""


def _parse_csv(text: str) -> list[Row]:
    header, *body = split_csv(text)
    columns = [cell.strip() for cell in header]
    check_rectangular(body, len(columns), first=2)
    _refuse_twice(columns, "column")
    return [{name: cell.strip() for name, cell in zip(columns, row, strict=True)} for row in body]


def _parse_json(text: str) -> list[Row]:
    where = ""
    try:
        if text.lstrip().startswith("["):
            found = _load(text)
        else:
            found = []
            for number, line in enumerate(text.splitlines(), start=1):
                where = f"line {number}: "
                if line.strip():
                    found.append(_load(line))
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"is neither CSV nor JSON lines ({where}{error})") from None
    for number, row in enumerate(found, start=1):
        if not isinstance(row, dict):
            raise InputError(None, "is not a JSON object", row=number)
    rows: list[Row] = found
    return rows


def _load(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_row, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> Any:
    raise InputError(f"{word} is not valid JSON; null says that a value will not come, and one left out may still")


def _row(pairs: list[tuple[str, Any]]) -> Row:
    _refuse_twice([name for name, _ in pairs], "key")
    return dict(pairs)


def _refuse_twice(names: list[str], what: str) -> None:
    name, count = Counter(names).most_common(1)[0] if names else ("", 1)
    if count > 1:
        raise InputError(f"the {what} {name!r} appears twice")


def _read_parquet(path: Path) -> list[Row]:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    try:
        with path.open("rb") as file:
            rows: list[Row] = parquet.read_table(file).to_pylist()
    except arrow.ArrowException:
        raise InputError("is not a Parquet file") from None
    if not rows:
        raise InputError("has no rows")
    return rows
