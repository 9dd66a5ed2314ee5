"""``mobai create``: begin a live experiment."""

from __future__ import annotations

from typing import Any

import click

from mobai.cli import options, screen
from mobai.live.experiment import Experiment


@click.command("create")
@options.name_argument()
@options.arms_option()
@options.objectives_option()
@options.delta_option()
@options.rule_option()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes the rule's own choices.")
@click.option(
    "--expire-after",
    type=float,
    metavar="SECONDS",
    help="Then an assignment is no longer pending.",
)
@click.option("--reserve", type=float, default=0.1, show_default=True, help="Share of delta for changes of arms.")
@click.option("--no-focus", is_flag=True, help="Go on sampling for objectives that are decided.")
@options.storage_option()
def command(
    name: str, arms: tuple[str, ...], objectives: tuple[str, ...], storage: str, no_focus: bool, **choices: Any
) -> None:
    """Begin the experiment NAME."""
    Experiment.create(storage, name, arms, objectives, focus=not no_focus, **choices)
    screen.say(f"created {name}: {len(arms)} arms, {len(objectives)} objectives, delta = {choices['delta']:g}")
