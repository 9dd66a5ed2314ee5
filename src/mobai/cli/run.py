"""``mobai run``: one run of a rule, on an instance or against a real sampler."""

from __future__ import annotations

import json
from typing import Any

import click

from mobai import Policy, lower_bound, views
from mobai.cli import options, real, screen
from mobai.engine import pair_up
from mobai.errors import ConvergenceError, InputError
from mobai.lab.instances import find_instance
from mobai.lab.trial import Trial, run_trial
from mobai.problem import Instance
from mobai.rules.catalogue import SAMPLING
from mobai.rules.stopping import StoppingRule
from mobai.theory.thresholds import THRESHOLDS


@click.command("run")
@click.argument("instance", metavar="[INSTANCE]", required=False)
@options.delta_option()
@click.option(
    "--rule",
    default="top-two",
    show_default=True,
    metavar="RULE",
    help=f"How to choose arms: {', '.join(SAMPLING)}; options after a colon, as in mo-bai:eta=0.5.",
)
@click.option(
    "--threshold",
    default="mixture",
    show_default=True,
    metavar="NAME",
    help=f"When to stop: {', '.join(THRESHOLDS)}.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes the rule's choices.")
@click.option("--max-pulls", type=click.IntRange(min=1), help="Give up after this many; a simulation after 1,000,000.")
@options.focus_option()
@options.json_option()
@real.live_options
def command(
    instance: str | None,
    delta: float,
    rule: str,
    threshold: str,
    seed: int,
    max_pulls: int | None,
    focus: bool,
    as_json: bool,
    **live: Any,
) -> None:
    """Simulate one run on INSTANCE (a .csv or .json file, or ads, snw, synthetic:seed=0, remark2:eps=0.1).

    Or run a real experiment: --command or --sampler measures the arms given by --arm.
    """
    if live["command"] or live["sampler"]:
        if instance is not None or threshold != "mixture":
            raise InputError("a real run takes --arm and --objective, no instance, and the threshold mixture")
        real.run(delta=delta, rule=rule, seed=seed, max_pulls=max_pulls, as_json=as_json, **live)
    elif instance is None:
        raise InputError("give an INSTANCE to simulate, or --command or --sampler to measure")
    else:
        (policy,) = pair_up([rule], [threshold])
        _simulate(find_instance(instance), policy, delta, seed, max_pulls or 1_000_000, focus, as_json)


def _simulate(
    world: Instance, policy: Policy, delta: float, seed: int, max_pulls: int, focus: bool, as_json: bool
) -> None:
    with screen.Watch(policy.sampling.name, delta) as watch:
        trial = run_trial(world, policy, delta, seed=seed, max_pulls=max_pulls, focus=focus, watch=watch)
    if as_json:
        click.echo(json.dumps(_as_json(world, policy, trial, seed), indent=2))
    else:
        _report(world, policy, trial, delta)
    if trial.interrupted:
        raise click.Abort


def _bound(world: Instance, log_inv_delta: float) -> float | None:
    """Return the lower bound on samples, or None where there is none: a tie makes it infinite."""
    try:
        return lower_bound(world).samples(log_inv_delta=log_inv_delta)
    except (InputError, ConvergenceError):
        return None


def _as_json(world: Instance, policy: Policy, trial: Trial, seed: int) -> dict[str, object]:
    return {
        "rule": policy.sampling.name,
        "threshold": policy.stopping.name,
        "seed": seed,
        **views.verdict_json(trial.verdict),
        "intervals": views.intervals_json(world.problem, trial.intervals),
        "correct": trial.correct,
        "pulls_per_arm": dict(zip(world.arms, trial.pulls.tolist(), strict=True)),
        "lower_bound": _bound(world, trial.verdict.log_inv_delta),
    }


def _report(world: Instance, policy: Policy, trial: Trial, delta: float) -> None:
    verdict = trial.verdict
    screen.out.print(screen.verdict_table(verdict))
    screen.say()
    screen.out.print(screen.intervals_table(verdict, trial.intervals))
    screen.say()
    ending = "stopped" if verdict.stopped else "interrupted" if trial.interrupted else "gave up, undecided,"
    screen.say(f"{ending} after {verdict.pulls:,} pulls with {policy.sampling.name}, delta = {delta:g}")
    bound = _bound(world, verdict.log_inv_delta)
    if bound is not None:
        screen.say(f"lower bound on the mean of any rule: {bound:,.0f} pulls")
    screen.say(f"every recommended arm is {'right' if trial.correct else 'NOT right'} (the true means are known here)")
    screen.say(certification(policy.stopping))


def certification(stopping: StoppingRule) -> str:
    """Say whether delta is proven."""
    if stopping.certified:
        return f"threshold {stopping.name}: certified, the error probability is proven to be at most delta"
    return f"threshold {stopping.name}: not certified, its error probability can exceed delta"
