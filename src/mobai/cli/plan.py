"""``mobai plan``: before the first sample, how many will it take and where should they go?"""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from mobai import LowerBound
from mobai.analysis.items import table_of
from mobai.analysis.logs import Log, read_log
from mobai.cli import options, screen
from mobai.errors import InputError
from mobai.lab.instances import find_instance
from mobai.lab.plan import Plan, make_plan
from mobai.problem import Instance
from mobai.theory.confidence import check_small, resolve_log_inv_delta

_MOST_ROWS = 30
_RACES = 50


@click.command("plan")
@options.instance_argument()
@options.guardrails_option()
@options.baseline_option()
@options.costs_options()
@options.delta_option()
@click.option("--item-column", metavar="COLUMN", help="INSTANCE is a table of results: plan a race over such items.")
@click.option("--arm-column", default="arm", show_default=True, help="With --item-column: the column of the arm.")
@options.objectives_option(required=False)
@options.json_option()
def command(
    source: str,
    delta: float,
    item_column: str | None,
    arm_column: str,
    objectives: tuple[str, ...],
    as_json: bool,
    **limits: Any,
) -> None:
    """Plan an experiment on INSTANCE: what you expect the means and noise to be, as .csv or .json.

    With --item-column, INSTANCE is a table of results of a pilot: a row per arm and item.
    """
    check_small(delta)
    log_inv_delta = resolve_log_inv_delta(delta)
    if item_column is not None:
        if limits["guardrails"]:
            raise InputError("--guardrail", "is not for items yet: limits take samples of each arm")
        _plan_races(read_log(source, objectives, arm=arm_column, item=item_column), delta, as_json)
        return
    if objectives:
        raise InputError("--objective", "goes with --item-column; an instance states its own")
    instance = find_instance(source, **limits)
    with screen.working("solving"):
        plan = make_plan(instance, log_inv_delta)
    if as_json:
        click.echo(json.dumps({"delta": delta, **plan.facts}, indent=2))
    else:
        _report(plan, delta)


def _plan_races(pilot: Log, delta: float, as_json: bool) -> None:
    """Say how many measurements races over the items of a pilot take, in random orders."""
    from mobai.lab.tables import TableInstance

    table = table_of(pilot, pilot.items or ())
    complete = table[~np.isnan(table).any(axis=(1, 2))]
    if len(complete) < 2:
        raise InputError("--item-column", "two items at least must have been measured for every arm, in every metric")
    instance = TableInstance(complete, pilot.problem.arms, pilot.problem.objectives)
    with screen.working("racing"):
        races = {name: instance.race(name, delta=delta, trials=_RACES) for name in ("items", "stream")}
    rows = {name: [float(np.quantile(one.measurements, q)) for q in (0.1, 0.5, 0.9)] for name, one in races.items()}
    if as_json:
        click.echo(json.dumps({"delta": delta, "all": races["items"].whole, "measurements": rows}, indent=2))
        return
    shown = screen.plain_table("measurements", ">a tenth take less", ">half", ">a tenth take more")
    words = {"items": f"these {len(complete):,} items, and no others", "stream": "new items like these"}
    left_out = len(table) - len(complete)
    if left_out:
        screen.err.print(f"mobai: {left_out:,} of {len(table):,} items are left out: not measured for every arm")
    for name, numbers in rows.items():
        shown.add_row(words[name], *(f"{number:,.0f}" for number in numbers))
    screen.out.print(shown)
    screen.say(f"all arms on all of these items: {races['items'].whole:,}; {_RACES} races in random orders each, at")
    screen.say(f"delta = {delta:g}. That is what races over this very table take; a pilot is not the truth.")


def _report(plan: Plan, delta: float) -> None:
    instance, bound = plan.instance, plan.bound
    best = screen.plain_table("objective", "best arm")
    for m, objective in enumerate(instance.objectives):
        best.add_row(f"{objective.name} ({objective.direction})", instance.arms[bound.answers[m]])
    screen.out.print(best)
    for guardrail, keeps in zip(instance.problem.guardrails, instance.keeping_limits().T, strict=True):
        broken = [arm for arm, kept in zip(instance.arms, keeps, strict=True) if not kept]
        screen.say(f"{guardrail.metric} {guardrail.words}: broken by {', '.join(broken) or 'none'}")
    for m, objective in enumerate(instance.objectives):
        ahead = instance.arms[int(instance.oriented_means[:, m].argmax())]
        if ahead != instance.arms[bound.answers[m]]:
            screen.say(f"{objective.name}: {ahead} would be best, and breaks a limit")
    screen.say()
    _print_shares(instance, bound)
    screen.say()
    costs = instance.problem.costs
    spends = [] if costs is None else [f">spend ({costs.counted_in or 'in units of the costs'})"]
    table = screen.plain_table(">samples", *spends, f"at delta = {delta:g}")
    what = (
        f"lower bound on the mean {'' if costs is None else 'spend '}of any rule (c* = {bound.value:.6g})",
        "expected with a certified stop and these shares",
        "expected with a certified stop and uniform sampling",
    )
    paid = [[f"{spend:,.2f}"] for spend in plan.spends] if plan.spends else [[], [], []]
    for samples, spend, words in zip((plan.lowest, plan.expected, plan.uniform), paid, what, strict=True):
        table.add_row(f"{samples:,.0f}", *spend, words)
    screen.out.print(table)
    screen.say()
    screen.say(f"c* is certified to a relative gap of {bound.gap:.1g}; expectations are noise-free forecasts with the")
    screen.say("threshold mixture, which is certified: its error probability is proven to be at most delta.")
    if not bound.exact:
        screen.say("The lower bound is that of Gaussian rewards with the same means and standard deviations.")
    screen.say()
    if instance.problem.guardrails:
        return
    pairs = screen.plain_table("bottleneck: objective", "best", "rival", ">share of the difficulty")
    for name, first, rival, share in plan.bottlenecks:
        pairs.add_row(name, first, rival, f"{share:.1%}")
    screen.out.print(pairs)


def _print_shares(instance: Instance, bound: LowerBound) -> None:
    shares = screen.plain_table("arm", "optimal share of the samples", "")
    order = np.argsort(-bound.weights, kind="stable")
    for arm in sorted(order[:_MOST_ROWS].tolist()) if len(order) <= _MOST_ROWS else order[:_MOST_ROWS].tolist():
        weight = float(bound.weights[arm])
        shares.add_row(instance.arms[arm], screen.bar(weight / float(bound.weights.max())), f"{weight:.2%}")
    screen.out.print(shares)
    if len(order) > _MOST_ROWS:
        rest = float(bound.weights[order[_MOST_ROWS:]].sum())
        screen.say(f"... and {len(order) - _MOST_ROWS} more arms with {rest:.2%} together (all of them with --json)")
