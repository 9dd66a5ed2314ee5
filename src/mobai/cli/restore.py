"""``mobai restore``: the experiments of a backup come back."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen


@click.command("restore")
@click.argument("path", metavar="FILE")
@click.option("--replace", is_flag=True, help="Let go of all experiments that are in the storage.")
@options.storage_option()
def command(path: str, replace: bool, storage: str) -> None:
    """Bring the experiments of the backup FILE back into the storage. Processes that hold earlier ones are told."""
    from mobai.live.copies import restore

    count = restore(path, storage, replace=replace)
    screen.say(f"restored {views.plural(count, 'experiment')} from {path}")
