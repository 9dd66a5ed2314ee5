"""``mobai pause``: hand out nothing for a while."""

from __future__ import annotations

import click

from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("pause")
@options.name_argument()
@options.by_option()
@options.storage_option()
def command(name: str, by: str | None, storage: str) -> None:
    """Hand out nothing of the experiment NAME until it is resumed; answers are still taken."""
    load_experiment(storage, name).pause(by=by)
    screen.say(f"paused {name}")
