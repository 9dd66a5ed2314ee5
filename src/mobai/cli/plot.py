"""``mobai plot``: pictures of simulation results."""

from __future__ import annotations

from pathlib import Path

import click

from mobai import Results
from mobai.cli import screen


@click.command("plot")
@click.argument("results", metavar="RESULTS", type=click.Path(dir_okay=False))
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Picture to write: .png, .svg or .pdf.  [RESULTS with .png]"
)
def command(results: str, out: str | None) -> None:
    """Draw stopping times, their distribution and the arms' shares from RESULTS, a file of ``mobai simulate --out``."""
    from mobai.lab.plots import save_plot

    target = out or str(Path(results).with_suffix(".png"))
    with screen.working("drawing"):
        save_plot(Results.load(results), target)
    screen.say(target)
