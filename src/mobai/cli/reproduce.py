"""``mobai reproduce``: the paper's tables and figures, run again, with a report."""

from __future__ import annotations

import click

from mobai.cli import screen
from mobai.cli.progress import Bar
from mobai.lab.simulate import Progress


@click.command("reproduce")
@click.argument("parts", metavar="[PART]...", nargs=-1)
@click.option("--list", "list_parts", is_flag=True, help="Say which parts there are, and stop.")
@click.option("--quick", is_flag=True, help="A minute: three trials each, marked as such.")
@click.option(
    "--out", default="report", show_default=True, type=click.Path(file_okay=False), help="Folder to write to."
)
def command(parts: tuple[str, ...], list_parts: bool, quick: bool, out: str) -> None:
    """Run the paper's experiments (all, or each PART named) and write a report; finished trials are not run again."""
    from mobai.research.paper.reproduce import PARTS, reproduce

    if list_parts:
        table = screen.plain_table("part", "what")
        for name, part in PARTS.items():
            table.add_row(name, part.title)
        screen.out.print(table)
        return
    with Bar() as bar:

        def watch(run: str, progress: Progress) -> None:
            bar(progress, run)

        page = reproduce(out, parts, quick=quick, watch=watch)
    screen.say(str(page))
