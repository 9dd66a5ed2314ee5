"""``mobai analyse``: what observations that are already there prove."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mobai import views
from mobai.analysis.guess import GUESSED, Guess, guess
from mobai.analysis.logs import read_log
from mobai.cli import loading, options, screen
from mobai.errors import InputError
from mobai.extras import need
from mobai.kernels import interpret
from mobai.theory.confidence import check_small, resolve_log_inv_delta

if TYPE_CHECKING:
    from mobai.analysis.results import TaskAnalysis


@click.command("analyse")
@click.argument("file", metavar="FILE")
@options.objectives_option(required=False)
@options.guardrails_option()
@options.baseline_option()
@click.option("--arm-column", help="The column that names the arm: arm, unless given.")
@click.option("--yes", is_flag=True, help="Without --objective: go by what the columns seem to be; never certified.")
@click.option("--ordered", is_flag=True, help="The rows are in the order in which arms were chosen: look after each.")
@click.option("--time-column", metavar="COLUMN", help="When each row's arm was chosen; look after each, in that order.")
@click.option("--item-column", metavar="COLUMN", help="What was measured: arms are compared on the same items.")
@click.option(
    "--items",
    "of_items",
    is_flag=True,
    help="Systems on the same items: a file or folder of Inspect, promptfoo, lm-evaluation-harness or DeepEval, or a "
    "table.",
)
@click.option("--task", metavar="NAME", help="With --items: this task alone.")
@click.option(
    "--arm-columns",
    metavar="A,B,C",
    help="A table with a row per item, and a column per arm of the one metric.",
)
@click.option("--all-items", is_flag=True, help="These items are all there are: which arm is best on this list.")
@click.option("--goal", metavar="GOAL", help="With items: also prove pareto, ranking, or top=NUMBER.")
@click.option("--segment-column", metavar="COLUMN", help="Say it of every group of visitors, all under one delta.")
@click.option("--other", is_flag=True, help="Rows without a segment are one of their own, other.")
@options.rare_option()
@options.delta_option()
@click.option("--plot", metavar="FILE", help="Draw the means with their intervals: .png, .svg or .pdf.")
@options.json_option()
def command(
    file: str,
    objectives: tuple[str, ...],
    arm_column: str | None,
    yes: bool,
    ordered: bool,
    time_column: str | None,
    item_column: str | None,
    of_items: bool,
    task: str | None,
    arm_columns: str | None,
    all_items: bool,
    goal: str | None,
    segment_column: str | None,
    other: bool,
    rare: float | None,
    delta: float,
    plot: str | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Say which arms a log proves to be best: CSV with a header, JSON lines, Parquet, or - for standard input.

    The evidence is looked at once, after the last row, so that their order does not matter; with --ordered or
    --time-column after every row. Which arm came next must not have depended on its outcome.

    Without --objective it guesses what the columns are, and says so. With --items, FILE may be a folder of results of
    evaluations, whose metrics are known.
    """
    check_small(delta)
    log_inv_delta = resolve_log_inv_delta(delta)
    if plot is not None and Path(plot).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("plot", f"{plot}: the name must end in .png, .svg or .pdf")
    if plot is not None:
        need("matplotlib")
        if not Path(plot).absolute().parent.is_dir():
            raise InputError("plot", f"there is no folder {Path(plot).absolute().parent}")
    if arm_columns is not None or of_items:
        others = {"--ordered": ordered, "--time-column": time_column, "--segment-column": segment_column}
        for option, stated in others.items():
            if stated:
                raise InputError(option, "must come without items: their order does not matter")
        if task is not None and arm_columns is not None:
            raise InputError("--task", "is for results of tools that know tasks")
        from mobai.analysis.results import of_columns, of_items_in

        shared = {**limits, "delta": delta, "all_items": all_items, "rare": rare, "goal": goal}
        if arm_columns is not None:
            found = of_columns(file, objectives, arm_columns.split(","), item_column, **shared)
        else:
            found = of_items_in(file, objectives, arm_column, item_column, task, **shared)
        _say_tasks(found, delta, as_json)
        if plot is not None:
            found[0].analysis.plot(plot)
        return
    if task is not None:
        raise InputError("--task", "needs --items")
    if goal is not None and item_column is None:
        raise InputError("--goal", "needs items: --items, --item-column or --arm-columns")
    doubts: list[str] = []
    if not objectives:
        more = "" if item_column is None else f" --item-column {shlex.quote(item_column)}"
        more += " --all-items" if all_items else ""
        more += "" if segment_column is None else f" --segment-column {shlex.quote(segment_column)}"
        guessed = _guess(file, arm_column, [time_column, item_column], yes, more)
        arm_column, objectives, doubts = guessed.arm, guessed.objectives, [GUESSED]
    if item_column is not None and (ordered or time_column is not None):
        raise InputError(
            "--item-column", "must come without --ordered and --time-column: the order of items does not matter"
        )
    if all_items and item_column is None:
        raise InputError("--all-items", "needs --item-column, which says what was measured")
    limits |= {"time": time_column, "item": item_column, "all_items": all_items}
    if segment_column is not None:
        if plot is not None or doubts:
            raise InputError("--segment-column", "must come with --objective, and without --plot")
        given = {**limits, "arm": arm_column or "arm", "ordered": ordered, "rare": rare, "delta": delta, "other": other}
        _say_segments(file, objectives, segment_column, as_json, given)
        return
    log = read_log(file, objectives, arm=arm_column or "arm", **limits)
    if len(log.arms) <= loading.MOST_REPORTS:
        interpret()
    # Only now: importing it imports the kernels, one way or the other.
    from mobai.analysis.analyse import analyse_log

    follows = ordered or time_column is not None
    analysis = analyse_log(log, log_inv_delta, ordered=follows, rare=rare, doubts=doubts, goal=goal)
    if as_json:
        click.echo(json.dumps(views.analysis_json(analysis), indent=2, allow_nan=False))
    else:
        screen.out.print(screen.laid_out_blocks(views.analysis_blocks(analysis)))
    if plot is not None:
        analysis.plot(plot)


def _say_tasks(found: list[TaskAnalysis], delta: float, as_json: bool) -> None:
    """Say what results prove, task by task."""
    if as_json:
        click.echo(json.dumps({"delta": delta, "tasks": [one.facts for one in found]}, indent=2, allow_nan=False))
        return
    for one in found:
        if one.task:
            screen.say(f"task {one.task}:")
        screen.say(one.saving)
        screen.out.print(screen.laid_out_blocks(views.analysis_blocks(one.analysis)))
    if len(found) > 1:
        screen.say(f"delta = {delta:g} for all {len(found)} tasks together")


def _say_segments(file: str, objectives: tuple[str, ...], column: str, as_json: bool, given: dict[str, Any]) -> None:
    """Say what a log proves in every segment."""
    from mobai.analysis.segments import analyse_segments

    found = analyse_segments(file, objectives, column, **given)
    if as_json:
        facts = {name: views.analysis_json(one) for name, one in found.items()}
        click.echo(json.dumps({"delta": given["delta"], "segments": facts}, indent=2, allow_nan=False))
        return
    for name, one in found.items():
        screen.say(f"segment {name}:")
        screen.out.print(screen.laid_out_blocks(views.analysis_blocks(one)))
        screen.say()
    screen.say(f"delta = {given['delta']:g} for all {len(found)} segments together")


def _guess(file: str, arm_column: str | None, others: list[str | None], yes: bool, more: str) -> Guess:
    """Guess what the columns are, and say it with the command that states it; without ``yes``, that is all."""
    if file == "-":
        raise InputError("objectives", "must be given for standard input: --objective, once for each")
    guessed = guess(file, arm_column, but=others)
    said = [f"mobai: {guessed.arm} seems to name the arm; the metrics seem to be {', '.join(guessed.objectives)}"]
    said += [f"mobai: {text}" for text in guessed.left_out]
    said.append(f"mobai: if that is so, state it: {guessed.command(file)}{more}")
    if "LOW..HIGH" in guessed.command(file):
        said.append(
            "mobai: LOW and HIGH are what no value can leave, or a cap; known beforehand, not read off the data"
        )
    if not yes:
        said.append("mobai: or see what it would say, which is not certified, with --yes")
    for line in said:
        screen.err.print(line, soft_wrap=True)
    if not yes:
        raise click.exceptions.Exit(2)
    return guessed
