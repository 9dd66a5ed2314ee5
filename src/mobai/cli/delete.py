"""``mobai delete``: an experiment is removed with everything it has recorded."""

from __future__ import annotations

import click

from mobai.cli import options, screen
from mobai.errors import InputError
from mobai.live.storage import open_journal


@click.command("delete")
@options.name_argument()
@click.option("--yes", "again", metavar="NAME", help="The name again, instead of being asked for it.")
@options.storage_option()
def command(name: str, again: str | None, storage: str) -> None:
    """Remove the experiment NAME with all its events; asks for the name again. There is no way back."""
    journal = open_journal(storage)
    journal.find(name)
    if again is None:
        again = click.prompt(f"This removes {name} with all its events. Its name again", err=True)
    if again != name:
        raise InputError(f"the name given again is {again!r}, not {name!r}; nothing was removed")
    journal.delete(name)
    screen.say(f"deleted {name}")
