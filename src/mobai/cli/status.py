"""``mobai status``: where does an experiment stand?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from mobai import views
from mobai.cli import formats, options, screen
from mobai.cli.loading import load_experiment

if TYPE_CHECKING:
    from mobai.live.experiment import Experiment
    from mobai.live.status import Status

_COLUMNS = ("objective", "direction", "arm", "decided_at", "evidence", "threshold", "smallest_delta")


@click.command("status")
@options.name_argument()
@click.option("--watch", is_flag=True, help="Draw it again and again, until it is decided or Ctrl-C.")
@click.option("--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds per redraw.")
@options.storage_option()
@formats.format_option()
def command(name: str, watch: bool, interval: float, storage: str, form: str) -> None:
    """Show evidence, decisions and intervals of the experiment NAME."""
    experiment = load_experiment(storage, name)
    if watch:
        _watch(experiment, interval)
        return
    status = experiment.status()
    if form == "table":
        screen.out.print(picture(status))
    else:
        formats.emit(views.objective_rows(status.verdict), form, _COLUMNS)


def _watch(experiment: Experiment, interval: float) -> None:
    with Live(console=screen.out, auto_refresh=False) as live:
        try:
            while True:
                status = experiment.status()
                live.update(picture(status), refresh=True)
                if status.verdict.stopped or status.closed_at is not None:
                    return
                time.sleep(interval)
        except KeyboardInterrupt:
            return


def picture(status: Status) -> RenderableType:
    """Return bars of evidence, and where the means lie."""
    verdict = status.verdict
    table = screen.plain_table("objective", "best arm", "evidence", "", ">smallest delta")
    for m, row in enumerate(views.objective_rows(verdict)):
        decision = verdict.decisions[m]
        share = 1.0 if decision else max(0.0, row["evidence"] / row["threshold"])
        text = (
            f"decided at pull {decision.pull:,}"
            if decision
            else f"{row['evidence']:.2f} of {row['threshold']:.2f} nats"
        )
        bar = ProgressBar(1.0, min(share, 1.0), width=30)
        arm = Text(row["arm"], style="green" if decision else "yellow")
        table.add_row(
            row["objective"], arm, bar, text, "-" if row["smallest_delta"] is None else f"{row['smallest_delta']:.3g}"
        )
    arms = screen.intervals_table(verdict, status.intervals)
    remarks = (Text(remark, style="bold") for remark in views.status_remarks(status))
    return Group(Text(views.status_line(status), style="bold"), table, Text(), arms, *remarks)
