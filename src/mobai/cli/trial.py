"""One simulated run, drawn while it goes: ``mobai simulate --trials 1 --watch``."""

from __future__ import annotations

import json

import click

from mobai import Policy, lower_bound, views
from mobai.cli import screen
from mobai.errors import ConvergenceError, InputError
from mobai.lab.trial import Trial, run_trial
from mobai.problem import Instance


def simulate_one(
    instance: Instance, policy: Policy, delta: float, *, seed: int, max_pulls: int, focus: bool, as_json: bool
) -> None:
    """Run trial 0 of the seed, and print how it ended."""
    with screen.EvidenceScreen(policy.sampling.name, delta) as watch:
        trial = run_trial(instance, policy, delta, seed=seed, max_pulls=max_pulls, focus=focus, watch=watch)
    if as_json:
        click.echo(json.dumps(_as_json(instance, policy, trial, seed), indent=2))
    else:
        _report(instance, policy, trial, delta)
    if trial.interrupted:
        raise click.Abort


def _bound(instance: Instance, log_inv_delta: float) -> float | None:
    """Return the lower bound on samples, or None where there is none: a tie makes it infinite."""
    try:
        return lower_bound(instance).samples(log_inv_delta=log_inv_delta)
    except (InputError, ConvergenceError):
        return None


def _as_json(instance: Instance, policy: Policy, trial: Trial, seed: int) -> dict[str, object]:
    return {
        "rule": policy.sampling.name,
        "threshold": policy.stopping.name,
        "seed": seed,
        **views.verdict_json(trial.verdict),
        "intervals": views.intervals_json(instance.problem, trial.intervals),
        "correct": trial.correct,
        "pulls_per_arm": dict(zip(instance.arms, trial.pulls.tolist(), strict=True)),
        "lower_bound": _bound(instance, trial.verdict.log_inv_delta),
    }


def _report(instance: Instance, policy: Policy, trial: Trial, delta: float) -> None:
    verdict = trial.verdict
    screen.out.print(screen.verdict_table(verdict))
    screen.say()
    screen.out.print(screen.intervals_table(verdict, trial.pulls, trial.intervals))
    screen.say()
    ending = "stopped" if verdict.stopped else "interrupted" if trial.interrupted else "gave up, undecided,"
    screen.say(f"{ending} after {verdict.pulls:,} pulls with {policy.sampling.name}, delta = {delta:g}")
    bound = _bound(instance, verdict.log_inv_delta)
    if bound is not None:
        screen.say(f"lower bound on the mean of any rule: {bound:,.0f} pulls")
    screen.say(f"every recommended arm is {'right' if trial.correct else 'NOT right'} (the true means are known here)")
    screen.say(views.certification(policy.stopping.name, policy.stopping.certified))
