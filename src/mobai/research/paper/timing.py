"""Table 1 of the paper: the time of one optimisation."""

from __future__ import annotations

import math
import time

import numpy as np

from mobai.document import Block, Paragraph, Table
from mobai.engine import Policy
from mobai.lab.environment import Environment
from mobai.lab.instances import find_instance
from mobai.lab.trajectory import TrialSpec, run_trajectory
from mobai.research.paper.archive import Archive
from mobai.research.paper.published import TABLE_1
from mobai.research.paper.runs import SYNTHETIC
from mobai.rules.catalogue import sampling_rule
from mobai.rules.sampling.mo_bai import MOBAI
from mobai.rules.stopping import GLR
from mobai.theory.highs import solve_with_highs
from mobai.theory.pairs import floor_mass


def measure_programs(archive: Archive, programs: int = 100) -> None:
    """Time one optimisation as the paper's Table 1 does: HiGHS through SciPy, and ours in compiled trials."""
    instance, rule = find_instance(SYNTHETIC), MOBAI()
    session, environment = Policy(rule).start(instance.problem), Environment(instance)
    variance, mass, times = np.ones(instance.shape[::-1]), floor_mass(rule.eta), []
    for step in range(instance.shape[0] + programs):
        before, asked = session.engine.memory, session.observations.asked
        arm = session.ask()
        session.tell(arm, environment.pull(arm))
        if step >= instance.shape[0]:
            plan = session.engine.memory
            start = time.perf_counter()
            solve_with_highs(plan.gaps, variance, plan.best, (asked + before.weights) / step, mass)
            times.append(1e3 * (time.perf_counter() - start))
    base = _milliseconds("uniform")
    rules = {"MO-BAI": "mo-bai", **{f"Baseline, iter={n}": f"d-tracking:iterations={n}" for n in (5, 10, 20)}}
    archive.notes["table-1"] = {
        "scipy": [float(np.mean(times[1:])), float(np.std(times[1:]))],  # The first call imports.
        "ours": {name: _milliseconds(text) - base for name, text in rules.items()},
    }


def _milliseconds(text: str) -> float:
    """Return the time per pull of a compiled trial of 3,000 pulls."""
    instance, rule = find_instance(SYNTHETIC), sampling_rule(text)
    for _ in range(2):  # The first one compiles.
        start = time.perf_counter()
        run_trajectory(TrialSpec(instance, rule, [GLR("theory")], [1.0], max_pulls=3000))
    return 1e3 * (time.perf_counter() - start) / 3000


def table_1(archive: Archive) -> list[Block]:
    """Return milliseconds for one optimisation."""
    measured = archive.notes["table-1"]
    (mean, sd), ours = measured["scipy"], measured["ours"]
    rows = []
    for name, (programs, paper, spread) in TABLE_1.items():
        here = f"{programs * mean:.1f} ± {math.sqrt(programs) * sd:.1f}"
        ratio = programs * mean / ours[name]
        paper_text = f"{paper} ± {spread}"
        reason = "another machine and another SciPy"
        rows.append([name, paper_text, here, f"{ours[name]:.4f}", f"{ratio:.0f}", "cannot be compared", reason])
    header = ["optimisation", "paper, ms", "SciPy here, ms", "mobai, ms", "SciPy / mobai", "verdict", "why"]
    text = (
        "One optimisation at K=20, M=10. SciPy: the same linear program given to linprog (HiGHS), times the number "
        "of programs. mobai: what the compiled trial takes per pull beyond uniform sampling."
    )
    return [Paragraph(text), Table(header, rows)]
