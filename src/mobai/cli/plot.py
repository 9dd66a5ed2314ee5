"""``mobai plot``: pictures of simulation results, and of how an experiment went."""

from __future__ import annotations

from pathlib import Path

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.report import write_page
from mobai.errors import InputError


@click.command("plot")
@click.argument("what", metavar="RESULTS|NAME")
@click.option("--out", type=click.Path(dir_okay=False), help="A file .png, .svg, .pdf or .html.  [as named, .png]")
@options.storage_option()
def command(what: str, out: str | None, storage: str) -> None:
    """Draw RESULTS, a file of ``mobai simulate --out``, or how the live experiment NAME went."""
    if Path(what).suffix.lower() == ".parquet" or Path(what).is_file():
        target = _results(what, out)
    else:
        target = _experiment(what, out, storage)
    screen.say(target)


def _results(path: str, out: str | None) -> str:
    from mobai import Results
    from mobai.lab.plots import save_plot

    target = out or str(Path(path).with_suffix(".png"))
    results = Results.load(path)
    if Path(target).suffix.lower() == ".html":
        return write_page(target, views.summary_page(results.summary(), Path(path).name))
    with screen.working("drawing"):
        save_plot(results, target)
    return target


def _experiment(name: str, out: str | None, storage: str) -> str:
    from mobai.cli.loading import load_experiment
    from mobai.live.plot import plot_series

    if out is None and not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise InputError("out", f"must be given: {name!r} is no name for a file")
    target, experiment = out or f"{name}.png", load_experiment(storage, name)
    if Path(target).suffix.lower() == ".html":
        return write_page(target, views.report_html(experiment.status(), experiment.series()))
    plot_series(experiment.series(), target)
    return target
