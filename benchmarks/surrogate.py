"""The surrogate program along real MO-BAI trajectories: ours, SciPy's linprog, highspy from a hot start.

All solve the same programs. Ours: warm (``SurrogatePlan.solve`` from Python, as the stepwise rule does it), compiled
(the same in a compiled loop), cold (from nothing). SciPy and highspy get ready-made sparse matrices; only their calls
are timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from mobai import MOBAI, Instance
from mobai.kernels.jit.compiled import entry
from mobai.kernels.programs import surrogate as kernels
from mobai.kernels.programs.dense import Integers, Matrix
from mobai.lab.environment import Environment
from mobai.lab.instances import snw, synthetic
from mobai.problem import FloatArray
from mobai.seeds import stream
from mobai.theory.highs import derivatives
from mobai.theory.observations import Observations
from mobai.theory.pairs import floor_mass
from mobai.theory.surrogate import SurrogatePlan, surrogate_fallbacks


class Case(NamedTuple):
    """An instance, how many steps of how many trajectories to solve, and how many programs the slow peers get."""

    make: Callable[[], Instance]
    trajectories: int
    steps: int
    sample: int


CASES = {
    "(20, 10)": Case(lambda: synthetic(seed=0), 5, 4000, 100),
    "(206, 2)": Case(snw, 5, 4000, 100),
    "(1000, 5)": Case(lambda: Instance(np.random.default_rng(0).normal(size=(1000, 5))), 2, 1000, 10),
    "(10000, 10)": Case(lambda: Instance(np.random.default_rng(0).normal(size=(10_000, 10))), 1, 200, 2),
}


def trajectory(instance: Instance, steps: int, seed: int = 1) -> Iterator[tuple[SurrogatePlan, FloatArray]]:
    """Run MO-BAI as in the paper (eta = 0.1, plan refreshed at powers of two) and give each step's program."""
    rule, observations = MOBAI(), Observations(instance.problem)
    memory = rule.init(instance.problem)
    world, rng = Environment(instance, seed), stream(seed, "rule")
    for t in range(instance.shape[0] + steps):
        arm = t
        if t >= instance.shape[0]:
            weights = (observations.asked + memory.weights) / t
            if t == instance.shape[0] or (t + 1) & t == 0:
                means = observations.means
                plan = SurrogatePlan(means.max(axis=0) - means, instance.sd, means.argmax(axis=0), floor_mass(rule.eta))
            arm, memory = rule.choose(instance.problem, memory, observations, rng)
            yield plan, weights
        observations.ask(arm)
        observations.tell(arm, world.pull(arm) * instance.problem.signs)


def warm(programs: list[tuple[SurrogatePlan, FloatArray]]) -> tuple[list[float], list[int]]:
    """Solve all programs in turn, each from the bases before it; a new plan keeps them if its leaders are the same."""
    times, pivots = [], []
    last, bases = programs[0][0], programs[0][0].no_bases()
    for plan, weights in programs:
        if plan is not last and not np.array_equal(last._arrays[2], plan._arrays[2]):
            bases = plan.no_bases()
        last = plan
        start = time.perf_counter()
        solution, bases = plan.solve(weights, bases)
        times.append(time.perf_counter() - start)
        pivots.append(solution.pivots)
    return times[1:], pivots[1:]


@entry
def solve_all(
    gaps: Matrix,
    variance: Matrix,
    best: Integers,
    weights: Matrix,
    floor: float,
    codes: Integers,
    shares: Matrix,
) -> int:
    """Solve one plan's programs in a compiled loop, as a compiled trial does."""
    pivots = 0
    for k in range(len(weights)):
        pivots += kernels.solve_surrogate(gaps, variance, best, weights[k], floor, codes, shares)[2]
    return pivots


def compiled(programs: list[tuple[SurrogatePlan, FloatArray]]) -> float:
    """Time the same programs without Python between them; returns the total."""
    total = 0.0
    plans = {id(plan): plan for plan, _ in programs}
    for key, plan in plans.items():
        weights = np.array([w for p, w in programs if id(p) == key])
        bases = plan.no_bases()
        start = time.perf_counter()
        solve_all(*plan._arrays, weights, plan._mass / weights.shape[1], *bases)
        total += time.perf_counter() - start
    return total


def cold(programs: list[tuple[SurrogatePlan, FloatArray]]) -> list[float]:
    """Solve programs from nothing."""
    times = []
    for plan, weights in programs:
        nothing = plan.no_bases()
        start = time.perf_counter()
        plan.solve(weights, nothing)
        times.append(time.perf_counter() - start)
    return times


def rows(plan: SurrogatePlan, weights: FloatArray) -> tuple[csr_array, float]:
    """The program's rows ``-a s_i - b s_b + unit v <= 0`` as a sparse matrix, in units in which v is near one."""
    gaps, variance, best = plan._arrays
    a, b = derivatives(gaps, variance, best, weights)
    objectives, arms = np.nonzero(np.arange(gaps.shape[1]) != best[:, None])
    a, b = a[objectives, arms], b[objectives, arms]
    unit = float((a * weights[arms] + b * weights[best[objectives]]).min())
    columns = np.column_stack([arms, best[objectives], np.full(len(a), len(weights))])
    entries = np.column_stack([-a / unit, -b / unit, np.ones(len(a))])
    shape = (len(a), len(weights) + 1)
    return csr_array((entries.ravel(), columns.ravel(), np.arange(0, 3 * len(a) + 1, 3)), shape=shape), unit


def with_scipy(programs: list[tuple[SurrogatePlan, FloatArray]]) -> list[float]:
    """Time linprog's dual simplex."""
    times = []
    for plan, weights in programs:
        matrix, _ = rows(plan, weights)
        arms = len(weights)
        arguments: dict[str, Any] = {
            "c": np.append(np.zeros(arms), -1.0),
            "A_ub": matrix,
            "b_ub": np.zeros(matrix.shape[0]),
            "A_eq": np.append(np.ones(arms), 0.0)[None, :],
            "b_eq": [1.0],
            "bounds": [(plan._mass / arms, None)] * arms + [(0, None)],
        }
        start = time.perf_counter()
        linprog(**arguments, method="highs-ds")
        times.append(time.perf_counter() - start)
    return times


def with_highspy(programs: list[tuple[SurrogatePlan, FloatArray]]) -> list[float]:
    """Time HiGHS without SciPy, each program started from the basis of the one before."""
    solver, basis, times = highspy.Highs(), None, []
    solver.setOptionValue("output_flag", False)
    for plan, weights in programs:
        model = highs_model(plan, weights)
        start = time.perf_counter()
        solver.passModel(model)
        if basis is not None:
            solver.setBasis(basis)
        solver.run()
        basis = solver.getBasis()
        times.append(time.perf_counter() - start)
    return times[1:]


def highs_model(plan: SurrogatePlan, weights: FloatArray) -> Any:
    """The program in HiGHS's own form."""
    matrix, _ = rows(plan, weights)
    arms, count = len(weights), matrix.shape[0]
    model = highspy.HighsLp()
    model.num_col_, model.num_row_, model.sense_ = arms + 1, count + 1, highspy.ObjSense.kMaximize
    model.col_cost_ = np.append(np.zeros(arms), 1.0)
    model.col_lower_ = np.append(np.full(arms, plan._mass / arms), 0.0)
    model.col_upper_ = np.full(arms + 1, highspy.kHighsInf)
    model.row_lower_ = np.append(np.full(count, -highspy.kHighsInf), 1.0)
    model.row_upper_ = np.append(np.zeros(count), 1.0)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.append(matrix.indptr, matrix.indptr[-1] + arms)
    model.a_matrix_.index_ = np.append(matrix.indices, np.arange(arms))
    model.a_matrix_.value_ = np.append(matrix.data, np.ones(arms))
    return model


def main() -> None:
    """Print one line a size."""
    before = surrogate_fallbacks()
    print("surrogate program along MO-BAI trajectories (mean microseconds per program)")
    print(
        f"{'(K, M)':12}{'warm':>9}{'compiled':>10}{'cold':>10}{'SciPy':>11}{'highspy':>10}"
        f"{'SciPy/warm':>12}{'/compiled':>11}{'highspy/warm':>14}{'pivots':>8}{'kept':>6}"
    )
    for name, case in CASES.items():
        times: list[float] = []
        pivots: list[int] = []
        inner: list[float] = []
        for seed in range(case.trajectories):
            programs = list(trajectory(case.make(), case.steps, seed))
            compiled(programs[:2])
            inner.append(compiled(programs) / len(programs))
            more = warm(programs)
            times += more[0]
            pivots += more[1]
        spread = programs[:: max(1, len(programs) // case.sample)][: case.sample]
        ours, inside, slow = np.mean(times), np.mean(inner), np.mean(with_scipy(spread))
        hot = np.mean(with_highspy(programs[-case.sample - 1 :]))
        print(
            f"{name:12}{ours * 1e6:9.1f}{inside * 1e6:10.1f}{np.mean(cold(spread)) * 1e6:10.1f}{slow * 1e6:11.1f}"
            f"{hot * 1e6:10.1f}{slow / ours:12.0f}{slow / inside:11.0f}{hot / ours:14.0f}"
            f"{np.mean(pivots):8.2f}{np.mean(np.array(pivots) == 0):6.0%}"
        )
    print(f"fallbacks to HiGHS: {surrogate_fallbacks() - before}")


if __name__ == "__main__":
    main()
