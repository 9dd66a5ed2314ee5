"""``mobai segments``: where do the segments of an experiment stand?"""

from __future__ import annotations

import json

import click

from mobai.cli import options, screen
from mobai.kernels import interpret


@click.command("segments")
@options.name_argument()
@options.storage_option()
@options.json_option()
def command(name: str, storage: str, as_json: bool) -> None:
    """Show who is best in every segment of the experiment NAME, and over all where shares were stated."""
    interpret()
    from mobai.live.segments import Segments  # only now: it imports the kernels, one way or the other

    status = Segments.load(storage, name).status()
    if as_json:
        click.echo(json.dumps(status.json(), indent=2, allow_nan=False))
    else:
        screen.say(str(status))
