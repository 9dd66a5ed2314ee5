"""Instances in files: CSV for spreadsheets, JSON for programs.

CSV: one row per arm. A header names the objectives, with their direction where less is better (``latency:min``); a
column ``sd(latency)`` holds that objective's standard deviation. A first column without numbers, or headed ``arm``,
holds the arms' names. A bare table of numbers, with neither header nor names, is read too::

    arm,ctr,latency:min,sd(ctr),sd(latency)
    A,0.31,80,1,20
    B,0.52,95,1,20

A column that states a limit (``errors:bernoulli:at-most=0.02:eps=0.005``) is a guardrail.

JSON: an object with ``means`` (a list of rows) and optionally ``sd``, ``arms``, ``objectives``, ``guardrails`` and
``baseline``.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from mobai.errors import InputError
from mobai.problem.codec import instance_json, instance_of
from mobai.problem.guardrail import is_guardrail
from mobai.problem.instance import Instance
from mobai.problem.objective import Objective
from mobai.rows import check_rectangular, split_csv

_NAME_COLUMN = ("arm", "arms", "name", "")


def load(path: Path) -> Instance:
    """Read an instance; every complaint starts with the file's name."""
    read = {".csv": _read_csv, ".json": _read_json}.get(path.suffix.lower())
    if read is None:
        raise InputError("the name must end in .csv or .json", source=str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", source=str(path)) from None
    except UnicodeDecodeError:
        raise InputError(None, "is not a text file in UTF-8", source=str(path)) from None
    try:
        return read(text)
    except InputError as error:
        raise error.within(source=str(path)) from None


def save(instance: Instance, path: Path) -> None:
    """Write an instance so that :func:`load` gives back an equal one."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".json"):
        raise InputError("the name must end in .csv or .json", source=str(path))
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            if suffix == ".csv":
                csv.writer(file).writerows(_csv_rows(instance))
            else:
                file.write(json.dumps(instance_json(instance), indent=2) + "\n")
    except OSError as error:
        raise InputError(error.strerror or "cannot be written", source=str(path)) from None


def _read_csv(text: str) -> Instance:
    rows = split_csv(text)
    header = None if all(_is_number(cell) for cell in rows[0]) else [cell.strip() for cell in rows[0]]
    # "A,0.3,80" is no header but the first arm, with its name.
    if header and header[0].lower() not in _NAME_COLUMN and header[1:] and all(map(_is_number, header[1:])):
        header = None
    body = rows[1:] if header else rows
    if not body:
        raise InputError("the table has a header but no arms")
    check_rectangular(body, len(rows[0]), first=2 if header else 1)
    named = _has_names(header, body)
    arms = [row[0].strip() for row in body] if named else None
    table = _table([row[named:] for row in body], first=2 if header else 1)
    return _assemble(table, arms, header[named:] if header else None)


def _has_names(header: list[str] | None, body: list[list[str]]) -> bool:
    headed = header is not None and header[0].lower() in _NAME_COLUMN
    return headed or not any(_is_number(row[0]) for row in body)


def _assemble(table: np.ndarray[Any, Any], arms: list[str] | None, columns: list[str] | None) -> Instance:
    """Split the columns into means and standard deviations."""
    if columns is None:
        return Instance(table, arms=arms)
    noisy = [c for c in columns if c.startswith("sd(") and c.endswith(")")]
    limited = [c for c in columns if c not in noisy and is_guardrail(c)]
    objectives = [Objective.parse(c) for c in columns if c not in noisy and c not in limited]
    ordered = [c for c in columns if c not in noisy and c not in limited] + limited
    means = table[:, [columns.index(c) for c in ordered]]
    plain = Instance(means, None, arms, objectives, guardrails=limited)
    sd, names = plain.problem.sd.copy(), list(plain.problem.metric_names)
    for column in noisy:
        if column[3:-1] not in names:
            raise InputError(f"column {column!r} names no metric of the table ({', '.join(names)})")
        sd[:, names.index(column[3:-1])] = table[:, columns.index(column)]
    return Instance(means, sd, arms, objectives, guardrails=limited)


def _table(body: list[list[str]], first: int) -> np.ndarray[Any, Any]:
    for line, row in enumerate(body, start=first):
        for cell in row:
            if not _is_number(cell):
                raise InputError(f"{cell.strip()!r} is not a number", row=line)
            if not np.isfinite(float(cell)):
                raise InputError(f"{cell.strip()!r} is not a finite number", row=line)
    return np.array(body, dtype=np.float64)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_json(text: str) -> Instance:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"is not valid JSON (line {error.lineno}: {error.msg})") from None
    except (RecursionError, ValueError):
        raise InputError("is not a JSON object with the key 'means' and numbers of a usual size") from None
    return instance_of(data)


def _csv_rows(instance: Instance) -> list[list[str]]:
    problem, by_metric = instance.problem, {one.metric: str(one) for one in instance.problem.guardrails}
    only = problem.metric_names[len(problem.objectives) :]
    if len(problem.guardrails) > len(only) or problem.baseline is not None:
        raise InputError(
            "path", "limits of objectives, and a baseline, go into a .json file; a table has no column for them"
        )
    default = Instance(instance.means, None, instance.arms, instance.objectives, guardrails=problem.guardrails).sd
    stated = (instance.sd != default).any(axis=0)
    header = ["arm", *map(str, instance.objectives), *(by_metric[name] for name in only)]
    header += [f"sd({name})" for name, needed in zip(problem.metric_names, stated, strict=True) if needed]
    table = np.hstack([instance.means, instance.sd[:, stated]])
    rows = zip(instance.arms, table.tolist(), strict=True)
    return [header] + [[arm, *map(repr, row)] for arm, row in rows]
