"""``mobai copy``: an experiment goes to another storage."""

from __future__ import annotations

import click

from mobai.cli import options, screen
from mobai.errors import InputError


@click.command("copy")
@options.name_argument()
@click.option("--to", "target", required=True, metavar="URL", help="The other storage; it is made if it is not there.")
@options.storage_option()
def command(name: str, target: str, storage: str) -> None:
    """Copy the experiment NAME, with its chain of events, into another storage."""
    from mobai.live.copies import copy

    if target == "memory:":
        raise InputError("to", "what is in memory: ends with this command; name a file or a database")
    copy(storage, name, target)
    screen.say(f"copied {name}")
