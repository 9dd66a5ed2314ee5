"""``mobai simulate``: many trials of several rules, on all cores, in one table."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import click

from mobai import Policy, Results, simulate
from mobai.cli import options, screen
from mobai.cli.progress import Bar
from mobai.cli.trial import simulate_one
from mobai.engine import pair_up
from mobai.errors import InputError
from mobai.lab.arguments import MOST_PULLS
from mobai.lab.instances import find_instance
from mobai.lab.summary import Summary
from mobai.problem import Instance
from mobai.problem.codec import COST_FIELDS
from mobai.rules.catalogue import SAMPLING
from mobai.theory.thresholds import THRESHOLDS


@click.command("simulate")
@options.instance_argument()
@options.guardrails_option()
@options.baseline_option()
@options.costs_options()
@click.option(
    "--rule",
    "rules",
    multiple=True,
    default=("top-two",),
    metavar="RULE",
    help=f"How to choose arms, once or several times: {', '.join(SAMPLING)}; options as in mo-bai:eta=0.5.",
)
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    default=("mixture",),
    metavar="NAME",
    help=f"When to stop, once or several times: {', '.join(THRESHOLDS)}. Default: mixture.",
)
@click.option(
    "--delta", "deltas", type=float, multiple=True, help="Error probability, once or several times. Default: 0.05."
)
@click.option("--log-inv-delta", "log_inv_deltas", type=float, multiple=True, help="The same as log(1/delta).")
@click.option("--trials", type=click.IntRange(min=1), default=100, show_default=True, help="Trials of each rule.")
@click.option("-j", "--jobs", type=int, default=1, show_default=True, help="Worker processes, -1 for all cores.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes every trial.")
@click.option(
    "--max-pulls",
    type=click.IntRange(min=1),
    help="Give a trial up after this many: 10,000,000 unless given; must be given where the best arms are tied.",
)
@options.focus_option()
@click.option("--out", type=click.Path(dir_okay=False), help="Parquet file to write to, and to resume from; or .csv.")
@click.option("--watch", is_flag=True, help="Draw the evidence of a single run while it goes; with --trials 1.")
@options.json_option()
def command(
    source: str,
    rules: tuple[str, ...],
    thresholds: tuple[str, ...],
    jobs: int,
    out: str | None,
    watch: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Simulate rules on INSTANCE: a .csv or .json file, or ads, snw, synthetic:seed=0, remark2:eps=0.1."""
    more = {key: given.pop(key) for key in ("guardrails", "baseline", *COST_FIELDS)}
    instance, policies = find_instance(source, **more), pair_up(rules, thresholds)
    if watch:
        _watched(instance, policies, out, as_json, **given)
        return
    with Bar() as bar:
        results = simulate(instance, policies, n_jobs=jobs, out=out, watch=bar, **_options(given))
    with screen.working("lower bound"):
        summary = results.summary()
    if as_json:
        click.echo(json.dumps(_as_json(results, summary), indent=2, allow_nan=False))
    else:
        screen.say(str(summary))
    _say_what_is_missing(results, out)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options by the names of :func:`mobai.simulate`; an empty tuple was not given."""
    return {key: None if value == () else value for key, value in given.items()}


def _watched(
    instance: Instance, policies: Sequence[Policy], out: str | None, as_json: bool, *, trials: int, **given: Any
) -> None:
    """Run one trial and draw it."""
    deltas = [*given.pop("deltas"), *(math.exp(-x) for x in given.pop("log_inv_deltas"))] or [0.05]
    if trials != 1 or len(policies) != 1 or len(deltas) != 1 or out is not None:
        raise InputError("--watch draws one run: give --trials 1, one rule, one threshold, one delta and no --out")
    given["max_pulls"] = given["max_pulls"] or MOST_PULLS
    simulate_one(instance, policies[0], deltas[0], as_json=as_json, **given)


def _as_json(results: Results, summary: Summary) -> dict[str, object]:
    return {
        "config": results.config,
        "missing": results.missing,
        "summary": [
            # One trial has no interval, and JSON no infinity.
            {**row._asdict(), "mean_interval": row.mean_interval if row.trials > 1 else None, "ratio": row.ratio}
            for row in summary
        ],
    }


def _say_what_is_missing(results: Results, out: str | None) -> None:
    if results.complete:
        return
    missing = ", ".join(f"{len(trials)} of {rule}" for rule, trials in results.missing.items())
    resume = "the same command goes on from there" if out else "--out would have kept the finished ones"
    screen.err.print(f"mobai: {results.ending}; trials missing: {missing}; {resume}", soft_wrap=True)
    raise click.exceptions.Exit(130 if results.ending == "interrupted" else 1)
