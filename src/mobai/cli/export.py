"""``mobai export``: everything an experiment has recorded."""

from __future__ import annotations

import json
from typing import Any

import click

from mobai import views
from mobai.cli import formats, options
from mobai.cli.loading import load_experiment
from mobai.store.journal import Event


@click.command("export")
@options.name_argument()
@click.option("--events", is_flag=True, help="The journal itself, event by event, instead of assignments.")
@options.storage_option()
@formats.format_option()
@formats.raw_option()
@click.option("--excel", is_flag=True, hidden=True, expose_value=False, help="What is done anyway.")
def command(name: str, events: bool, storage: str, form: str, raw: bool) -> None:
    """Print the assignments of the experiment NAME with what was told of them."""
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
    columns = ("id", *unit, "arm", "status", "asked_at", *experiment.problem.metric_names)
    formats.emit(rows, form, columns, raw=raw)


def _json(event: Event) -> str:
    return json.dumps(event.body)
