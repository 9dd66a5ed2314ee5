"""``mobai create``: begin a live experiment."""

from __future__ import annotations

from typing import Any

import click

from mobai import views
from mobai.analysis.logs import ASSUMPTION, read_log
from mobai.cli import loading, options, screen
from mobai.errors import InputError
from mobai.kernels import interpret


@click.command("create")
@options.name_argument()
@options.arms_option(required=False)
@options.objectives_option()
@options.guardrails_option()
@options.baseline_option()
@click.option(
    "--on-broken",
    type=click.Choice(["bar", "tell"]),
    default="bar",
    show_default=True,
    help="An arm that breaks a limit is asked for no more, or only told of.",
)
@click.option("--max-samples", type=click.IntRange(min=1), help="Hand out no more once there are this many.")
@click.option("--until", metavar="TIME", help="Hand out nothing after this time, such as 2030-01-31T12:00 (UTC).")
@options.delta_option()
@options.rule_option()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes the rule's own choices.")
@click.option(
    "--expire-after",
    type=float,
    metavar="SECONDS",
    help="Then what is missing of an assignment is left out, whatever comes later.",
)
@options.rare_option()
@click.option(
    "--order",
    type=click.Choice(["asked", "told"]),
    default="asked",
    show_default=True,
    help="How evidence reads results; told only if delays have nothing to do with values.",
)
@click.option("--reserve", type=float, default=0.1, show_default=True, help="Share of delta for changes of arms.")
@click.option("--interval-share", type=float, default=0.1, show_default=True, help="Share of delta for the intervals.")
@click.option("--allow-large-delta", is_flag=True, help="Take a delta of 0.5 or more for what is meant.")
@click.option("--no-focus", is_flag=True, help="Go on sampling for objectives that are decided.")
@options.storage_option()
@click.option("--from", "log", metavar="FILE", help="Take the rows of a log over as its first answers.")
@click.option("--arm-column", default="arm", show_default=True, help="The column of the log that names the arm.")
def command(
    name: str,
    arms: tuple[str, ...],
    objectives: tuple[str, ...],
    storage: str,
    log: str | None,
    arm_column: str,
    no_focus: bool,
    **choices: Any,
) -> None:
    """Begin the experiment NAME."""
    if storage == "memory:":
        raise InputError("storage", "memory: is gone when this command ends; give sqlite:///FILE")
    limits = {key: choices[key] for key in ("guardrails", "baseline")}
    found = None if log is None else read_log(log, objectives, arm=arm_column, arms=arms or None, **limits)
    if found is None and not arms:
        raise InputError("--arm is needed, once for each, or --from")
    if found is None or len(found.arms) <= loading.MOST_REPORTS:
        interpret()
    # Only now: importing it imports the kernels, one way or the other.
    from mobai.live.experiment import Experiment
    from mobai.live.operations import MOST_REPORTED_OVER_HTTP as MOST

    if found is not None and storage.lower().startswith("http") and len(found.arms) > MOST:
        raise InputError(
            "--from",
            f"a service takes over at most {MOST:,} rows, not {len(found.arms):,}; "
            "create the experiment where its storage is",
        )
    known = arms if found is None else found.problem.arms
    experiment = Experiment.create(storage, name, known, objectives, focus=not no_focus, **choices)
    if found is not None:
        experiment.record_all(found.rows())
    metrics = views.plural(len(objectives), "objective")
    screen.say(f"created {name}: {len(known)} arms, {metrics}, delta = {choices['delta']:g}")
    options.say_objectives(experiment.problem)
    if found is not None:
        screen.say(f"took over {len(found.arms):,} rows of {log}; {views.verdict_line(experiment.verdict())}")
        screen.say(ASSUMPTION)
