"""``mobai resume``: hand out assignments again."""

from __future__ import annotations

import click

from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("resume")
@options.name_argument()
@options.by_option()
@options.storage_option()
def command(name: str, by: str | None, storage: str) -> None:
    """Hand out assignments of the experiment NAME again."""
    load_experiment(storage, name).resume(by=by)
    screen.say(f"resumed {name}")
