"""``mobai drop``: assignments that will never be answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment
from mobai.errors import InputError
from mobai.problem.window import seconds_of

if TYPE_CHECKING:
    from mobai.live.experiment import Experiment


@click.command("drop")
@options.name_argument()
@click.argument("ids", nargs=-1, type=int, metavar="[ID...]")
@click.option("--older-than", metavar="TIME", help="All that have waited for so long, such as 30m, 2h or 1d.")
@click.option(
    "--reason",
    type=click.Choice(["lost"]),
    help="They were lost for reasons that have nothing to do with any result: they are left out, and every verdict "
    "repeats it. Unless given, they count as the worst there could be.",
)
@options.storage_option()
def command(name: str, ids: tuple[int, ...], older_than: str | None, reason: str | None, storage: str) -> None:
    """Say that assignments of the experiment NAME, or the rest of them, will never be answered."""
    if bool(ids) == (older_than is not None):
        raise InputError("give the ids of assignments, or --older-than TIME")
    experiment = load_experiment(storage, name)
    if older_than is not None:
        count = experiment.drop_older(seconds_of(older_than, "--older-than"), reason=reason)
        screen.say(f"dropped {views.plural(count, 'assignment')}")
        if count:
            _say_what_waits(experiment, reason)
        return
    for number in ids:
        experiment.drop(number, reason=reason)
    screen.say(f"dropped {', '.join(map(str, ids))}")
    _say_what_waits(experiment, reason)


def _say_what_waits(experiment: Experiment, reason: str | None) -> None:
    """Say which metrics go on waiting, because there is no worst that they could be."""
    endless = [metric.name for metric in experiment.problem.metrics if not metric.has_worst]
    if endless and reason is None:
        screen.say(f"{', '.join(endless)}: has no range, and goes on waiting; --reason lost would leave it out")
