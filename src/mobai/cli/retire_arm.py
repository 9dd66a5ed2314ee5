"""``mobai retire-arm``: an arm is asked for no more."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("retire-arm")
@options.name_argument()
@options.arm_argument()
@options.storage_option()
def command(name: str, arm: str, storage: str) -> None:
    """Stop asking for an arm of the experiment NAME, and look for the best of the others."""
    experiment = load_experiment(storage, name)
    experiment.retire_arm(arm)
    screen.say(f"retired {arm}; {views.verdict_line(experiment.verdict())}")
