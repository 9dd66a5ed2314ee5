"""``mobai export``: everything an experiment has recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from mobai import views
from mobai.cli import formats, options, screen
from mobai.cli.loading import load_experiment
from mobai.errors import InputError
from mobai.rows import parquet_bytes
from mobai.store.journal import Event


@click.command("export")
@options.name_argument()
@click.option("--events", is_flag=True, help="The journal itself, event by event, instead of assignments.")
@options.storage_option()
@formats.format_option()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the assignments to a file that ends in .parquet, .csv or .jsonl.",
)
@formats.raw_option()
@click.option("--excel", is_flag=True, hidden=True, expose_value=False, help="What is done anyway.")
def command(name: str, events: bool, storage: str, form: str, out: Path | None, raw: bool) -> None:
    """Print the assignments of the experiment NAME with what was told of them."""
    if out is not None and (events or out.suffix.lower() not in _FILES):
        raise InputError("--out", f"is for assignments, in a file that ends in {', '.join(_FILES)}, not {str(out)!r}")
    experiment = load_experiment(storage, name)
    if events:
        rows: list[dict[str, Any]] = [
            {**event._asdict(), "at": views.time_text(event.at), "body": event.body if form == "json" else _json(event)}
            for event in experiment.history()
        ]
        formats.emit(rows, form, ("seq", "kind", "at", "body", "hash"), raw=raw)
        return
    rows = experiment.records()
    unit = ("unit",) if rows and "unit" in rows[0] else ()
    places = ("index", "item") if experiment.problem.design is not None else ()
    columns = ("id", *unit, "arm", "status", "asked_at", *places, *experiment.problem.recorded)
    if out is None:
        formats.emit(rows, form, columns, raw=raw)
        return
    try:
        out.write_bytes(_FILES[out.suffix.lower()](rows, columns, raw))
    except OSError as error:
        raise InputError("--out", f"{out}: {error.strerror or 'cannot be written'}") from None
    screen.say(f"wrote {views.plural(len(rows), 'assignment')} to {out}")


_FILES: dict[str, Callable[[list[dict[str, Any]], Sequence[str], bool], bytes]] = {
    ".parquet": lambda rows, columns, _: parquet_bytes(rows, columns),
    ".csv": lambda rows, columns, raw: views.csv_text(rows, columns, raw=raw).encode(),
    ".jsonl": lambda rows, _, __: "".join(json.dumps(row) + "\n" for row in rows).encode(),
}


def _json(event: Event) -> str:
    return json.dumps(event.body)
