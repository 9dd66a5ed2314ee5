"""Many trials: the same results however they are run, and nothing lost when they are not all run."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
from tests.lab.trials import POLICIES, SETTINGS, WORLD, rows

from mobai import InputError, Instance, Problem, Results, TopTwo, Uniform, simulate
from mobai.lab.plots import save_plot
from mobai.lab.simulate import Progress
from mobai.theory.observations import Observations

# Rules of this file travel to workers by value: they cannot import it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True)
class Stubborn:
    """A rule in plain Python: the first arm every second time; ends its process when told to."""

    home: int = 0
    dies_at: int = -1
    by_error: bool = False
    name = "stubborn"
    stopping = None

    def init(self, problem: Problem) -> None: ...

    def choose(
        self, problem: Problem, memory: None, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, None]:
        if observations.told == self.dies_at and self.by_error:
            raise ZeroDivisionError
        if observations.told == self.dies_at and os.getpid() != self.home:
            os._exit(1)
        return (
            int(observations.asked.argmin()) if observations.told % 2 == 0 or not observations.complete else 0
        ), None


class Plain:
    """A rule whose options nobody can see."""

    name = "plain"
    stopping = None

    def init(self, problem: Problem) -> None: ...

    def choose(
        self, problem: Problem, memory: None, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, None]:
        return int(observations.asked.argmin()), None


def test_rows(reference: Results) -> None:
    assert len(reference) == len(rows(reference)) == 2 * 2 * 12 * 2
    assert reference.complete
    assert reference.ending is None
    row = rows(reference)[0]
    assert list(row)[:8] == ["rule", "stopping", "trial", "delta", "log_inv_delta", "pulls", "stopped", "correct"]
    assert row["pulls"] == max(row["decided at: x"], row["decided at: y"])
    for rows_of_trial in reference.trials:
        assert (rows_of_trial.arm_pulls.sum(axis=2) == rows_of_trial.pulls).all()
        assert (np.diff(rows_of_trial.pulls, axis=1) >= 0).all()


def test_one_trajectory_answers_what_separate_runs_do(reference: Results) -> None:
    seen = {(r["rule"], r["stopping"], r["trial"], round(r["delta"], 9)): r for r in rows(reference)}
    for policy in POLICIES:
        for delta in (0.1, 0.01):
            for row in simulate(WORLD, policy, deltas=delta, trials=3, seed=4):
                assert seen[row["rule"], row["stopping"], row["trial"], round(delta, 9)] == row


def test_it_is_the_trial_that_run_shows(reference: Results) -> None:
    from mobai.lab.trial import run_trial

    trial = run_trial(WORLD, POLICIES[0], 0.01, seed=4)
    row = next(r for r in rows(reference) if r["rule"] == "top-two" and r["delta"] < 0.05 and r["trial"] == 0)
    assert row["pulls"] == trial.verdict.pulls


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(reference: Results, backend: str) -> None:
    with joblib.parallel_config(backend=backend):
        found = simulate(WORLD, POLICIES, **SETTINGS, n_jobs=2)
    assert rows(found) == rows(reference)


def test_a_dask_cluster_changes_nothing(reference: Results) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert len(cluster.workers) == 2
        found = simulate(WORLD, POLICIES, **SETTINGS)
    assert rows(found) == rows(reference)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_finished_trials(reference: Results, tmp_path: Path, n_jobs: int) -> None:
    out = tmp_path / "r.parquet"

    def interrupt(progress: Progress) -> None:
        if progress.done == 5:
            raise KeyboardInterrupt

    found = simulate(WORLD, POLICIES, **SETTINGS, n_jobs=n_jobs, out=out, watch=interrupt)
    assert found.ending == "interrupted"
    assert not found.complete
    assert len(found.trials) == 5
    assert sum(map(len, found.missing.values())) == 19
    assert "5 of 24 trials, interrupted" in repr(found)
    assert rows(simulate(WORLD, POLICIES, **SETTINGS, out=out)) == rows(reference)


def test_a_dead_worker_costs_only_what_was_not_finished(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    policies: list[Any] = [TopTwo(), Stubborn(os.getpid(), dies_at=25)]
    found = simulate(WORLD, policies, trials=6, n_jobs=2, out=out)
    assert found.ending is not None
    assert "a worker died" in found.ending
    assert not found.complete
    assert len(Results.load(out).trials) == len(found.trials)
    whole = simulate(WORLD, policies, trials=6, out=out)
    assert whole.complete
    assert rows(whole) == rows(simulate(WORLD, policies, trials=6))


def test_a_rule_in_plain_python() -> None:
    found = simulate(WORLD, [Stubborn(), Uniform()], trials=3, max_pulls=3000)
    assert {row["rule"] for row in found} == {"stubborn", "uniform"}
    shares = [trial.arm_pulls[0, 0, 0] / trial.length for trial in found.trials if trial.rule == "stubborn"]
    assert min(shares) > 0.4


def test_a_rule_that_carries_its_delta() -> None:
    rule = "successive-elimination:delta=0.1"
    found = simulate(WORLD, [rule, "top-two"], deltas=0.1, trials=3)
    assert {row["stopping"] for row in found if row["rule"] == rule} == {"elimination"}
    with pytest.raises(InputError, match=r"was set up for 0.1 and can answer no other, not 0.05"):
        simulate(WORLD, rule, deltas=[0.1, 0.05])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 0}, "trials must be a whole number, 1 or more, not 0"),
        ({"max_pulls": 2.5}, "max_pulls must be a whole number"),
        ({"seed": -1}, "seed must be a whole number, 0 or more"),
        ({"deltas": [0.1, 2]}, "delta must be a number between 0 and 1"),
        ({"deltas": []}, "deltas: at least one is needed"),
        ({"deltas": 0.1, "log_inv_deltas": 3.0}, "only one of deltas and log_inv_deltas"),
        ({"log_inv_deltas": [-1.0]}, "log_inv_delta must be a positive finite number"),
        ({"policies": []}, "policies: at least one is needed"),
        ({"policies": ["top-two", TopTwo()]}, "top-two with mixture is given twice"),
        ({"policies": ["luck"]}, "rule must be one of"),
        ({"policies": [3]}, "sampling must be a sampling rule"),
        ({"policies": None}, "sampling must be a sampling rule"),
        ({"policies": [Plain(), Plain()]}, "two rules are both called plain; make them dataclasses"),
        ({"policies": Plain(), "out": "r.parquet"}, "the rule plain must be a dataclass"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of workers, -1 for all cores, or None, not 0"),
        ({"instance": "ads"}, "instance must be an Instance, not 'ads'"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"instance": WORLD, "policies": "top-two", "trials": 1, **change}
    with pytest.raises(InputError, match=message):
        simulate(**arguments)


def test_numbers_of_numpy_and_two_spellings_of_a_delta(reference: Results) -> None:
    found = simulate(WORLD, POLICIES, deltas=np.array([0.1, 0.01, 1 - 0.9]), trials=np.int64(12), seed=np.int64(4))  # type: ignore[arg-type]
    assert rows(found) == rows(reference)
    both = simulate(WORLD, "successive-elimination:delta=0.1", deltas=[0.1, 1 - 0.9], trials=1)
    assert len(both) == 1


def test_an_error_in_a_rule_is_raised_after_saving(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    with pytest.raises(ZeroDivisionError):
        simulate(WORLD, [Uniform(), Stubborn(dies_at=30, by_error=True)], trials=3, out=out)
    assert len(Results.load(out).trials) == 3


def test_dollars_in_names_are_drawn(tmp_path: Path) -> None:
    world = Instance([[1.0], [0.0]], arms=["$5", "b$x_{$"])
    save_plot(simulate(world, TopTwo(), trials=2), tmp_path / "p.svg")
    assert (tmp_path / "p.svg").exists()
