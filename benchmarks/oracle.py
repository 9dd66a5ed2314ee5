"""The oracle weights: ours beside cvxpy with Clarabel (end to end) and the bare Clarabel solve inside it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import cvxpy
import numpy as np

from mobai import Instance, lower_bound
from mobai.lab.instances import snw, synthetic

CASES: dict[str, Callable[[], Instance]] = {
    "(20, 10) synthetic": lambda: synthetic(seed=0),
    "(206, 2) snw": snw,
    "(1000, 5) normal": lambda: Instance(np.random.default_rng(0).normal(size=(1000, 5))),
}


def seconds(job: Callable[[], object], repeats: int) -> float:
    """Return the median time of a call, after one that does not count."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def cone_program(instance: Instance) -> cvxpy.Problem:
    """c* in the inverse weights, where every pair is linear: the best form for a conic solver that we know."""
    arms, objectives = instance.shape
    unit = instance.gaps[instance.gaps > 0].min()
    ratio = unit / np.where(instance.gaps > 0, instance.gaps, np.inf)
    u = cvxpy.Variable(arms)
    constraints = []
    for m in range(objectives):
        rivals = np.delete(np.arange(arms), instance.best_arms[m])
        coefficients = 2 * ratio[rivals, m] ** 2
        constraints.append(cvxpy.multiply(coefficients, u[rivals] + u[instance.best_arms[m]]) <= 1)
    return cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.inv_pos(u))), constraints)


def main() -> None:
    """Print one line a case."""
    print("oracle weights (median milliseconds)")
    print(f"{'instance':22}{'mobai':>9}{'gap':>10}{'cvxpy':>9}{'Clarabel':>10}{'x cvxpy':>9}{'x Clarabel':>12}")
    for name, make in CASES.items():
        instance = make()
        bound = lower_bound(instance)
        ours = seconds(partial(lower_bound, instance), 9)
        bare: list[float] = []
        whole = seconds(partial(end_to_end, instance, bare), 3)
        inner = float(np.median(bare))
        line = f"{name:22}{ours * 1e3:9.2f}{bound.gap:10.1e}{whole * 1e3:9.1f}{inner * 1e3:10.2f}"
        print(f"{line}{whole / ours:9.1f}{inner / ours:12.2f}")


def end_to_end(instance: Instance, bare: list[float]) -> None:
    """Build and solve the program as a user of cvxpy would; note the time inside Clarabel."""
    program = cone_program(instance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Clarabel reports reduced accuracy on snw
        program.solve(solver=cvxpy.CLARABEL)
    bare.append(program.solver_stats.solve_time)


if __name__ == "__main__":
    main()
