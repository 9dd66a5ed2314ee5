"""``mobai webhook``: where a service sends what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mobai import views
from mobai.cli import formats, options, screen

if TYPE_CHECKING:
    from mobai.service.webhooks import Webhooks


@click.group("webhook", help="Have decisions, warnings and the like sent to an address by `mobai serve`.")
def command() -> None:
    pass


def _webhooks(storage: str) -> Webhooks:
    from mobai.service.experiments import OpenExperiments
    from mobai.service.webhooks import Webhooks

    return Webhooks(OpenExperiments(storage))


@command.command("add")
@options.name_argument()
@click.argument("url", metavar="URL")
@click.option("--only", default="*", show_default=True, metavar="PATTERN", help="Only experiments of such names.")
@click.option(
    "--event", "events", multiple=True, type=click.Choice(views.NOTIFICATIONS), help="A kind; all unless given."
)
@click.option("--format", "form", type=click.Choice(["standard", "slack"]), default="standard", show_default=True)
@click.option("--private", is_flag=True, help="The address is a private one; the service must allow them, too.")
@options.storage_option()
def add(name: str, url: str, only: str, events: tuple[str, ...], form: str, private: bool, storage: str) -> None:
    """Send what happens from now on to URL. Prints the secret that signs the messages."""
    click.echo(_webhooks(storage).add(name, url, only, events, form, private))


@command.command("list")
@options.storage_option()
@formats.format_option()
def list_(storage: str, form: str) -> None:
    """List webhooks."""
    rows = [{**row, "events": ", ".join(row["events"]) or "all"} for row in _webhooks(storage).list()]
    formats.emit(rows, form, ("name", "host", "only", "events", "format"))


@command.command("remove")
@options.name_argument()
@options.storage_option()
def remove(name: str, storage: str) -> None:
    """Send nothing more to the webhook NAME."""
    _webhooks(storage).remove(name)
    screen.say(f"removed {name}")
