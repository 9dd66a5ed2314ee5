"""Many trials of many policies on one instance: on one core, on all of them, or on a cluster, with the same results."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Unpack

from mobai.engine.warm_up import announce_compiling
from mobai.errors import refuse_unknown
from mobai.lab.arguments import (
    AnyPolicy,
    PolicyGroup,
    SimulationOptions,
    SimulationSpec,
    check_keepable,
    check_workers,
    specify,
)
from mobai.lab.results import Results, TrialRecord
from mobai.lab.trajectory import TrialSpec, run_trajectory
from mobai.lab.warm_up import compile_bounds, meanwhile
from mobai.problem import Instance

_SECONDS_BETWEEN_SAVES = 30.0


class Progress(NamedTuple):
    """How far a simulation is: trials done, trials in all (each rule counts its own), and pulls made in this call."""

    done: int
    total: int
    pulls: int


class Task(NamedTuple):
    """One trajectory to run: of this rule, by its specification, and for these stopping rules."""

    rule: str
    group: PolicyGroup
    trial: int


def simulate(
    instance: Instance,
    policies: AnyPolicy | Iterable[AnyPolicy],
    *,
    trials: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    watch: Callable[[Progress], None] | None = None,
    **options: Unpack[SimulationOptions],
) -> Results:
    """Run every policy for a number of trials and read off its decisions at every delta.

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
    trials, seed
        Trials 0, 1, ... of the seed. More trials later extend the same series; fewer keep those there are.
    n_jobs
        Worker processes, -1 for all cores. None means one, or what ``joblib.parallel_config`` says.
    out
        A Parquet file. Finished trials are written there every half minute and at the end, and are not run again
        if the file exists. A ``.csv`` file is written, too, but cannot be resumed from.
    watch
        Called after every trial.
    deltas, log_inv_deltas
        Error probabilities to stop at, as delta or log(1/delta); 0.05 when neither is given.
    max_pulls
        A trial that is not decided by then is given up; 10,000,000 unless given. Must be given for an instance whose
        best arms are tied, which is never decided.
    focus
        Sample only for objectives that are not decided yet. That depends on delta, so there can be one delta, and one
        stopping rule per sampling rule.

    Returns
    -------
    Results
        After Ctrl-C or the death of a worker: what was finished, with ``results.missing`` and ``results.ending``.

    Examples
    --------
    >>> instance = Instance([[1.0, 0.0], [0.0, 1.0]])
    >>> results = simulate(instance, ["top-two", "uniform"], deltas=[0.1, 0.01], trials=20)
    >>> len(results), results.complete
    (80, True)
    """
    refuse_unknown("simulate", options, SimulationOptions)
    spec = specify(instance, policies, trials, seed, **options)
    if watch is None:
        announce_compiling()
    check_workers(n_jobs)
    if out is not None:
        check_keepable(spec)
    results = _resumed(out, spec)
    wanted = results.missing
    tasks = [Task(rule, group, trial) for rule, group in spec.groups.items() for trial in wanted.get(rule, ())]
    with meanwhile(compile_bounds):
        results = _run(spec, results, tasks, n_jobs, out, watch)
    if out is not None:
        results.save(out)
    return results


def _resumed(out: str | Path | None, spec: SimulationSpec) -> Results:
    """Take over what a file holds, and see that it can be written before anything is run."""
    if out is None:
        return Results(spec.config, (), known=spec.instance)
    if Path(out).exists() and Path(out).suffix.lower() != ".csv":
        return Results.load(out, spec.instance).extended(spec.config)
    nothing = Results(spec.config, (), known=spec.instance)
    nothing.save(out)
    return nothing


def _run(
    spec: SimulationSpec,
    results: Results,
    tasks: Sequence[Task],
    n_jobs: int | None,
    out: str | Path | None,
    watch: Callable[[Progress], None] | None,
) -> Results:
    """Collect trials as they come; an interruption keeps those there are."""
    fresh: list[TrialRecord] = []
    total = results.trials_wanted
    ending, pulls, done, saved = None, 0, total - len(tasks), time.monotonic()
    try:
        with closing(_parallel(spec, tasks, n_jobs)) as finished:
            for record in finished:
                fresh.append(record)
                done, pulls = done + 1, pulls + record.length
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


def _parallel(spec: SimulationSpec, tasks: Sequence[Task], n_jobs: int | None) -> Generator[TrialRecord, None, None]:
    """Run the tasks, in any order."""
    from joblib import Parallel, delayed, effective_n_jobs

    if effective_n_jobs(n_jobs) > 1:
        for task in {task.rule: task for task in tasks}.values():
            # Compiled here, once, the kernels are on disk when the workers look for them.
            run_trajectory(_trial_spec(spec, task, max_pulls=spec.instance.shape[0] + 1))
    work = (delayed(run_task)(task.rule, _trial_spec(spec, task, spec.max_pulls)) for task in tasks)
    finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work)
    try:
        for record in finished:  # noqa: UP028 - "yield from" would close it before warnings are caught
            yield record
    finally:
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            finished.close()


def _trial_spec(spec: SimulationSpec, task: Task, max_pulls: int) -> TrialSpec:
    return TrialSpec(spec.instance, *task.group, spec.log_inv_deltas, spec.seed, task.trial, max_pulls, spec.focus)


def run_task(rule: str, spec: TrialSpec) -> TrialRecord:
    """Run one trial of one sampling rule; return its record for every stopping rule and delta."""
    return TrialRecord.read(spec.instance, rule, spec.trial, run_trajectory(spec))


def _worker_died(error: Exception) -> bool:
    """Whether a process was lost, here (loky) or on a cluster (Dask, Ray)."""
    lost = ("KilledWorker", "WorkerCrashedError", "TerminatedWorkerError", "CommClosedError")
    return isinstance(error, BrokenExecutor) or type(error).__name__ in lost
