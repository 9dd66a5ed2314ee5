"""``mobai close``: an experiment ends."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("close")
@options.name_argument()
@options.storage_option()
def command(name: str, storage: str) -> None:
    """End the experiment NAME: it can be read, not changed."""
    experiment = load_experiment(storage, name)
    experiment.close()
    screen.say(f"closed {name}; {views.verdict_line(experiment.verdict())}")
