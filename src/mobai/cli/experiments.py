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
        status = load_experiment(journal, name).status()
        decided = sum(decision is not None for decision in status.verdict.decisions)
        objectives = len(status.verdict.decisions)
        rows.append(
            {
                "name": name,
                "arms": int(status.active.sum()),
                "objectives": objectives,
                "pulls": status.verdict.pulls,
                "pending": status.pending,
                "decided": f"{decided} of {objectives}",
                "state": status.state,
            }
        )
    formats.emit(rows, form, _COLUMNS)
