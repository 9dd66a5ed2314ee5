"""Simulation results in Parquet files: the rows as columns, the configuration in the metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mobai.errors import InputError
from mobai.extras import need
from mobai.lab.results import Results, TrialRecord
from mobai.theory.confidence import delta_of


def write(results: Results, path: Path) -> None:
    """Write a file in one go: it is there as a whole or not at all."""
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    table = arrow.table(_columns(results, arrow)).replace_schema_metadata({"mobai": json.dumps(results.config)})
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a file that can be replaced")
    part = path.with_name(path.name + ".part")
    try:
        parquet.write_table(table, part)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: {_why(error) or 'cannot be written'}") from None


def read(path: Path) -> Results:
    """Read what :func:`write` wrote."""
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    try:
        with path.open("rb") as file:
            table = parquet.read_table(file)
        config = json.loads((table.schema.metadata or {})[b"mobai"])
        return Results(config, tuple(_rows(config, table)))
    except OSError as error:
        raise InputError(f"{path}: {_why(error) or 'cannot be read'}") from None
    except (arrow.ArrowException, KeyError, ValueError):
        raise InputError(f"{path}: is not a file of simulation results") from None


def _why(error: OSError) -> str:
    """Say what the system says; Arrow's own errors are longer."""
    return os.strerror(error.errno) if error.errno else ""


def _columns(results: Results, arrow: Any) -> dict[str, Any]:
    """Lay the rows out as Arrow columns, those with several numbers a row as lists of fixed length."""
    plain: dict[str, list[Any]] = {"rule": [], "stopping": [], "trial": [], "length": [], "log_inv_delta": []}
    for rows in results.trials:
        for stopping in results.config["policies"][rows.rule]:
            for x in results.log_inv_deltas:
                for name, value in zip(plain, (rows.rule, stopping, rows.trial, rows.length, x), strict=True):
                    plain[name].append(value)
    columns: dict[str, Any] = dict(plain)
    columns["delta"] = [delta_of(x) for x in plain["log_inv_delta"]]
    for name in ("pulls", "stopped", "correct"):
        parts = [getattr(rows, name).ravel() for rows in results.trials]
        columns[name] = np.concatenate(parts) if parts else []
    for name, width in _widths(results.config).items():
        parts = [getattr(rows, name).astype(np.int64).ravel() for rows in results.trials]
        flat = arrow.array(np.concatenate(parts) if parts else [], arrow.int64())
        columns[name] = arrow.FixedSizeListArray.from_arrays(flat, width)
    return columns


def _widths(config: dict[str, Any]) -> dict[str, int]:
    arms, objectives = len(config["instance"]["arms"]), len(config["instance"]["objectives"])
    return {"decided": objectives, "answers": objectives, "arm_pulls": arms}


def _rows(config: dict[str, Any], table: Any) -> Iterator[TrialRecord]:
    """Cut the columns of a file into trials again."""
    names, numbers, lengths = (table.column(name).to_pylist() for name in ("rule", "trial", "length"))
    flat = {name: table.column(name).to_numpy() for name in ("pulls", "stopped", "correct")}
    lists = {
        name: table.column(name).combine_chunks().flatten().to_numpy().reshape(-1, width)
        for name, width in _widths(config).items()
    }
    start, deltas = 0, len(config["log_inv_deltas"])
    while start < len(names):
        stoppings = len(config["policies"][names[start]])
        cut = slice(start, start + stoppings * deltas)
        tables = {name: column[cut].reshape(stoppings, deltas) for name, column in flat.items()}
        cubes = {name: column[cut].reshape(stoppings, deltas, -1) for name, column in lists.items()}
        yield TrialRecord(names[start], numbers[start], lengths[start], **tables, **cubes)
        start = cut.stop
