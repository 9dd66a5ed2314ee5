"""``mobai add-arm``: one more arm takes part."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("add-arm")
@options.name_argument()
@options.arm_argument()
@click.option("--sd", type=float, multiple=True, help="Its standard deviation, once per objective, if arms differ.")
@options.storage_option()
def command(name: str, arm: str, sd: tuple[float, ...], storage: str) -> None:
    """Add an arm to the experiment NAME: every objective is undecided again until it has been compared."""
    experiment = load_experiment(storage, name)
    experiment.add_arm(arm, sd or None)
    screen.say(f"added {arm}; {views.verdict_line(experiment.verdict())}")
