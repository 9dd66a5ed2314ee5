"""Four groups of visitors, eight variants, two contenders in every group: visitors until every group is decided.

One experiment with a metric per group, one experiment per group with a quarter of delta, and segments.
"""

from __future__ import annotations

import math

import numpy as np

from mobai import GLR, Experiment, Policy, Problem, Segments, TopTwo
from mobai.problem import FloatArray
from mobai.store.journal import MemoryJournal

DELTA, RUNS = 0.05, 20
GROUPS, ARMS = ["18-24", "25-34", "35-54", "55+"], [f"variant {i}" for i in range(8)]
_MOST = 100_000


def chances() -> FloatArray:
    """Return the chance that a visitor signs up, by group and variant: two contenders in each, others in the next."""
    found = np.full((len(GROUPS), len(ARMS)), 0.3)
    for g in range(len(GROUPS)):
        found[g, 2 * g], found[g, 2 * g + 1] = 0.6, 0.5
    return found


def visitors(run: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], FloatArray]:
    """Return the groups of visitors in the order in which they come, and what decides whether they sign up."""
    rng = np.random.default_rng(run)
    return rng.integers(len(GROUPS), size=_MOST), rng.random(_MOST)


def metric_per_group(run: int) -> tuple[int, int]:
    """Return how many visitors one experiment takes in which a visitor brings the metric of their group only."""
    problem = Problem(ARMS, [f"signup {group}:bernoulli" for group in GROUPS])
    session, truth = Policy(TopTwo(), GLR()).start(problem, seed=run), chances()
    for n, (g, u) in enumerate(zip(*visitors(run), strict=True), start=1):
        arm = session.ask()
        rewards = [math.nan] * len(GROUPS)
        rewards[g] = float(u < truth[g, int(arm)])
        session.tell(arm, rewards)
        if n % 20 == 0 and session.engine.stopped(math.log(1 / DELTA)):
            return n, sum(session.engine.leaders[k] != 2 * k for k in range(len(GROUPS)))
    return _MOST, 0


def per_group(run: int, whole: bool) -> tuple[int, int]:
    """Return how many visitors segments take, or, not as a ``whole``, experiments that somebody divided delta for."""
    journal, truth = MemoryJournal(), chances()
    if whole:
        found = dict(Segments.create(journal, "x", ARMS, ["signup:bernoulli"], GROUPS, delta=DELTA, seed=run))
    else:
        given = {"delta": DELTA / len(GROUPS), "seed": run}
        found = {
            group: Experiment.create(journal, group, ARMS, ["signup:bernoulli"], **given)  # type: ignore[arg-type]
            for group in GROUPS
        }
    open_ones = set(GROUPS)
    for n, (g, u) in enumerate(zip(*visitors(run), strict=True), start=1):
        one = found[GROUPS[g]]
        (assignment,) = one.ask(1)
        one.tell(assignment, {"signup": int(u < truth[g, ARMS.index(assignment.arm)])})
        if n % 20 == 0:
            open_ones = {group for group in open_ones if not found[group].verdict().stopped}
        if not open_ones:
            return n, sum(found[group].verdict().answers != (ARMS[2 * k],) for k, group in enumerate(GROUPS))
    return _MOST, 0


def main() -> None:
    """Print the table."""
    print("| way | visitors | wrong answers |")
    print("|---|---|---|")
    for name, way in (
        ("one experiment, a metric per group", metric_per_group),
        ("an experiment per group, delta / 4", lambda run: per_group(run, False)),
        ("segments", lambda run: per_group(run, True)),
    ):
        found = [way(run) for run in range(RUNS)]
        mean, wrong = np.mean([n for n, _ in found]), sum(count for _, count in found)
        print(f"| {name} | {mean:,.0f} | {wrong} of {RUNS * len(GROUPS)} |", flush=True)


if __name__ == "__main__":
    main()
