"""The real half of ``mobai run``: a command or a function measures the arms, until it is decided which are best."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import click
from rich.live import Live
from rich.text import Text

from mobai import views
from mobai.cli import options, screen
from mobai.cli.status import picture
from mobai.errors import InputError
from mobai.live.experiment import Experiment
from mobai.live.sampler import Outcome, Sampler, SamplerError, Step, command_sampler, function_sampler, run_sampler
from mobai.live.storage import open_journal
from mobai.problem import Problem
from mobai.rules.catalogue import rule_spec


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of real runs."""
    added: list[options.Decorator] = [
        click.option("--command", "command", metavar="WORDS", help="Measure with this command; {arm} is the arm."),
        click.option("--sampler", metavar="MODULE:FUNCTION", help="Measure with this Python function of an arm."),
        options.arms_option(required=False),
        options.objectives_option(required=False),
        click.option("--name", default="run", show_default=True, help="Name of the experiment in the storage."),
        click.option("--storage", envvar="MOBAI_STORAGE", metavar="URL", help="Keep it there, and resume from there."),
        click.option("--retries", type=click.IntRange(min=0), default=2, show_default=True, help="After a failure."),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds a command may take."),
    ]
    for option in reversed(added):
        command = option(command)
    return command


def run(
    *,
    command: str | None,
    sampler: str | None,
    arms: tuple[str, ...],
    objectives: tuple[str, ...],
    name: str,
    storage: str | None,
    retries: int,
    timeout: float | None,
    delta: float,
    rule: str,
    seed: int,
    max_pulls: int | None,
    as_json: bool,
) -> None:
    """Run the experiment and say what was found."""
    if command and sampler:
        raise InputError("give either --command or --sampler")
    measure: Sampler = command_sampler(command, timeout) if command else function_sampler(sampler or "")
    experiment = _open(storage or "memory:", name, arms, objectives, delta=delta, rule=rule, seed=seed)
    with Live(console=screen.err, auto_refresh=False, transient=True) as live:
        try:
            outcome = run_sampler(
                experiment, measure, max_pulls=max_pulls, retries=retries, watch=_watcher(experiment, live)
            )
        except SamplerError as error:
            raise InputError(f"{'command' if command else 'sampler'}: {error}") from None
    _report(experiment, outcome, as_json)
    if outcome.ending == "interrupted":
        raise click.Abort


def _open(storage: str, name: str, arms: tuple[str, ...], objectives: tuple[str, ...], **settings: Any) -> Experiment:
    """Take up the experiment of this name, if it is the same one, or begin it."""
    journal = open_journal(storage, create=True)
    if name not in journal.names():
        if not arms or not objectives:
            raise InputError("--arm and --objective are needed, once for each")
        return Experiment.create(journal, name, arms, objectives, **settings)
    experiment = Experiment.load(journal, name)
    asked = Problem(arms, objectives) if arms and objectives else experiment.problem
    if (asked.arms, asked.objectives) != (experiment.problem.arms, experiment.problem.objectives):
        raise InputError(f"name: the experiment {name!r} has other arms or objectives; choose another name")
    _check_same(name, "delta", settings["delta"], math.exp(-experiment.settings.log_inv_delta))
    _check_same(name, "rule", settings["rule"], rule_spec(experiment.settings.rule))
    _check_same(name, "seed", settings["seed"], experiment.settings.seed)
    return experiment


def _check_same(name: str, key: str, asked: float | str, found: float | str) -> None:
    """Refuse to resume an experiment that was set up otherwise."""
    close = isinstance(asked, float) and isinstance(found, float) and math.isclose(asked, found, rel_tol=1e-9)
    if asked != found and not close:
        raise InputError(f"{key}: the experiment {name!r} has {found!r}, not {asked!r}; choose another name")


def _watcher(experiment: Experiment, live: Live) -> Callable[[Step], None]:
    def watch(step: Step) -> None:
        if step.problem is not None:
            screen.err.print(Text(f"mobai: measurement failed: {step.problem}", style="yellow"))
        if screen.err.is_terminal:
            live.update(picture(experiment.status()), refresh=True)

    return watch


def _report(experiment: Experiment, outcome: Outcome, as_json: bool) -> None:
    status = experiment.status()
    if as_json:
        facts = {
            "ending": outcome.ending,
            "delta": status.verdict.delta,
            "failures": outcome.failures,
            "dropped": outcome.dropped,
        }
        intervals = views.intervals_json(status.verdict.problem, status.intervals)
        click.echo(
            json.dumps({**facts, "objectives": views.objective_rows(status.verdict), "intervals": intervals}, indent=2)
        )
        return
    screen.out.print(picture(status))
    screen.say()
    failed = f", {outcome.failures} failed measurements, {outcome.dropped} dropped" if outcome.failures else ""
    screen.say(f"{outcome.ending} after {outcome.verdict.pulls:,} pulls{failed}")
    screen.say("threshold mixture: certified, the error probability is proven to be at most delta")
