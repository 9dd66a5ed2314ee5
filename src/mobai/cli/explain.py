"""``mobai explain``: why this arm, and why not stopped yet?"""

from __future__ import annotations

import json

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment


@click.command("explain")
@options.name_argument()
@options.storage_option()
@options.json_option()
def command(name: str, storage: str, as_json: bool) -> None:
    """Say of the experiment NAME which pairs of arms hold it up, and what would be asked for next and why."""
    found = load_experiment(storage, name).explain()
    if as_json:
        from mobai.live import codec  # only now: it imports the kernels, one way or the other

        click.echo(json.dumps(codec.explanation_json(found), indent=2, allow_nan=False))
        return
    screen.say(str(found))
    screen.say()
    screen.out.print(screen.laid_out(views.pairs_table(found)))
    if found.limits:
        screen.say()
        screen.out.print(screen.laid_out(views.limit_evidence_table(found)))
