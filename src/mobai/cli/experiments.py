"""``mobai experiments``: what is in a storage."""

from __future__ import annotations

import click

from mobai.cli import formats, options
from mobai.cli.loading import load_experiment
from mobai.live.storage import open_journal

_COLUMNS = ("name", "arms", "objectives", "pulls", "pending", "decided", "state")


@click.command("experiments")
@options.storage_option()
@formats.format_option()
def command(storage: str, form: str) -> None:
    """List the experiments of a storage."""
    journal = open_journal(storage)
    rows = []
    for name in journal.names():
        experiment = load_experiment(journal, name)
        from mobai.live import codec  # only now: it imports the kernels, one way or the other

        row = codec.status_summary(experiment.status())
        doubt = "" if row["certified"] else ", NOT certified"
        rows.append({**row, "decided": f"{row['decided']} of {row['objectives']}{doubt}"})
    formats.emit(rows, form, _COLUMNS)
