"""``mobai bench``: which command is fastest, timed in rounds until it is known."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mobai import views
from mobai.cli import options, screen
from mobai.errors import InputError
from mobai.kernels import interpret

if TYPE_CHECKING:
    from mobai.timing import Command, CommandRunner, Timing

_SLOWER, _FAILED, _OPEN = 1, 1, 3


@click.command("bench")
@click.argument("commands", nargs=-1, required=True, metavar="COMMAND...")
@click.option("-n", "--name", "--command-name", "names", multiple=True, help="What commands are called, in order.")
@click.option("-w", "--warmup", type=click.IntRange(0), default=0, help="Rounds that do not count, to fill caches.")
@click.option("-p", "--prepare", multiple=True, metavar="COMMAND", help="Run before each run; once, or per command.")
@click.option("-s", "--setup", metavar="COMMAND", help="Run once before all, per set of parameters.")
@click.option("-c", "--cleanup", metavar="COMMAND", help="Run once after all, per set of parameters.")
@click.option(
    "-L",
    "--parameter-list",
    nargs=2,
    multiple=True,
    metavar="NAME A,B,C",
    help="Time a command for each of these values in place of {NAME}.",
)
@click.option("-S", "--shell", metavar="SHELL", help='The shell, or "none"; sh where one is needed, unless given.')
@click.option("-N", "no_shell", is_flag=True, help="No shell: the same as --shell=none.")
@click.option("-i", "--ignore-failure", is_flag=True, help="Time commands that end with another exit code than 0.")
@click.option("--show-output", is_flag=True, help="Show what commands print.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    type=click.Choice(["seconds", "user", "memory"]),
    help="What to decide on, once for each: wall time (unless given), user time, peak memory.",
)
@click.option("--at-least", default="0", metavar="SHARE", help="A round is won by that much at least: 3%.")
@click.option("-M", "--max-rounds", "--max-runs", type=click.IntRange(1), default=100, show_default=True)
@click.option(
    "--fail-if-slower",
    nargs=2,
    metavar="BASELINE SHARE",
    help="Only say who is slower than this command by more than that, such as 5%; exit code 1 if anybody is.",
)
@click.option("--fail-if-open", is_flag=True, help="With --fail-if-slower: exit code 3 if that is not known of all.")
@options.delta_option()
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Fixes the order in each round.")
@click.option("--export-json", metavar="FILE", help="Everything, with the fields that hyperfine writes.")
@click.option("--export-csv", metavar="FILE", help="A row per command, with hyperfine's columns.")
@click.option("--export-markdown", metavar="FILE", help="A table for a page.")
@options.json_option()
def command(
    commands: tuple[str, ...],
    names: tuple[str, ...],
    warmup: int,
    prepare: tuple[str, ...],
    setup: str | None,
    cleanup: str | None,
    parameter_list: tuple[tuple[str, str], ...],
    shell: str | None,
    no_shell: bool,
    ignore_failure: bool,
    show_output: bool,
    metrics: tuple[str, ...],
    at_least: str,
    max_rounds: int,
    fail_if_slower: tuple[str, str] | None,
    fail_if_open: bool,
    delta: float,
    seed: int,
    export_json: str | None,
    export_csv: str | None,
    export_markdown: str | None,
    as_json: bool,
) -> None:
    """Time commands until it is known which one is fastest, in more rounds than any other.

    Every round runs all that may still be fastest, once each and in a random order, so that what slows the machine
    down for a while makes nobody look faster. Clear differences take ten to fifteen rounds.
    """
    interpret()
    from mobai.timing import CommandError, CommandRunner, expand, time_rounds

    if fail_if_open and fail_if_slower is None:
        raise InputError("--fail-if-open", "needs --fail-if-slower")
    baseline = None if fail_if_slower is None else fail_if_slower[0]
    shares = {"at_least": _share("--at-least", at_least)}
    if fail_if_slower is not None:
        if metrics or shares["at_least"]:
            raise InputError("--fail-if-slower", "must come without --metric and --at-least: it is about wall time")
        shares["slower_by"] = _share("--fail-if-slower", fail_if_slower[1])
    listed = expand(commands, names, _parameters(parameter_list))
    if baseline is not None and baseline not in [one.name for one in listed]:
        baseline = next((one.name for one in listed if one.text == baseline), baseline)
    exports = [(export_json, _json), (export_csv, _csv), (export_markdown, _markdown)]
    for path in [path for path, _ in exports if path not in (None, "-")]:
        if Path(path).is_dir():
            raise InputError("--export", f"must be a file, not the folder {path}")
        if not Path(path).absolute().parent.is_dir():
            raise InputError("--export", f"there is no folder {Path(path).absolute().parent}")
    runner = CommandRunner(
        listed,
        shell="" if no_shell or shell == "none" else shell,
        prepare=prepare,
        ignore_failure=ignore_failure,
        show_output=show_output,
    )
    try:
        with runner:
            _each(setup, listed, runner)
            for _ in range(warmup):
                for one in listed:
                    runner.measure(one.name)
            timing = time_rounds(
                [one.name for one in listed],
                runner.measure,
                metrics=tuple(dict.fromkeys(metrics)) or ("seconds",),
                delta=delta,
                max_rounds=max_rounds,
                baseline=baseline,
                seed=seed,
                watch=_Progress(max_rounds),
                **shares,
            )
            _each(cleanup, listed, runner)
    except CommandError as error:
        screen.err.print(f"mobai: {error}", markup=False, highlight=False, soft_wrap=True)
        raise click.exceptions.Exit(_FAILED) from None
    parameters = {one.name: one.parameters for one in listed}
    if as_json:
        click.echo(_json(timing, parameters), nl=False)
    else:
        screen.out.print(screen.laid_out(views.timing_table(timing), firm=True))
        for line in views.timing_lines(timing):
            screen.say(line)
    for file, write in exports:
        if file == "-":
            click.echo(write(timing, parameters), nl=False)
        elif file is not None:
            Path(file).write_text(write(timing, parameters), encoding="utf-8")
    if timing.ending == "interrupted":
        raise click.exceptions.Exit(130)
    states = timing.slower().values()
    if any(states):
        raise click.exceptions.Exit(_SLOWER)
    if fail_if_open and None in states:
        raise click.exceptions.Exit(_OPEN)


def _share(option: str, text: str) -> float:
    """Return a share that may be given in percent."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    if found is None:
        raise InputError(option, f"must be a share such as 5% or 0.05, not {text!r}")
    share = float(found[1]) / (100 if found[2] else 1)
    if share >= 1 and not found[2]:
        raise InputError(option, f"must be a share such as 5% or 0.05, not {text}; did you mean {text.strip()}%?")
    return share


def _parameters(given: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, values in given:
        if name in found:
            raise InputError("--parameter-list", f"has {name!r} twice")
        found[name] = [value.strip() for value in values.split(",")]
    return found


def _each(text: str | None, listed: list[Command], runner: CommandRunner) -> None:
    """Run a text once for each combination of parameters."""
    for filled in dict.fromkeys(one.filled(text) for one in listed) if text is not None else ():
        runner.run(filled)


def _json(timing: Timing, parameters: Mapping[str, Mapping[str, str]]) -> str:
    return views.timing_json(timing, parameters)


def _csv(timing: Timing, parameters: Mapping[str, Mapping[str, str]]) -> str:
    return views.timing_csv(timing, parameters)


def _markdown(timing: Timing, parameters: Mapping[str, Mapping[str, str]]) -> str:  # noqa: ARG001
    return views.timing_markdown(timing)


class _Progress:
    """Says the round and who looks fastest, in a terminal."""

    def __init__(self, most: int) -> None:
        self._most, self._shows = most, sys.stderr.isatty()

    def __call__(self, timing: Timing) -> None:
        if not self._shows:
            return
        text = f"mobai: round {timing.rounds} of at most {self._most}; {timing.best_looking()} looks fastest"
        sys.stderr.write(f"\r\x1b[K{text[:100]}" if timing.ending == "running" else "\r\x1b[K")
        sys.stderr.flush()
