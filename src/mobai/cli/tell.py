"""``mobai tell``: report what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from mobai import views
from mobai.cli import options, screen
from mobai.cli.loading import load_experiment
from mobai.errors import InputError
from mobai.live.assignments import Assignment
from mobai.live.reports import reports_in
from mobai.live.units import Unit
from mobai.rows import number_in, read_rows

Reports = Sequence[tuple[Assignment | Unit | int, dict[str, float | None]]]


@click.command("tell")
@options.name_argument()
@click.argument("report", nargs=-1, metavar="[ID] [METRIC=VALUE...]")
@click.option("--arm", metavar="ARM", help="Report an observation of this arm that nobody asked for, without an ID.")
@click.option(
    "--file", "file", metavar="FILE", help="Many reports: CSV with a column id or unit, JSON lines, - for stdin."
)
@click.option("--unit", metavar="NAME", help="Report on the assignment of this unit, without an ID.")
@click.option("--drop", is_flag=True, help="Say that the assignment ID will never be answered.")
@options.by_option()
@options.storage_option()
def command(
    name: str,
    report: tuple[str, ...],
    arm: str | None,
    file: str | None,
    unit: str | None,
    drop: bool,
    by: str | None,
    storage: str,
) -> None:
    """Report the metrics of an assignment of the experiment NAME; the same report twice changes nothing."""
    if (file is None) == (not report) or (unit is not None and (arm is not None or file is not None or drop)):
        raise InputError("give one of ID METRIC=VALUE..., --unit or --arm with METRIC=VALUE..., and --file")
    if arm is not None and (drop or file is not None):
        raise InputError("--arm takes METRIC=VALUE... and neither --drop nor --file")
    if drop:
        drop_assignment(storage, name, report)
    elif arm is not None:
        experiment = load_experiment(storage, name)
        number = experiment.record(arm, _metrics(report)).id
        screen.say(f"recorded {arm} as assignment {number}; {views.verdict_line(experiment.verdict())}")
    elif unit is not None:
        _tell(storage, name, [(Unit(unit), _metrics(report))], by)
    else:
        _tell(
            storage,
            name,
            reports_in(read_rows(file), file) if file else [(_identifier(report[0]), _metrics(report[1:]))],
            by,
        )


def drop_assignment(storage: str, name: str, words: tuple[str, ...]) -> None:
    """Drop the assignment that is named."""
    if len(words) != 1:
        raise InputError("--drop takes one ID and no metrics")
    load_experiment(storage, name).drop(_identifier(words[0]))
    screen.say(f"dropped {words[0]}")


def _tell(storage: str, name: str, reports: Reports, by: str | None) -> None:
    experiment = load_experiment(storage, name, reports=len(reports))
    experiment.tell_all(reports, by=by)
    screen.say(f"told {views.plural(len(reports), 'report')}; {views.verdict_line(experiment.verdict())}")


def _identifier(text: Any) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise InputError("id", f"must be a whole number, not {text!r}") from None


def _metrics(words: tuple[str, ...]) -> dict[str, float | None]:
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals:
            raise InputError(f"metrics are written METRIC=VALUE, not {word!r}")
        if name in found:
            raise InputError(f"{name} is given twice")
        found[name] = None if value == "null" else value or "nothing"
    if not found:
        raise InputError("at least one METRIC=VALUE is needed")
    return {name: number_in(found, name) for name in found}
