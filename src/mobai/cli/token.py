"""``mobai token``: who may use the service."""

from __future__ import annotations

import click

from mobai import views
from mobai.cli import formats, options, screen
from mobai.live.storage import open_journal
from mobai.store.addresses import shown_storage


@click.group("token", help="Make, list and revoke the tokens of a service.")
def command() -> None:
    pass


@command.command("create")
@options.name_argument()
@click.option("--scope", type=click.Choice(["read", "tell", "admin"]), required=True, help="What it may do.")
@click.option("--only", default="*", show_default=True, metavar="PATTERN", help="Only experiments of such names.")
@click.option("--expires", metavar="TIME", help="After this long it is no longer valid: 90d, 12h, 30m.")
@options.storage_option()
def create(name: str, scope: str, only: str, expires: str | None, storage: str) -> None:
    """Make the token NAME and print it. It is not kept, only its hash is: it cannot be shown again."""
    from mobai.service.tokens import create_token

    secret = create_token(open_journal(storage, create=True), name, scope, only=only, expires=expires)
    screen.err.print(f"mobai: a token for {shown_storage(storage)}; it is not shown again", soft_wrap=True)
    click.echo(secret)


@command.command("list")
@options.storage_option()
@formats.format_option()
def list_(storage: str, form: str) -> None:
    """List tokens, and the sessions of browsers."""
    from mobai.service.tokens import list_tokens

    rows = list_tokens(open_journal(storage))
    times = ("created_at", "expires_at")
    shown = [{**row, **{key: views.time_text(row[key]) for key in times}} for row in rows]
    formats.emit(shown, form, ("name", "kind", "scope", "only", *times, "token"))


@command.command("revoke")
@options.name_argument()
@options.storage_option()
def revoke(name: str, storage: str) -> None:
    """Revoke the token NAME: within a second, whoever shows it is refused."""
    from mobai.service.tokens import revoke_token

    revoke_token(open_journal(storage), name)
    screen.say(f"revoked {name}")
