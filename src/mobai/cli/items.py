"""``mobai run --items``: a command or a function measures every arm on the same items."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from mobai import views
from mobai.cli import progress, screen
from mobai.cli.run import leave
from mobai.cli.status import picture
from mobai.errors import InputError
from mobai.extras import find_object
from mobai.live.race import RaceResult, race
from mobai.live.race_loop import Measure, RaceError, RaceProgress
from mobai.live.sampler import run_command
from mobai.problem.objective import is_name
from mobai.rows import read_rows


def items_stated(items: str | None, rounds: bool) -> Any:
    """Return what ``--items`` says: how many, ``stream``, or a file of them; None with rounds."""
    if items is None:
        return None
    if rounds:
        raise InputError("--rounds", "must not be given with --items: one of the two")
    if items.isdecimal():
        return int(items)
    if items == "stream" or items.lower().endswith(".txt"):
        return items
    rows = read_rows(items)
    named = any(all(is_name(row.get(key)) for row in rows) for key in ("id", "item", "name"))
    return rows if named else [{"id": str(number), **row} for number, row in enumerate(rows)]


def measure_on_items(words: str | None, sampler: str | None, timeout: float | None) -> Measure:
    """Return what measures an arm on an item: a command, or a Python function of both."""
    if words is not None:
        command = words

        def by_command(arm: str, item: Any) -> Mapping[str, float | None]:
            row = isinstance(item, Mapping)
            name = next((str(item[key]) for key in ("id", "item", "name") if key in item), "") if row else str(item)
            return run_command(command, {"arm": arm, "item": name}, timeout, (json.dumps(item) if row else name) + "\n")

        return by_command
    function: Any = find_object(sampler or "", "sampler")
    if not callable(function):
        raise InputError("sampler", f"must name a function of an arm and an item, not {sampler!r}")
    made: Measure = function
    return made


def run_on_items(measure: Measure, items: Any, as_json: bool, **given: Any) -> None:
    """Race the arms over the items, and say what was found."""
    log = progress.ProgressLog()

    def watch(told: RaceProgress) -> None:
        log(str(told))

    how = {
        "watch": None if screen.err.is_terminal else watch,
        "n_jobs": given.pop("jobs"),
        "budget": given.pop("max_pulls"),
    }
    try:
        found = race(given.pop("arms"), items, measure, given.pop("objectives"), **how, **given)
    except RaceError as error:
        raise InputError(str(error)) from None
    _report(found, as_json)
    leave(found.ending, found.verdict)


def _report(found: RaceResult, as_json: bool) -> None:
    status = found.status
    if as_json:
        facts = {
            "ending": found.ending,
            "made": found.made,
            "most": found.most,
            "failures": found.failures,
            **views.verdict_json(status.verdict),
            "standings": [one.json() for one in status.standings],
        }
        click.echo(json.dumps(facts, indent=2, allow_nan=False))
        return
    saved = f", {found.most - found.made:,} saved" if found.most is not None and found.ending == "decided" else ""
    of = "" if found.most is None else f" of {found.most:,}{saved}"
    screen.out.print(picture(status))
    screen.say(f"{found.ending}: {found.made:,} measurements{of}")
