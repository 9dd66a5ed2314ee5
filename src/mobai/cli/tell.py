"""``mobai tell``: report what was measured."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, TextIO

import click

from mobai.cli import options, screen
from mobai.cli.loading import load_experiment
from mobai.errors import InputError


@click.command("tell")
@options.name_argument()
@click.argument("report", nargs=-1, metavar="[ID METRIC=VALUE...]")
@click.option(
    "--file", "file", type=click.File(encoding="utf-8-sig"), help="Many reports: CSV with a column id, or JSON lines."
)
@click.option("--drop", is_flag=True, help="Say that the assignment ID will never be answered.")
@options.storage_option()
def command(name: str, report: tuple[str, ...], file: TextIO | None, drop: bool, storage: str) -> None:
    """Report the metrics of an assignment of the experiment NAME; the same report twice changes nothing."""
    if (file is None) == (not report):
        raise InputError("give either ID METRIC=VALUE... or --file")
    if drop and len(report) != 1:
        raise InputError("--drop takes one ID and no metrics")
    if drop:
        load_experiment(storage, name).drop(_identifier(report[0]))
        screen.say(f"dropped {report[0]}")
        return
    reports = list(_from_file(file)) if file is not None else [(_identifier(report[0]), _metrics(report[1:]))]
    experiment = load_experiment(storage, name, reports=len(reports))
    experiment.tell_all(reports)
    screen.say(f"told {len(reports):,}, {experiment.verdict()}")


def _identifier(text: Any) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise InputError(f"id must be a whole number, not {text!r}") from None


def _metrics(words: tuple[str, ...]) -> dict[str, float | None]:
    metrics: dict[str, float | None] = {}
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals:
            raise InputError(f"metrics are written METRIC=VALUE, not {word!r}")
        if name in metrics:
            raise InputError(f"{name} is given twice")
        metrics[name] = _number(name, value)
    if not metrics:
        raise InputError("at least one METRIC=VALUE is needed")
    return metrics


def _number(name: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {str(value)[:80]!r}") from None


def _from_file(file: TextIO) -> Iterator[tuple[int, dict[str, float | None]]]:
    """Read JSON lines, or CSV; cells left empty are missing."""
    try:
        text = file.read()
        if text.lstrip().startswith("["):
            rows: list[Any] = json.loads(text)
        elif text.lstrip().startswith("{"):
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            rows = list(csv.DictReader(io.StringIO(text)))
    except (ValueError, RecursionError, csv.Error) as error:
        raise InputError(f"file: is neither CSV nor JSON lines in UTF-8 ({error})") from None
    if not rows:
        raise InputError("file: has no reports")
    for place, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or "id" not in row:
            raise InputError(f"file: report {place} has no id")
        yield (
            _identifier(row["id"]),
            {key: _number(key, value) for key, value in row.items() if key not in ("id", "arm")},
        )
