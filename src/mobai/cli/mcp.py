"""``mobai mcp``: experiments for agents, over the Model Context Protocol."""

from __future__ import annotations

import click

from mobai.cli import options


@click.command("mcp")
@options.storage_option()
@click.option("--write", is_flag=True, help="Let agents begin experiments, ask and tell; else they can only look.")
@click.option("--files", metavar="FOLDER", help="A folder whose files agents may have analysed.")
def command(storage: str, write: bool, files: str | None) -> None:
    """Serve the experiments of a storage to agents, on standard input and output."""
    from mobai.integrations.mcp import make_server

    make_server(storage, write=write, files=files).run("stdio")
