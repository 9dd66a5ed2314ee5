"""``mobai create``: begin a live experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mobai import views
from mobai.analysis.logs import ASSUMPTION, read_log
from mobai.cli import loading, options, screen
from mobai.errors import InputError
from mobai.kernels import interpret
from mobai.live.experiment_file import EXAMPLE, read_experiment
from mobai.problem.codec import STATED, stated_problem
from mobai.rows import read_rows

if TYPE_CHECKING:
    from mobai.live.settings import Settings


@click.command("create")
@click.argument("name", metavar="NAME", required=False)
@options.arms_option(required=False)
@options.objectives_option(required=False)
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
@options.costs_options()
@click.option("--max-cost", type=float, metavar="AMOUNT", help="Hand out nothing once samples have cost this much.")
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
@click.option("--example", is_flag=True, help="Print an experiment as a file, with comments, and make nothing.")
@click.option("--check", is_flag=True, help="Say what would be made and what it takes, and make nothing.")
@options.items_option()
@options.rounds_option()
@click.option("--ahead", type=click.IntRange(min=1), help="Of items: how far arms may run ahead of each other.")
@click.option(
    "--segment",
    "segments",
    multiple=True,
    callback=options.split_at_commas,
    help="A group of visitors, once for each: an experiment in every one, NAME@SEGMENT, all under one delta; with "
    "young=0.4, its share of all visitors.",
)
@options.storage_option()
@click.option("--from", "log", metavar="FILE", help="Take the rows of a log over as its first answers.")
@click.option("--arm-column", default="arm", show_default=True, help="The column of the log that names the arm.")
def command(
    name: str | None,
    example: bool,
    check: bool,
    arms: tuple[str, ...],
    objectives: tuple[str, ...],
    storage: str,
    log: str | None,
    arm_column: str,
    no_focus: bool,
    segments: tuple[str, ...],
    **choices: Any,
) -> None:
    """Begin the experiment NAME, or the one that the file NAME.toml describes."""
    if example:
        click.echo(EXAMPLE, nl=False)
        return
    if name is None:
        raise InputError("NAME", "is missing: a name, or a file such as landing.toml (`mobai create --example`)")
    if name.lower().endswith(".toml"):
        stated = read_experiment(name)
        name, in_file = stated.pop("name"), (stated.pop("arms"), stated.pop("objectives"))
        arms, objectives = arms or in_file[0], objectives or in_file[1]
        no_focus = not stated.pop("focus", True) or no_focus
        choices |= {key: value for key, value in stated.items() if not options.was_given(key)}
    elif not objectives:
        raise InputError("--objective", "is missing; once for each metric")
    if isinstance(choices["items"], str):
        choices["items"] = items_named(choices["items"])
    if check and segments:
        raise InputError("--segment", "must come without --check")
    if check:
        _check(name, arms, objectives, {**choices, "focus": not no_focus})
        return
    if storage == "memory:":
        raise InputError("storage", "memory: is gone when this command ends; give sqlite:///FILE")
    limits = {key: choices[key] for key in ("guardrails", "baseline")}
    found = (
        None
        if log is None
        else read_log(log, objectives, arm=arm_column, arms=arms or None, sd=choices.get("sd"), **limits)
    )
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
    if segments:
        if found is not None:
            raise InputError("--segment", "must come without --from")
        _begin_segments(storage, name, arms, objectives, segments, {**choices, "focus": not no_focus})
        return
    known = arms if found is None else found.problem.arms
    experiment = Experiment.create(storage, name, known, objectives, focus=not no_focus, **choices)
    if found is not None:
        experiment.record_all(found.rows())
    metrics = views.plural(len(objectives), "objective")
    screen.say(f"created {name}: {len(known)} arms, {metrics}, delta = {choices['delta']:g}")
    options.say_objectives(experiment.problem)
    if choices.get("max_cost") is not None:
        unit = experiment.problem.costs.counted_in if experiment.problem.costs is not None else ""
        screen.say(f"  nothing is handed out once samples have cost {choices['max_cost']:g} {unit}".rstrip())
    if found is not None:
        screen.say(f"took over {len(found.arms):,} rows of {log}; {views.verdict_line(experiment.verdict())}")
        screen.say(ASSUMPTION)


def _begin_segments(
    storage: str,
    name: str,
    arms: Sequence[str],
    objectives: Sequence[str],
    segments: Sequence[str],
    choices: dict[str, Any],
) -> None:
    """Begin an experiment in every segment."""
    from mobai.live.segments import Segments

    shares = _shares_in(segments)
    named = list(segments if shares is None else shares)
    made = Segments.create(storage, name, arms, objectives, named, shares=shares, **choices)
    screen.say(f"created {name} in {views.plural(len(made), 'segment')}, delta = {made.delta:g} for all of them:")
    for experiment in made.values():
        screen.say(f"  {experiment.name}")
    screen.say(
        f"`mobai ask '{next(iter(made.values())).name}'` hands out, `mobai segments '{name}'` shows them together"
    )


def _shares_in(segments: Sequence[str]) -> dict[str, float] | None:
    """Return the shares in ``young=0.4``; None if no segment states one."""
    if not any("=" in one for one in segments):
        return None
    found: dict[str, float] = {}
    for one in segments:
        segment, equals, share = one.rpartition("=")
        try:
            found[segment] = float(share) if equals else math.nan
        except ValueError:
            found[segment] = math.nan
        if not math.isfinite(found[segment]):
            raise InputError("--segment", f"must be a name, or all of them a name and a share, young=0.4, not {one!r}")
    return found


def items_named(text: str) -> Any:
    """Return what ``--items`` says: how many there are, ``stream``, or the names in a file: its column id, or item."""
    if text.isdecimal() or text == "stream":
        return int(text) if text.isdecimal() else text
    rows = read_rows(text)
    column = next((name for name in ("id", "item", "name") if rows and name in rows[0]), None)
    return len(rows) if column is None else [str(row[column]) for row in rows]


def _check(name: str, arms: Sequence[str], objectives: Sequence[str], choices: dict[str, Any]) -> None:
    """Say what would be made, and what it takes."""
    interpret()
    from mobai.live.assigning import check_name
    from mobai.live.settings import check_beginning, new_settings
    from mobai.theory.confidence import delta_of

    check_name(name)
    problem = stated_problem(arms, objectives, **{key: choices.pop(key) for key in STATED if key in choices})
    settings = new_settings(problem, **choices)
    check_beginning(settings)
    size = f"{len(problem.arms)} arms, {views.plural(len(problem.objectives), 'objective')}"
    screen.say(f"would create {name}: {size}, delta = {delta_of(settings.log_inv_delta):g}; nothing is made")
    options.say_objectives(problem)
    if problem.design is not None:
        return
    half, tenth = (f"{_samples(settings, gap):,}" for gap in (0.5, 0.1))
    screen.say(
        f"to tell two arms apart that differ by half a standard deviation takes about {half} samples of each, by a "
        f"tenth of one about {tenth} (`mobai plan` for what you expect)"
    )


def _samples(settings: Settings, gap: float) -> int:
    """Return how many samples of each of two arms decide, if they are a number of standard deviations apart."""
    low, high = 1, 2
    while not _is_enough(settings, gap, high):
        low, high = high, 2 * high
    while high - low > max(low // 50, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if _is_enough(settings, gap, middle) else (middle, high)
    return int(float(f"{high:.2g}"))


def _is_enough(settings: Settings, gap: float, n: int) -> bool:
    arms, objectives = settings.problem.shape
    counts = {"pulls": n * arms, "leader_pulls": n, "other_pulls": n}
    from mobai.theory.thresholds import threshold

    needed = threshold("mixture", settings.log_inv_delta, arms=arms, objectives=objectives, **counts)
    return n * gap * gap / 4 > needed
