"""``mobai demo``: six adverts, three metrics, one certified answer each."""

from __future__ import annotations

import math

import click

from mobai import Policy, TopTwo, Uniform, lower_bound, views
from mobai.cli import options, screen
from mobai.cli.serve import serve_storage
from mobai.lab.instances import ads
from mobai.lab.trial import Trial, run_trial
from mobai.store.journal import MemoryJournal
from mobai.theory.confidence import resolve_log_inv_delta


@click.command("demo")
@options.delta_option()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Fixes the whole run.")
@click.option("--serve", "serves", is_flag=True, help="Show it live in a browser instead; nothing is kept.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="For --serve; 0 for any.")
def command(delta: float, seed: int, serves: bool, port: int) -> None:
    """Find the best of six adverts for each of three metrics, on simulated visitors."""
    if serves:
        serve_storage(MemoryJournal(), port=port, browser=True, demo=True)
        return
    instance = ads()
    resolve_log_inv_delta(delta)
    objectives = ", ".join(f"{o.name} ({o.direction})" for o in instance.objectives)
    screen.say(f"Six adverts ({', '.join(instance.arms)}), three metrics: {objectives}.")
    screen.say(f"Which advert is best for each metric, with an error probability of at most {delta:g}?\n")
    with screen.EvidenceScreen("top-two", delta) as watch:
        adaptive = run_trial(instance, Policy(TopTwo()), delta, seed=seed, watch=watch)
    screen.out.print(screen.verdict_table(adaptive.verdict))
    if adaptive.interrupted:
        raise click.Abort
    _where_the_pulls_went(adaptive)
    with screen.EvidenceScreen("uniform, for comparison", delta) as watch:
        uniform = run_trial(instance, Policy(Uniform()), delta, seed=seed, watch=watch)
    _comparison(adaptive, uniform, lower_bound(instance).samples(delta))
    screen.say(views.certification("mixture", certified=True))


def _where_the_pulls_went(trial: Trial) -> None:
    screen.say()
    table = screen.plain_table("advert", "where the samples went", ">samples")
    for arm, count in zip(trial.verdict.problem.arms, trial.pulls.tolist(), strict=True):
        table.add_row(arm, screen.bar(count / trial.pulls.max()), f"{count:,}")
    screen.out.print(table)


def _comparison(adaptive: Trial, uniform: Trial, bound: float) -> None:
    table = screen.plain_table("", ">samples")
    table.add_row("this run (top-two)", f"{adaptive.verdict.pulls:,}")
    table.add_row("uniform sampling, same stopping rule", f"{uniform.verdict.pulls:,}")
    table.add_row("lower bound on the mean of any rule", f"{math.ceil(bound):,}")
    screen.say()
    screen.out.print(table)
    saved = 1 - adaptive.verdict.pulls / uniform.verdict.pulls
    screen.say()
    if saved > 0:
        screen.say(f"Sampling where the doubt is saved {saved:.0%} of the samples in this run.")
