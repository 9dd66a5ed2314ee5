"""``mobai close``: an experiment ends."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("close")
@options.name_argument()
@options.by_option()
@options.storage_option()
def command(name: str, by: str | None, storage: str) -> None:
    """End the experiment NAME: it can be read, not changed."""
    experiment = load_experiment(storage, name)
    experiment.close(by=by)
    screen.say(f"closed {name}; {views.verdict_line(experiment.verdict())}")
