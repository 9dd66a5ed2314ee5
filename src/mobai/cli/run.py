"""``mobai run``: a command or a function measures the arms, until it is decided which are best."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Callable
from typing import Any

import click
from rich.live import Live
from rich.text import Text

from mobai import views
from mobai.cli import options, progress, screen
from mobai.cli.status import picture
from mobai.engine import Verdict, pair_up
from mobai.errors import InputError
from mobai.lab.instances import find_instance
from mobai.live.experiment import Experiment
from mobai.live.sampler import Outcome, Sampler, SamplerError, Step, command_sampler, function_sampler, run_sampler
from mobai.live.storage import open_journal
from mobai.problem import Problem
from mobai.rules.catalogue import rule_address, sampling_rule
from mobai.theory.confidence import delta_of


@click.command("run")
@click.argument("instance", metavar="[INSTANCE]", required=False)
@click.option("--command", "words", metavar="WORDS", help="Measure with this command; {arm} is the arm.")
@click.option("--sampler", metavar="MODULE:FUNCTION", help="Measure with this Python function of an arm.")
@options.arms_option(required=False)
@options.objectives_option(required=False)
@options.guardrails_option()
@options.baseline_option()
@options.delta_option()
@options.rule_option()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes the rule's choices.")
@click.option("--name", default="run", show_default=True, help="Name of the experiment in the storage.")
@click.option("--storage", envvar="MOBAI_STORAGE", metavar="URL", help="Keep it there, and resume from there.")
@click.option("--max-pulls", type=click.IntRange(min=1), help="Give up after this many.")
@click.option("--retries", type=click.IntRange(min=0), default=2, show_default=True, help="Attempts after a failure.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Arms measured at once.")
@click.option(
    "--on-refused",
    type=click.Choice(["stop", "drop"]),
    default="stop",
    show_default=True,
    help="When a value is none its family accepts: pause the experiment, or count the pull as lost.",
)
@options.rare_option()
@options.items_option()
@options.rounds_option()
@click.option(
    "--on-error",
    type=click.Choice(["stop", "worst"]),
    default="stop",
    show_default=True,
    help="With --items: after --retries stop, or count it as the worst there could be.",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds a command may take.")
@options.json_option()
# Options of the simulated run, mobai run INSTANCE, which still works.
@click.option("--threshold", default="mixture", hidden=True)
@click.option("--focus", is_flag=True, hidden=True)
def command(instance: str | None, words: str | None, sampler: str | None, as_json: bool, **given: Any) -> None:
    """Run a live experiment: measure the arms with --command or --sampler until it is decided which are best."""
    threshold, focus = given.pop("threshold"), given.pop("focus")
    if words and sampler:
        raise InputError("give either --command or --sampler")
    on_items = given["items"] is not None or given["rounds"]
    if on_items and (words or sampler):
        _on_items(words, sampler, as_json, given)
        return
    if options.was_given("on_error"):
        raise InputError("--on-error", "goes with --items or --rounds; elsewhere say --on-refused")
    for key in ("items", "rounds", "on_error"):
        given.pop(key)
    if words or sampler:
        if instance is not None or threshold != "mixture":
            raise InputError("a live run takes --arm and --objective, no instance, and the threshold mixture")
        measure = command_sampler(words, given["timeout"]) if words else function_sampler(sampler or "")
        _measure(measure, "command" if words else "sampler", as_json, **given)
    elif instance is None:
        raise InputError("give --command or --sampler to measure the arms; mobai simulate makes simulated runs")
    else:
        _simulated(instance, threshold, focus, as_json, given)


def _on_items(words: str | None, sampler: str | None, as_json: bool, given: dict[str, Any]) -> None:
    """Measure every arm on the same items."""
    from mobai.cli.items import items_stated, measure_on_items, run_on_items

    for key, instead in (("rule", "arms race"), ("on_refused", "say --on-error")):
        if options.was_given(key):
            raise InputError(f"--{key.replace('_', '-')}", f"is not for items and rounds: {instead}")
        given.pop(key)
    measure = measure_on_items(words, sampler, given.pop("timeout"))
    items = items_stated(given.pop("items"), given["rounds"])
    run_on_items(measure, items, as_json, **given)


def _simulated(instance: str, threshold: str, focus: bool, as_json: bool, given: dict[str, Any]) -> None:
    """Make the simulated run that ``mobai run INSTANCE`` once was, with a line of advice."""
    from mobai.cli.trial import simulate_one

    (policy,) = pair_up([given["rule"]], [threshold])
    most = given["max_pulls"] or 1_000_000
    found = find_instance(instance)
    screen.err.print(
        f"mobai: run is for live runs; a simulated one is: mobai simulate {instance} --trials 1 --watch", soft_wrap=True
    )
    simulate_one(found, policy, given["delta"], seed=given["seed"], max_pulls=most, focus=focus, as_json=as_json)


def _measure(measure: Sampler, source: str, as_json: bool, **given: Any) -> None:
    """Run the experiment and say what was found."""
    how = {key: given.pop(key) for key in ("retries", "max_pulls", "jobs", "on_refused")}
    given.pop("timeout")
    experiment = _open(given.pop("storage") or "memory:", **given)
    # Asked to end, it ends as with Ctrl-C: nothing stays pending.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Live(console=screen.err, auto_refresh=False, transient=True) as live:
        watch = _watcher(experiment, live)
        try:
            outcome = run_sampler(experiment, measure, watch=watch, **how)
        except SamplerError as error:
            raise InputError(f"{source}: {error}") from None
    _report(experiment, outcome, as_json)
    leave(outcome.ending, outcome.verdict)


def leave(ending: str, verdict: Verdict) -> None:
    """End with the exit code of how a run ended: 3 if something is open, 4 if nothing is certified."""
    if ending == "interrupted":
        raise click.Abort
    if not verdict.stopped:
        raise click.exceptions.Exit(3)
    if not verdict.certified:
        raise click.exceptions.Exit(4)


def _open(storage: str, name: str, arms: tuple[str, ...], objectives: tuple[str, ...], **choices: Any) -> Experiment:
    """Take up the experiment of this name, if it is the same one, or begin it."""
    journal = open_journal(storage, create=True)
    if name not in journal.names():
        if not arms or not objectives:
            raise InputError("--arm and --objective are needed, once for each")
        experiment = Experiment.create(journal, name, arms, objectives, **choices)
        if storage != "memory:":
            screen.err.print(f"mobai: created {name}", soft_wrap=True)
        options.say_objectives(experiment.problem, screen.err)
        return experiment
    experiment = Experiment.load(journal, name)
    limits = {key: choices[key] for key in ("guardrails", "baseline")}
    asked = Problem(arms, objectives, **limits) if arms and objectives else experiment.problem
    if asked != experiment.problem:
        raise InputError("name", f"the experiment {name!r} has other arms, objectives or limits; choose another name")
    _check_same(name, "delta", choices["delta"], delta_of(experiment.settings.log_inv_delta))
    asked_rule = rule_address(sampling_rule(choices["rule"]))
    _check_same(name, "rule", asked_rule, experiment.settings.rule_address)
    _check_same(name, "seed", choices["seed"], experiment.settings.seed)
    status = experiment.status()
    screen.err.print(f"mobai: resuming {name}, {status.verdict.pulls:,} pulls so far", soft_wrap=True)
    for remark in (*status.verdict.remarks, *views.held_up_texts(status)):
        screen.err.print(f"mobai: {remark}", soft_wrap=True)
    return experiment


def _check_same(name: str, key: str, asked: float | str, found: float | str) -> None:
    """Refuse to resume an experiment that was set up otherwise."""
    close = isinstance(asked, float) and isinstance(found, float) and math.isclose(asked, found, rel_tol=1e-9)
    if asked != found and not close:
        raise InputError(key, f"the experiment {name!r} has {found!r}, not {asked!r}; choose another name")


def _watcher(experiment: Experiment, live: Live) -> Callable[[Step], None]:
    log = progress.ProgressLog()

    def watch(step: Step) -> None:
        if step.failure is not None:
            screen.err.print(Text(f"mobai: measurement failed: {step.failure}", style="yellow"))
        if screen.err.is_terminal:
            live.update(picture(experiment.status()), refresh=True)
        else:
            decided = sum(decision is not None for decision in step.verdict.decisions)
            log(f"{step.verdict.pulls:,} pulls, {decided} of {len(step.verdict.decisions)} objectives decided")

    return watch


def _report(experiment: Experiment, outcome: Outcome, as_json: bool) -> None:
    status = experiment.status()
    if as_json:
        facts = {
            "ending": outcome.ending,
            "delta": status.verdict.delta,
            "failures": outcome.failures,
            "dropped": outcome.dropped,
            "refused": outcome.refused,
            "certified": status.verdict.certified,
            "remarks": status.verdict.remarks,
            "objectives": views.objective_rows(status.verdict),
            "intervals": views.intervals_json(status.verdict.problem, status.intervals),
        }
        click.echo(json.dumps(facts, indent=2))
        return
    screen.out.print(picture(status))
    screen.say()
    failed = f", {outcome.failures} failed measurements, {outcome.dropped} dropped" if outcome.failures else ""
    ending = {"max-pulls": "gave up at --max-pulls"}.get(outcome.ending, outcome.ending)
    screen.say(f"{ending}: {views.verdict_line(outcome.verdict)}{failed}")
    if status.verdict.certified and outcome.verdict.stopped:
        screen.say(views.certification("mixture", certified=True))
