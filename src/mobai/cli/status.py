"""``mobai status``: where does an experiment stand?"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from mobai import views
from mobai.cli import formats, options, progress, screen
from mobai.cli.loading import load_experiment
from mobai.errors import visible

if TYPE_CHECKING:
    from mobai.live.experiment import Experiment
    from mobai.live.status import Status


@click.command("status")
@options.name_argument()
@click.option("--watch", is_flag=True, help="Draw it again and again, until it is decided or Ctrl-C.")
@click.option("--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds per redraw.")
@options.storage_option()
@formats.format_option()
def command(name: str, watch: bool, interval: float, storage: str, form: str) -> None:
    """Show evidence, decisions and intervals of the experiment NAME."""
    experiment = load_experiment(storage, name)
    from mobai.live import codec  # only now: it imports the kernels, one way or the other

    if watch:
        _watch(experiment, interval)
        return
    status = experiment.status()
    if form == "table":
        screen.out.print(picture(status))
    elif form == "json":
        click.echo(json.dumps(codec.status_json(status), indent=2, allow_nan=False))
    else:
        formats.emit(codec.status_rows(status), form, codec.STATUS_COLUMNS)


def _watch(experiment: Experiment, interval: float) -> None:
    """Draw the status until it is decided; Ctrl-C is the usual way to leave."""
    log = progress.ProgressLog()
    with suppress(KeyboardInterrupt), Live(console=screen.out, auto_refresh=False) as live:
        while True:
            status = experiment.status()
            live.update(picture(status), refresh=True)
            if not screen.out.is_terminal:
                log(views.status_line(status))
            if status.verdict.stopped or status.closed_at is not None:
                return
            time.sleep(interval)


def picture(status: Status) -> RenderableType:
    """Return where an experiment stands: bars of evidence, what is missing, and where the means lie."""
    verdict = status.verdict
    table = screen.plain_table("objective", "answer", "evidence", "state (forecast)", ">nats")
    ended = status.state in ("ended", "closed")
    for m, row in enumerate(views.progress_table(verdict, status.forecast, ended, status.equal).rows):
        decided = verdict.decisions[m] is not None
        share = 1.0 if decided else float(verdict.evidence[m] / verdict.threshold[m])
        bar = ProgressBar(1.0, min(max(share, 0.0), 1.0), width=20)
        arm = Text(row[1], style="green" if decided else "yellow")
        table.add_row(Text(row[0]), arm, bar, Text(row[2]), Text(row[3]))
    compared: list[RenderableType] = []
    comparisons = views.comparison_tables(verdict, status.rewards, status.differences)
    for block in (*comparisons, *views.standings_tables(status)):
        compared += [Text(), screen.laid_out(block)]
    means = screen.laid_out(views.means_table(verdict, status.rewards, status.means, status.intervals, status.active))
    caption = Text(views.intervals_caption(verdict, status.intervals), style="italic")
    remarks = (Text(visible(remark), style="bold") for remark in views.status_remarks(status))
    lines = (Text(visible(views.headline(status)), style="bold"), Text(visible(views.status_line(status))))
    return Group(*lines, Text(), table, *compared, Text(), means, caption, *remarks)
