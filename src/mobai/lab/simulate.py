"""Many trials of many policies on one instance: on one core, on all of them, or on a cluster, with the same results."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mobai
from mobai.errors import InputError
from mobai.lab.results import Results, Rows
from mobai.lab.trajectory import Setting, run_trajectory
from mobai.policy import Policy
from mobai.problem import Instance
from mobai.problem.files import to_json
from mobai.rules.catalogue import rule_spec, sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.stopping import StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta

_SECONDS_BETWEEN_SAVES = 30.0


class Progress(NamedTuple):
    """How far a simulation is: trials done, trials in all (each rule counts its own), and pulls made in this call."""

    done: int
    total: int
    pulls: int


class Line(NamedTuple):
    """One sampling rule and the stopping rules that read its trajectories."""

    rule: SamplingRule
    stoppings: tuple[StoppingRule, ...]


class Task(NamedTuple):
    """One trajectory to run."""

    spec: str
    line: Line
    trial: int


AnyPolicy = Policy | SamplingRule | str


def simulate(
    instance: Instance,
    policies: AnyPolicy | Iterable[AnyPolicy],
    *,
    deltas: Iterable[float] | float | None = None,
    log_inv_deltas: Iterable[float] | float | None = None,
    trials: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
    max_pulls: int = 10_000_000,
    out: str | Path | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Results:
    """Run every policy for so many trials and read off its decisions at every delta.

    Policies with the same sampling rule share its trajectories: one trial serves all their stopping rules and all
    deltas. Trial n meets the same rewards under every rule, arm by arm. The results do not depend on ``n_jobs``, on
    the joblib backend, or on what else is simulated beside.

    Parameters
    ----------
    instance
        The true means and noise.
    policies
        One or several of: a :class:`Policy`, a sampling rule, or its name with options (``"mo-bai:eta=0.5"``); the
        last two stop by ``GLR("mixture")`` unless the rule has its own way.
    deltas, log_inv_deltas
        Error probabilities to stop at, as delta or log(1/delta); 0.05 when neither is given.
    trials, seed
        Trials 0, 1, ... of the seed. More trials later extend the same series; fewer keep those there are.
    n_jobs
        Worker processes, -1 for all cores. None means one, or what ``joblib.parallel_config`` says.
    max_pulls
        A trial that is not decided by then is given up.
    out
        A Parquet file. Finished trials are written there every half minute and at the end, and are not run again
        if the file exists.
    watch
        Called after every trial.

    Returns
    -------
    Results
        After Ctrl-C or the death of a worker: what was finished, with ``results.missing`` and ``results.ending``.

    Examples
    --------
    >>> world = Instance([[1.0, 0.0], [0.0, 1.0]])
    >>> results = simulate(world, ["top-two", "uniform"], deltas=[0.1, 0.01], trials=20)
    >>> len(results), results.complete
    (80, True)
    """
    lines, levels = _lines(policies), _levels(deltas, log_inv_deltas)
    trials, max_pulls, seed = _whole("trials", trials, 1), _whole("max_pulls", max_pulls, 1), _whole("seed", seed, 0)
    _check(instance, lines, levels, n_jobs, out)
    config = _config(instance, lines, levels, trials, seed, max_pulls)
    results = _resumed(out, config)
    wanted = results.missing
    tasks = [Task(spec, line, trial) for spec, line in lines.items() for trial in wanted.get(spec, ())]
    results = _run(instance, results, tasks, levels, n_jobs, out, watch)
    if out is not None:
        results.save(out)
    return results


def _resumed(out: str | Path | None, config: dict[str, Any]) -> Results:
    """Take over what a file holds, and see that it can be written before anything is run."""
    if out is None:
        return Results(config, ())
    if Path(out).exists():
        return Results.load(out).extended(config)
    nothing = Results(config, ())
    nothing.save(out)
    return nothing


def _run(
    instance: Instance,
    results: Results,
    tasks: Sequence[Task],
    levels: Sequence[float],
    n_jobs: int | None,
    out: str | Path | None,
    watch: Callable[[Progress], None] | None,
) -> Results:
    """Collect trials as they come; an interruption keeps those there are."""
    fresh: list[Rows] = []
    total = results.trials_wanted
    ending, pulls, done, saved = None, 0, total - len(tasks), time.monotonic()
    try:
        with closing(_parallel(instance, results.config, tasks, levels, n_jobs)) as finished:
            for rows in finished:
                fresh.append(rows)
                done, pulls = done + 1, pulls + rows.length
                if watch is not None:
                    watch(Progress(done, total, pulls))
                if out is not None and time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
                    results, fresh, saved = results.merged(fresh), [], time.monotonic()
                    results.save(out)
    except KeyboardInterrupt:
        ending = "interrupted"
    except Exception as error:
        if not _worker_died(error):
            if out is not None:
                results.merged(fresh).save(out)
            raise
        ending = f"a worker died ({type(error).__name__})"
    return results.merged(fresh, ending)


def _parallel(
    instance: Instance, config: dict[str, Any], tasks: Sequence[Task], levels: Sequence[float], n_jobs: int | None
) -> Generator[Rows, None, None]:
    """Run the tasks, in any order."""
    from joblib import Parallel, delayed, effective_n_jobs

    seed, max_pulls = config["seed"], config["max_pulls"]
    if effective_n_jobs(n_jobs) > 1:
        for line in {task.spec: task.line for task in tasks}.values():
            # Compiled here, once, the kernels are on disk when the workers look for them.
            run_trajectory(Setting(instance, *line, levels, seed, max_pulls=instance.shape[0] + 1))
    work = (delayed(run_task)(instance, task, levels, seed, max_pulls) for task in tasks)
    finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work)
    try:
        for rows in finished:  # noqa: UP028 - "yield from" would close it before warnings are caught
            yield rows
    finally:
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            finished.close()


def run_task(instance: Instance, task: Task, levels: Sequence[float], seed: int, max_pulls: int) -> Rows:
    """Run one trial of one sampling rule; gives its rows for every stopping rule and delta."""
    trajectory = run_trajectory(Setting(instance, *task.line, levels, seed, task.trial, max_pulls))
    return Rows.read(instance, task.spec, task.trial, trajectory)


def _worker_died(error: Exception) -> bool:
    """Whether a process was lost, here (loky) or on a cluster (Dask, Ray)."""
    lost = ("KilledWorker", "WorkerCrashedError", "TerminatedWorkerError", "CommClosedError")
    return isinstance(error, BrokenExecutor) or type(error).__name__ in lost


def _lines(policies: AnyPolicy | Iterable[AnyPolicy]) -> dict[str, Line]:
    """Group policies by their sampling rule."""
    given = list(policies) if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
    if not given:
        raise InputError("policies: at least one is needed")
    lines: dict[str, Line] = {}
    for one in given:
        policy = _policy(one)
        spec = rule_spec(policy.sampling)
        line = lines.get(spec, Line(policy.sampling, ()))
        if line.rule != policy.sampling:
            raise InputError(f"policies: two rules are both called {spec}; make them dataclasses, so that options show")
        if policy.stopping.name in [stopping.name for stopping in line.stoppings]:
            raise InputError(f"policies: {spec} with {policy.stopping.name} is given twice")
        lines[spec] = Line(line.rule, (*line.stoppings, policy.stopping))
    return lines


def _policy(one: AnyPolicy) -> Policy:
    if isinstance(one, Policy):
        return one
    return Policy(sampling_rule(one) if isinstance(one, str) else one)


def _levels(deltas: Iterable[float] | float | None, log_inv_deltas: Iterable[float] | float | None) -> list[float]:
    """Give the distinct log(1/delta), ascending."""
    if deltas is not None and log_inv_deltas is not None:
        raise InputError("only one of deltas and log_inv_deltas may be given")
    if log_inv_deltas is None:
        levels = [resolve_log_inv_delta(delta) for delta in _several(0.05 if deltas is None else deltas)]
    else:
        levels = [resolve_log_inv_delta(log_inv_delta=x) for x in _several(log_inv_deltas)]
    if not levels:
        raise InputError("deltas: at least one is needed")
    ascending = sorted(set(levels))
    # Two spellings of one delta are one level.
    return [x for n, x in enumerate(ascending) if n == 0 or not math.isclose(x, ascending[n - 1], rel_tol=1e-12)]


def _several(values: Iterable[float] | float) -> list[Any]:
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, not {value!r}")
    return int(value)


def _check(
    instance: Instance, lines: dict[str, Line], levels: Sequence[float], n_jobs: int | None, out: str | Path | None
) -> None:
    if not isinstance(instance, Instance):
        raise InputError(f"instance must be an Instance, not {instance!r}")
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number of workers, -1 for all cores, or None, not {n_jobs!r}")
    for spec, line in lines.items():
        if out is not None and not is_dataclass(line.rule):
            raise InputError(f"out: the rule {spec} must be a dataclass, so that its options are kept with its results")
        for stopping in line.stoppings:
            for x in levels:
                stopping.level(instance.problem, x)


def _config(
    instance: Instance, lines: dict[str, Line], levels: Sequence[float], trials: int, seed: int, max_pulls: int
) -> dict[str, Any]:
    """Give everything that determines the results, as plain data."""
    return {
        "mobai": mobai.__version__,
        "instance": to_json(instance),
        "policies": {spec: [stopping.name for stopping in line.stoppings] for spec, line in lines.items()},
        "certified": {spec: [s.name for s in line.stoppings if s.certified] for spec, line in lines.items()},
        "log_inv_deltas": list(levels),
        "trials": trials,
        "seed": seed,
        "max_pulls": max_pulls,
    }
