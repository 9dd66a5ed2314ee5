"""``mobai verify``: is everything what was written?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from mobai.cli import options, screen
from mobai.cli.progress import CountBar

if TYPE_CHECKING:
    from mobai.live.verify import Verification


@click.command("verify")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--head", metavar="HASH", help="A head that was written down: is everything up to it what it was?")
@click.option("--choices", is_flag=True, help="Let the rule make every choice again, too; takes several times as long.")
@options.storage_option()
@options.json_option()
def command(name: str | None, head: str | None, choices: bool, storage: str, as_json: bool) -> int:
    """Check the chain of events, what they add up to, the snapshot and the database, of NAME or of every experiment.

    The exit code is 1 if something is not as it was written.
    """
    from mobai.live.verify import verify

    with CountBar("events") as bar:
        found = verify(storage, name, head=head, choices=choices, progress=bar)
    if as_json:
        click.echo(json.dumps([_row(one) for one in found], indent=2))
    for one in () if as_json else found:
        screen.say(str(one))
    return 0 if all(one.intact for one in found) else 1


def _row(one: Verification) -> dict[str, Any]:
    choices = None if one.choices is None else one.choices._asdict()
    return {**vars(one), "findings": [finding._asdict() for finding in one.findings], "choices": choices}
