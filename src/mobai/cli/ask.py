"""``mobai ask``: which arm is next?"""

from __future__ import annotations

import shlex
from typing import Any

import click

from mobai.cli import formats, options, screen
from mobai.cli.loading import load_experiment
from mobai.live.assignments import assignment_json


@click.command("ask")
@options.name_argument()
@click.option("-n", type=click.IntRange(1, 10_000), default=1, show_default=True, help="How many assignments.")
@click.option(
    "--if-decided",
    default="go-on",
    show_default=True,
    metavar="stop|winner=OBJECTIVE|go-on",
    help="What to do once everything is decided: nothing (exit code 3), hand out the winner, or go on sampling.",
)
@click.option("--unit", metavar="NAME", help="Who it is for: the same unit has the same assignment for ever.")
@click.option("--key", metavar="NAME", help="A name for this call: called again with it, the answer is the same.")
@options.by_option()
@options.storage_option()
@formats.format_option()
def command(name: str, storage: str, form: str, **how: Any) -> None:
    """Hand out the next assignments of the experiment NAME."""
    experiment = load_experiment(storage, name)
    wanted = how.pop("n")
    assignments = experiment.ask(wanted, **how)
    if 0 < len(assignments) < wanted and experiment.settings.max_cost is not None:
        few = f"mobai: {len(assignments):,} of {wanted:,}: no more are sure to fit into what may be spent; ask again"
        screen.err.print(few, soft_wrap=True)
    if experiment.verdict().stopped:
        screen.err.print(f"mobai: everything is decided; mobai status {shlex.quote(name)} says what", soft_wrap=True)
    if assignments or form != "table":
        placed = ("item", "index") if experiment.problem.design is not None else ()
        formats.emit([assignment_json(one, "id") for one in assignments], form, ("id", "arm", *placed))
    if not assignments:
        raise click.exceptions.Exit(3)
