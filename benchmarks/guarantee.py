"""What certainty costs in pulls: a proven threshold, unknown variances. What keeping decisions and focusing saves.

And what the evidence costs against that of an earlier revision, on the same noise: ``--against`` names it in git (the
last with two-sided evidence unless given). Its source is taken from there and run by the same script.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rewards import pulls_of
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


# What is compared: this version's instance, and the earlier version's.
COMPARED = [
    *((name, name) for name in ("gaussian", "synthetic 0", "synthetic 1", "synthetic 2", "snw")),
    *((name, name) for name in ("coins near 0.5", "coins near 0.05", "ratings 1..5", "scores in [0, 1]", "revenue")),
    *((f"{name} as unknown-variance",) * 2 for name in ("snw", "synthetic 0", "synthetic 1", "synthetic 2")),
    ("scores in [0, 1] as unknown-variance",) * 2,
    ("snw as shared-variance", "snw as unknown-variance"),
    ("synthetic 0 as shared-variance", "synthetic 0 as unknown-variance"),
]
DELTA = 0.05
# The last revision whose evidence was two-sided.
BEFORE = "801ccad"


def earlier(revision: str, names: Sequence[str]) -> dict[str, Any]:
    """Return what an earlier revision takes, with its own source and this script."""
    with tempfile.TemporaryDirectory() as directory:
        archive = subprocess.run(["git", "archive", revision, "src"], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(directory, filter="data")
        script = Path(__file__).with_name("rewards.py")
        environment = os.environ | {"PYTHONPATH": f"{directory}/src", "NUMBA_CACHE_DIR": f"{directory}/cache"}
        command = [sys.executable, str(script), str(TRIALS), str(DELTA), *names]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["name"]: row for row in rows}


def evidence(revision: str) -> None:
    """Print the pulls of this version beside those of an earlier one."""
    print(f"mean pulls of top-two with focus, delta = {DELTA}, {TRIALS} trials: {revision} | now | ratio")
    before = earlier(revision, sorted({old for _, old in COMPARED}))
    for name, old_name in COMPARED:
        old, new = before[old_name], pulls_of(name, DELTA, TRIALS)
        was, now = (f"{row['mean']:,.0f} +- {row['interval'][1] - row['mean']:,.0f}" for row in (old, new))
        wrong = f"  errors {old['error']:.2f}, {new['error']:.2f}" if old["error"] or new["error"] else ""
        print(f"  {name:38} {was:>18} | {now:>18} | {new['mean'] / old['mean']:.3f}{wrong}", flush=True)


def main() -> None:
    """Print all three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", default=BEFORE, help="a revision in git (default: %(default)s)")
    evidence(parser.parse_args().against)
    costs()
    savings()


if __name__ == "__main__":
    main()
