"""``mobai ask``: which arm is next?"""

from __future__ import annotations

import click

from mobai.cli import formats, options
from mobai.cli.loading import load_experiment


@click.command("ask")
@options.name_argument()
@click.option("-n", type=click.IntRange(min=1), default=1, show_default=True, help="How many assignments.")
@options.storage_option()
@formats.format_option()
def command(name: str, n: int, storage: str, form: str) -> None:
    """Hand out the next assignments of the experiment NAME."""
    assignments = load_experiment(storage, name).ask(n)
    formats.emit([assignment._asdict() for assignment in assignments], form, ("id", "arm"))
