"""``mobai close``: an experiment ends."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("close")
@options.name_argument()
@click.option(
    "--as-equal",
    "equal",
    multiple=True,
    metavar="METRIC",
    help="An open metric that ends in a tie: the arms left are close enough. May be repeated; `all` for all open ones.",
)
@options.by_option()
@options.storage_option()
def command(name: str, equal: tuple[str, ...], by: str | None, storage: str) -> None:
    """End the experiment NAME: it can be read, not changed."""
    experiment = load_experiment(storage, name)
    every = equal == ("all",) and "all" not in experiment.problem.objective_names
    experiment.close(as_equal=every or equal, by=by)
    screen.say(f"closed {name}; {views.verdict_line(experiment.verdict())}")
    if equal:
        screen.say(views.headline(experiment.status()))
