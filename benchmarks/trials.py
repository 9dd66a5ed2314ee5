"""Whole trials: microseconds a pull of every rule, against the obvious Python loop, and two workers against one.

Every pull includes noise, means, GLR statistic, the rule's own work and two stopping rules (mixture and empirical, at
delta = 0.1). The obvious loop is MO-BAI in NumPy with one call of SciPy's linprog a pull, and the empirical threshold.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.optimize import linprog

from mobai import GLR, Instance, Policy, simulate
from mobai.lab.environment import Environment
from mobai.lab.instances import snw, synthetic
from mobai.lab.trajectory import TrialSpec, run_trajectory
from mobai.rules.catalogue import sampling_rule

CASES = {"(20, 10)": synthetic(seed=0), "(206, 2)": snw()}
RULES = [
    "uniform",
    "top-two",
    "mo-bai",
    "mo-bai:refresh=every",
    "frank-wolfe",
    "track-and-stop",
    "d-tracking",
    "d-tracking:start=previous",
    "successive-elimination:delta=0.1",
]


def microseconds(instance: Instance, text: str, seconds: float = 2.0) -> float:
    """The mean time of a pull over trials of up to 20,000 pulls, for some seconds, after one that compiles."""
    policy = Policy(sampling_rule(text))
    stoppings = [policy.stopping] if policy.stopping.name == "elimination" else [GLR("mixture"), GLR("empirical")]

    def run(trial: int) -> int:
        found = run_trajectory(TrialSpec(instance, policy.sampling, stoppings, [math.log(10)], 0, trial, 20_000))
        return found.pulls

    run(0)
    pulls, trial, start = 0, 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        pulls, trial = pulls + run(trial), trial + 1
    return (time.perf_counter() - start) / pulls * 1e6


def obvious_loop(instance: Instance, pulls: int = 60, eta: float = 0.1) -> float:
    """MO-BAI as one would write it down, with linprog; microseconds a pull after the opening."""
    arms, objectives = instance.shape
    world, floor = Environment(instance), eta / (arms * (1 + eta))
    sums = np.array([world.pull(i) for i in range(arms)])
    counts, buffer = np.ones(arms), np.zeros(arms)
    plan = sums / counts[:, None]
    start = time.perf_counter()
    for t in range(arms + 1, arms + pulls + 1):
        if t & (t - 1) == 0:
            plan = sums / counts[:, None]
        weights = (counts + buffer) / (t - 1)
        best = plan.argmax(axis=0)
        rows = []
        for m in range(objectives):
            b = best[m]
            for i in range(arms):
                if i != b:
                    half, total = (plan[b, m] - plan[i, m]) ** 2 / 2, weights[i] + weights[b]
                    row = np.zeros(arms + 1)
                    row[i], row[b], row[arms] = -half * (weights[b] / total) ** 2, -half * (weights[i] / total) ** 2, 1
                    rows.append(row)
        arguments: dict[str, Any] = {
            "c": np.append(np.zeros(arms), -1.0),
            "A_ub": np.array(rows),
            "b_ub": np.zeros(len(rows)),
            "A_eq": np.append(np.ones(arms), 0.0)[None, :],
            "b_eq": [1.0],
            "bounds": [(floor, None)] * arms + [(None, None)],
        }
        credit = buffer + linprog(**arguments).x[:arms]
        arm = int(credit.argmax())
        buffer = credit - np.eye(arms)[arm]
        counts[arm] += 1
        sums[arm] += world.pull(arm)
        means = sums / counts[:, None]
        gaps = means.max(axis=0) - means
        leader_counts = counts[means.argmax(axis=0)]
        z = counts[:, None] * leader_counts * gaps**2 / (2 * (counts[:, None] + leader_counts))
        if z[gaps > 0].min() > math.log((1 + math.log(t)) * 10):
            pulls = t - arms
            break
    return (time.perf_counter() - start) / pulls * 1e6


def scaling(instance: Instance) -> tuple[float, float]:
    """Seconds for 200 trials of MO-BAI with one worker and with two, once the workers are up."""
    seconds = []
    for n_jobs in (1, 2):
        simulate(instance, "mo-bai", trials=4, n_jobs=n_jobs)
        start = time.perf_counter()
        simulate(instance, "mo-bai", trials=200, n_jobs=n_jobs)
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1]


def main() -> None:
    """Print one line a rule."""
    print("whole trials (microseconds a pull, everything included)")
    print(f"{'rule':36}" + "".join(f"{name:>12}" for name in CASES))
    ours: dict[str, float] = {}
    for text in RULES:
        times = {name: microseconds(instance, text) for name, instance in CASES.items()}
        ours = times if text == "mo-bai" else ours
        print(f"{text:36}" + "".join(f"{value:12.2f}" for value in times.values()))
    loops = {name: obvious_loop(instance) for name, instance in CASES.items()}
    print(f"{'MO-BAI in NumPy with linprog':36}" + "".join(f"{value:12.1f}" for value in loops.values()))
    print(f"{'  times mo-bai':36}" + "".join(f"{loops[name] / ours[name]:12.0f}" for name in CASES))
    one, two = scaling(CASES["(20, 10)"])
    print(f"200 trials of mo-bai at (20, 10): {one:.2f} s with one worker, {two:.2f} s with two, {one / two:.2f} times")


if __name__ == "__main__":
    main()
