"""Quantiles through every door: names and columns, limits, live, snapshots, analysis, simulation, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mobai
from mobai import Experiment, Guardrail, InputError, Objective, Problem, Quantile
from mobai.cli.main import group
from mobai.kernels.stats.observations import LimitState
from mobai.live import ledger as ledger_module
from mobai.live.local import LocalExperiment
from mobai.problem.codec import problem_json, problem_of
from mobai.store.journal import MemoryJournal

TIMES = ["latency:min:p95:bounded=0..30000"]
SLOW = "latency:p99:at-most=2000:eps=100"


def times(rng: np.random.Generator, arm: str) -> dict[str, float]:
    return {"latency": float(np.exp(5 + 0.5 * rng.normal()) * {"a": 1.0, "b": 1.7, "c": 2.5}[arm])}


def run(test: Experiment, pulls: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(pulls // 5):
        given = test.ask(5)
        test.tell_all([(one, times(rng, one.arm)) for one in given])


def test_a_quantile_is_called_after_its_column_and_several_read_one() -> None:
    problem = Problem(["a", "b"], ["latency:min:p95", "latency:min:p50", "clicks:bernoulli"], guardrails=[SLOW])
    assert problem.metric_names == ("latency p95", "latency p50", "clicks", "latency p99")
    assert problem.reported == ("latency", "clicks")
    assert problem.check_rewards({"latency": 3, "clicks": 1}) == [3.0, 3.0, 1.0, 3.0]
    assert problem.check_rewards({"latency p95": 3, "clicks": 1})[0] == 3.0
    with pytest.raises(InputError, match=r"'latency p95' is given twice, as 3\.0 and 4\.0"):
        problem.check_rewards({"latency": 3, "latency p95": 4})
    with pytest.raises(InputError, match="names must be among latency, clicks"):
        problem.check_rewards({"latencies": 3})
    assert problem_of(problem_json(problem)) == problem
    assert Quantile(1 / 3) == Objective.parse("x:p33.33333333").family
    assert Objective("latency", "min", Quantile(0.95)) == Objective.parse("latency:min:p95")
    assert Guardrail.parse(SLOW).column == "latency"


@pytest.mark.parametrize(
    ("limit", "family"),
    [
        ("latency:p99:at-most=500", Quantile(0.99, 0, 30000)),
        ("latency:p99:bounded=0..900:at-most=500", Quantile(0.99, 0, 900)),
        ("other:p99:at-most=500", Quantile(0.99)),
        ("latency:p95:at-most=500", None),
        ("latency p95:at-most=500", None),
    ],
)
def test_a_limit_has_the_range_of_the_objective_that_reads_its_column(limit: str, family: object) -> None:
    (found,) = Problem(["a", "b"], TIMES, guardrails=[limit]).guardrails
    assert found.family == family
    assert Problem(["a", "b"], TIMES, guardrails=[str(found)]).guardrails == (found,)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("latency:min:p0", "level must be from p0.0001 to p99.9999"),
        ("latency:min:p100", "level must be from p0.0001 to p99.9999"),
        ("latency:min:p99.99999999999", "level must be from p0.0001"),
        ("latency:p50:bounded=0..1e-320", "the range must reach"),
        ("latency:p95:bernoulli", "state nothing but a range"),
        ("latency:p95:unknown-variance", "state nothing but a range"),
        ("latency:p95:bins=10", "bins belongs to"),
        ("latency:p95:p99", "its level is given twice"),
        ("latency:95", "is not an option"),
    ],
)
def test_what_is_no_quantile(spec: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Objective.parse(spec)


def test_items_compare_no_quantiles() -> None:
    with pytest.raises(InputError, match="differences of quantiles are not quantiles of differences"):
        Experiment.create("memory:", "x", ["a", "b"], TIMES, items=50)


@pytest.mark.parametrize("way", ["max", "min"])
def test_what_is_refused_and_what_counts_as_an_end(way: str) -> None:
    problem = Problem(["a", "b"], [f"x:{way}:p50"])
    with pytest.raises(InputError, match="0 or more, unless a range is stated"):
        problem.check_rewards({"x": -1})
    with pytest.raises(InputError, match="must lie between 0 and inf"):
        mobai.Instance([[-1.0], [1.0]], objectives=[f"x:{way}:p50"])
    for value in (0.0, 1e-9, 1e12):
        assert problem.check_rewards({"x": value}) == [value]
    with pytest.raises(InputError, match="a number from -5 to 5, not -100"):
        Problem(["a", "b"], ["x:p50:bounded=-5..5"]).check_rewards({"x": -100})


@pytest.mark.parametrize("way", ["min", "max"])
def test_beyond_a_billion_nothing_is_told_apart_and_nothing_is_said(way: str) -> None:
    """Values in nanoseconds were counted as a billion each, and two seconds and five were called equal."""
    rng, means = np.random.default_rng(0), {"a": 5e9, "b": 2e9}
    rows = [{"arm": arm, "ns": float(rng.normal(means[arm], 1e8)), "c": 1} for _ in range(500) for arm in "ab"]
    found = mobai.analyse(rows, [f"ns:{way}:p50:eps=1000"], baseline="a")
    assert found.verdict.decisions == (None,)
    assert found.verdict.contention[0].within is None
    assert found.verdict.contention[0].apart is None
    assert found.differences is not None
    assert np.isinf(found.differences.lower[1]).all()
    assert np.isinf(found.differences.upper[1]).all()
    assert np.isinf(found.intervals.upper).all()
    limited = mobai.analyse(rows, ["c:bernoulli"], guardrails=["ns:p50:at-least=3e9:eps=1000"])
    assert [state.name for state in limited.verdict.limits[0]] == ["OPEN", "OPEN"]
    below = mobai.analyse(rows, ["c:bernoulli"], guardrails=["ns:p50:at-least=1e8:eps=1e7"])
    assert [state.name for state in below.verdict.limits[0]] == ["KEPT", "KEPT"]


def test_equal_values_are_no_doubt() -> None:
    rows = [{"arm": arm, "l": value} for arm, value in (("a", 5.0), ("b", 6.0))] * 600
    found = mobai.analyse(rows, ["l:min:p50"])
    assert found.verdict.certified
    assert found.verdict.answers == ("a",)
    assert found.verdict.decisions[0] is not None


def test_a_live_experiment_decides_and_a_snapshot_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 10)
    journal = MemoryJournal()
    test = Experiment.create(journal, "x", ["a", "b", "c"], TIMES, guardrails=[SLOW], baseline="a", seed=1)
    run(test, 4000)
    status = test.status()
    assert status.verdict.answers == ("a",)
    assert status.verdict.limits[0][0] == LimitState.KEPT
    assert journal.snapshot(journal.find("x")) is not None
    for other in (Experiment.load(journal, "x").status(), test.replay()):
        assert other.intervals.lower.tolist() == status.intervals.lower.tolist()
        assert other.verdict.evidence.tolist() == status.verdict.evidence.tolist()
    true = np.exp(5 + 0.5 * 1.6448536)
    assert status.intervals.lower[0, 0] < true < status.intervals.upper[0, 0]
    assert test.verify().intact
    text = str(test)
    assert "latency p95 (interval)" in text
    assert "mean" not in text


def test_a_drop_counts_as_the_worst() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], TIMES, rule="uniform")
    given = test.ask(40)
    test.tell_all([(one, {"latency": 100.0}) for one in given[:38]])
    test.drop(given[38])
    test.drop(given[39], reason="lost")
    assert isinstance(test, LocalExperiment)
    state = test._ledger._state
    assert state is not None
    arrays = state.engine.observations.arrays
    assert arrays.worst.sum() == 1  # what is lost is left out
    assert arrays.counts.sum() == 38


def test_a_window_gives_what_has_not_come_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    spec = "latency:min:p95:bounded=0..30:window=30s:otherwise=30"
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], [spec], rule="uniform")
    given = test.ask(4)
    test.tell(given[0], {"latency": 2.0})
    now[0] += 31
    status = test.status()
    assert status.rewards.sum() == 4
    assert np.nanmax(status.means) == pytest.approx(30.0)


def test_analysis_reads_the_column_and_so_does_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [{"arm": arm, **times(rng, arm)} for _ in range(1500) for arm in "abc"]
    found = mobai.analyse(rows, ["latency:min:p95", "latency:min:p50"], guardrails=[SLOW])
    assert found.verdict.answers == ("a", "a")
    assert found.verdict.limits[0][0] == LimitState.KEPT
    file = tmp_path / "log.csv"
    file.write_text("arm,latency\n" + "".join(f"{row['arm']},{row['latency']}\n" for row in rows))
    result = CliRunner().invoke(group, ["analyse", str(file), "--objective", "latency:min:p95", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["objectives"][0]["decided_arm"] == "a"


def test_simulations_and_plans() -> None:
    instance = mobai.Instance([[300.0], [400.0], [500.0]], 600.0, objectives=["latency:min:p95"], arms=list("abc"))
    one, two = (mobai.simulate(instance, "top-two", trials=20, deltas=[0.05], seed=1, n_jobs=n) for n in (1, 2))
    assert list(one) == list(two)
    (row,) = one.summary().rows
    assert row.error == 0
    assert not mobai.lower_bound(instance).exact
    family = instance.objectives[0].family
    draws = family.draw(300.0, 600.0, np.random.default_rng(0).normal(size=200_000))
    assert np.quantile(draws, 0.95) == pytest.approx(300.0, rel=0.02)


def test_late_values_and_a_pool_are_read_in_the_order_of_asking() -> None:
    """Slow results come last, and fast ones of the worse arm do not make it look better meanwhile."""
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], TIMES, rule="uniform", seed=2)
    rng = np.random.default_rng(2)
    given = test.ask(200)
    values = sorted(((times(rng, one.arm)["latency"], one) for one in given), key=lambda pair: pair[0])
    for value, one in values[:150]:
        test.tell(one, {"latency": value})
    assert test.status().rewards.sum() < 150
    for value, one in values[150:]:
        test.tell(one, {"latency": value})
    assert test.status().rewards.sum() == 200
