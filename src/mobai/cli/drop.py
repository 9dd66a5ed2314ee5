"""``mobai drop``: assignments that will never be answered."""

from __future__ import annotations

import click

from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("drop")
@options.name_argument()
@click.argument("ids", nargs=-1, type=int, required=True, metavar="ID...")
@options.storage_option()
def command(name: str, ids: tuple[int, ...], storage: str) -> None:
    """Say that assignments of the experiment NAME will never be answered."""
    experiment = load_experiment(storage, name)
    for number in ids:
        experiment.drop(number)
    screen.say(f"dropped {', '.join(map(str, ids))}")
