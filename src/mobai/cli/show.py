"""``mobai show``: what an experiment was set up with."""

from __future__ import annotations

import click

from mobai.cli import options, screen
from mobai.cli.loading import load_experiment
from mobai.live.experiment_file import experiment_toml
from mobai.theory.confidence import delta_of


@click.command("show")
@options.name_argument()
@click.option("--toml", is_flag=True, help="Write a file that `mobai create` reads, to standard output.")
@options.storage_option()
def command(name: str, toml: bool, storage: str) -> None:
    """Show what the experiment NAME was set up with."""
    experiment = load_experiment(storage, name)
    if toml:
        click.echo(experiment_toml(name, experiment.settings), nl=False)
        return
    settings = experiment.settings
    delta = delta_of(settings.log_inv_delta)
    screen.say(f"{name}: {', '.join(settings.problem.arms)}; delta = {delta:g}, {settings.rule_address}")
    options.say_objectives(settings.problem)
