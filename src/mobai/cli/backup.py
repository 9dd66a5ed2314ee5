"""``mobai backup``: all experiments of a storage into one file."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen


@click.command("backup")
@click.argument("path", metavar="FILE")
@options.storage_option()
def command(path: str, storage: str) -> None:
    """Write all experiments of the storage into the new SQLite file FILE, while others may write."""
    from mobai.live.copies import backup

    count = backup(storage, path)
    screen.say(f"wrote {views.plural(count, 'experiment')} to {path}")
