"""``mobai verify``: is everything what was written?"""

from __future__ import annotations

import json

import click

from mobai.cli import options, screen


@click.command("verify")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--head", metavar="HASH", help="A head that was written down: is everything up to it what it was?")
@options.storage_option()
@options.json_option()
def command(name: str | None, head: str | None, storage: str, as_json: bool) -> int:
    """Check the chain of events, what they add up to, the snapshot and the database, of NAME or of every experiment.

    The exit code is 1 if something is not as it was written.
    """
    from mobai.live.verify import verify

    found = verify(storage, name, head=head)
    if as_json:
        rows = [{**vars(one), "findings": [f._asdict() for f in one.findings]} for one in found]
        click.echo(json.dumps([{**row, "choices": row["choices"]._asdict()} for row in rows], indent=2))
    for one in () if as_json else found:
        screen.say(str(one))
    return 0 if all(one.intact for one in found) else 1
