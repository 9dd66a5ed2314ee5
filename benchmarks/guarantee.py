"""What certainty costs in pulls: a proven threshold, unknown variances. What keeping decisions and focusing saves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mobai import GLR, Instance, Objective, Policy, UnknownVariance, simulate
from mobai.lab.instances import ads, snw, synthetic
from mobai.rules.catalogue import sampling_rule

TRIALS = 100


def unequal() -> Instance:
    """Ten arms, five objectives of very different difficulty: gaps from 3 down to 0.2."""
    means = np.zeros((10, 5))
    for m, gap in enumerate((3.0, 1.5, 0.8, 0.4, 0.2)):
        means[2 * m, m] = gap
    return Instance(means)


def without_variances(world: Instance) -> Instance:
    """The same rewards, with nobody knowing their variance."""
    objectives = [Objective(o.name, o.direction, UnknownVariance()) for o in world.objectives]
    return Instance(world.means, world.sd, world.arms, objectives)


def mean_pulls(world: Instance, policies: Sequence[Policy], delta: float, focus: bool = False) -> list[str]:
    """The mean stopping times with 95 % half widths, and errors if any."""
    results = simulate(world, policies, deltas=delta, trials=TRIALS, n_jobs=-1, focus=focus)
    cells = []
    for row in results.summary():
        wrong = f", error {row.error:.2f}" if row.error else ""
        cells.append(f"{row.mean:,.0f} +- {(row.mean_interval[1] - row.mean):,.0f}{wrong}")
    return cells


def costs() -> None:
    """Print what certification and unknown variances cost."""
    print(f"mean pulls of top-two, {TRIALS} trials: unproven threshold | certified | certified, unknown variances")
    for name, world in (("synthetic:seed=0", synthetic(0)), ("snw:negate_area=false", snw(negate_area=False))):
        for delta in (0.1, 0.01, math.exp(-50)):
            known = mean_pulls(world, [Policy(stopping=GLR("empirical")), Policy()], delta)
            unknown = mean_pulls(without_variances(world), [Policy()], delta)
            print(f"  {name:24} delta {delta:8.3g}: " + " | ".join((*known, *unknown)), flush=True)


def savings() -> None:
    """Print what keeping decisions saves, and what turning away from decided objectives adds to that."""
    print("mean pulls at delta = 0.1: all at once | kept | kept and focused")
    worlds = {"ads": ads(), "unequal": unequal(), "synthetic:seed=0": synthetic(0)}
    for name, world in worlds.items():
        for rule in ("top-two", "mo-bai", "uniform"):
            sampling = sampling_rule(rule)
            cells = mean_pulls(world, [Policy(sampling, GLR(at_once=True)), Policy(sampling)], 0.1)
            cells += mean_pulls(world, [Policy(sampling)], 0.1, focus=True)
            print(f"  {name:18} {rule:8}: " + " | ".join(cells), flush=True)


def main() -> None:
    """Print both tables."""
    costs()
    savings()


if __name__ == "__main__":
    main()
