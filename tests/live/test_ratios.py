"""Ratios of totals: evidence against the formula with products, errors at the boundary, and every door."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import mobai
from mobai import Experiment, InputError, Instance, Objective, Problem, Ratio
from mobai.kernels.evidence.betting import LOG_WEIGHTS, SHARES
from mobai.kernels.evidence.scores import MIXTURE, Scoring
from mobai.kernels.trials.engine import weigh
from mobai.problem import FloatArray
from mobai.problem.codec import problem_json, problem_of
from mobai.store.journal import MemoryJournal
from mobai.theory.forecast import forecast_samples
from mobai.theory.observations import Moment, Observations
from mobai.theory.thresholds import no_prices

SPEC = "revenue/sessions:bounded=0..64/0..8"


def told(spec: str, *arms: FloatArray) -> Observations:
    objective = Objective.parse(spec)
    assert isinstance(objective.family, Ratio)
    seen = Observations(Problem(len(arms), [objective]))
    values = [objective.family.packed(objective.name, *map(float, pair)) for rows in arms for pair in rows]
    indices = np.repeat(np.arange(len(arms)), [len(rows) for rows in arms])
    rewards = objective.sign * np.array(values)[:, None]
    seen.tell_all(Moment(indices, rewards, np.ones(len(indices), np.bool_)))
    return seen


def evidence(seen: Observations) -> float:
    found = np.empty(1)
    weigh(Scoring(MIXTURE, no_prices(2), 0.0), seen.arrays, found)
    return float(found[0])


def wealth(pairs: FloatArray, t: float, above: bool) -> float:
    """Return the log-wealth of bets on an arm, by its definition; t in units of the largest values."""
    y, x = pairs[:, 0] / 64, pairs[:, 1] / 8
    logs = [math.log(0.03)]
    for weight, u in zip(LOG_WEIGHTS, SHARES, strict=True):
        logs.append(weight + float(np.log(1 - u * x + u * y / t if above else 1 - u * y + u * t * x).sum()))
    return float(np.logaddexp.reduce(logs))


def by_definition(high: FloatArray, low: FloatArray, eps: float = 0.0) -> float:
    """Return the least product of two wealths over all ratios between, from many starts."""

    def both(s: float) -> float:
        t = math.exp(s)
        return wealth(high, t, True) + wealth(low, t + eps / 8, False)

    cuts = np.linspace(-12, 4, 17)
    found = [
        minimize_scalar(both, bounds=(a, b), method="bounded", options={"xatol": 1e-10}).fun
        for a, b in pairwise(cuts.tolist())
    ]
    return float(min(found))


def pairs(rng: np.random.Generator, count: int, lift: float = 1.0, whole: bool = True) -> FloatArray:
    sessions = rng.integers(1, 9, size=count).astype(float)
    spent = rng.integers(0, 8, size=count) * sessions if whole else np.exp(rng.normal(size=count)) * sessions
    return np.column_stack([np.clip(lift * spent * (rng.random(count) < 0.6), 0, 64), sessions])


@given(st.integers(0, 10_000), st.sampled_from(["max", "min"]), st.sampled_from([0.0, 0.5]))
@settings(max_examples=60, deadline=None)
def test_the_evidence_is_its_definition(seed: int, way: str, eps: float) -> None:
    """On whole numbers, which are points of the grid, to the precision of the search; below it elsewhere."""
    rng = np.random.default_rng(seed)
    one, other = (pairs(rng, int(n)) for n in rng.integers(1, 200, size=2))
    spec = f"revenue/sessions:{way}:bounded=0..64/0..8" + (f":eps={eps}" if eps else "")
    seen = told(spec, one, other)
    b = int(seen.leaders[0])
    arms = (one, other)
    high, low = (arms[b], arms[1 - b]) if way == "max" else (arms[1 - b], arms[b])
    exact = by_definition(high, low, eps)
    assert evidence(seen) == pytest.approx(exact, abs=2e-5 * max(1.0, abs(exact)))


def test_a_grid_lowers_the_evidence_a_little() -> None:
    rng = np.random.default_rng(0)
    one, other = pairs(rng, 1500, 1.4, whole=False), pairs(rng, 1500, whole=False)
    found, exact = evidence(told(SPEC, one, other)), by_definition(one, other)
    assert 0.98 * exact < found <= exact + 1e-6
    assert exact > 5


def test_equal_ratios_are_decided_in_at_most_a_share_of_delta() -> None:
    """Of visitors of whom those with many sessions spend little in each, in one arm; looked at again and again."""
    wrong, runs = 0, 100
    for run in range(runs):
        rng = np.random.default_rng(run)
        one = pairs(rng, 1000, whole=False)
        x = rng.integers(1, 9, size=1000)
        other = np.column_stack([np.where(x == 1, 8.0, 0.0), x]).astype(float)
        other[:, 0] = np.clip(other[:, 0], 0, 64)
        ratio = 1.0 / 4.5  # of the other: 8 (1/8) over 4.5
        scale = ratio / (0.6 * math.exp(0.5))
        one[:, 0] *= scale
        for n in (20, 50, 100, 300, 1000):
            seen = told(SPEC, one[:n], other[:n])
            if evidence(seen) > math.log(1 / 0.2):
                wrong += 1
                break
    assert wrong <= 0.2 * runs


def test_intervals_hold_the_true_ratio() -> None:
    missed = 0
    for run in range(60):
        rng = np.random.default_rng(run)
        test = Experiment.create(MemoryJournal(), "x", ["a", "b"], [SPEC], rule="uniform", delta=0.2)
        for y, x in pairs(rng, 40, whole=False).tolist():
            (one,) = test.ask(1)
            test.tell(one, {"revenue": y, "sessions": x})
        found, true = test.status().intervals, 0.6 * math.exp(0.5)
        missed += not (found.lower <= true + 0.02).all() or not (found.upper >= true - 0.02).all()
    assert missed <= 0.2 * 60


def test_numbers_come_back_as_they_were_reported() -> None:
    family = Ratio(0, 200, 0, 20)
    for above, below in ((12.5, 3.0), (0.0, 0.0), (200.0, 20.0), (17.59, 1.0), (0.01, 19.999)):
        assert family.unpacked(family.packed("y/x", above, below)) == (above, below)
    rng = np.random.default_rng(0)
    for above, below in (rng.random((500, 2)) * [200, 20]).tolist():
        packed = family.packed("y/x", above, below)
        assert family.packed("y/x", *family.unpacked(packed)) == packed
        assert family.unpacked(packed) == pytest.approx((above, below), abs=3e-6)


def live(journal: MemoryJournal | None = None, **options: object) -> Experiment:
    metrics = [SPEC, "sessions:min:bounded=0..8"]
    limits = ["errors/sessions:bounded=0..8/0..8:at-most=0.5:eps=0.1"]
    return Experiment.create(
        journal or MemoryJournal(),
        "x",
        ["a", "b"],
        metrics,
        guardrails=limits,
        baseline="a",
        **options,  # type: ignore[arg-type]
    )


def test_a_live_experiment_reports_both_numbers_and_keeps_them() -> None:
    test, rng = live(), np.random.default_rng(1)
    for _ in range(300):
        given = test.ask(2)
        rows = [pairs(rng, 1, 2.0 if one.arm == "b" else 1.0)[0].tolist() for one in given]
        test.tell_all(
            [(one, {"revenue": y, "sessions": x, "errors": 0.0}) for one, (y, x) in zip(given, rows, strict=True)]
        )
    status = test.status()
    assert status.verdict.answers[0] == "b"
    assert status.verdict.decisions[0] is not None
    assert [state.name for state in status.verdict.limits[0]] == ["KEPT", "KEPT"]
    assert status.differences is not None
    assert status.differences.lower[1, 0] > 0
    (record, *_) = test.records()
    assert {"revenue", "sessions", "errors"} <= set(record)
    assert "revenue/sessions" not in record
    replayed = test.replay()
    assert replayed.verdict.evidence.tolist() == status.verdict.evidence.tolist()
    assert test.verify().intact
    problem = test.problem
    assert problem_of(problem_json(problem)) == problem
    assert problem.reported == ("revenue", "sessions", "errors")


def test_both_numbers_come_together() -> None:
    test = live()
    (one, other) = test.ask(2)
    with pytest.raises(InputError, match=r"'sessions' must be reported together with revenue"):
        test.tell(one, {"revenue": 3.0})
    with pytest.raises(InputError, match=r"'revenue' must be a number from 0 to 64, not 65"):
        test.tell(one, {"revenue": 65.0, "sessions": 1.0, "errors": 0.0})
    with pytest.raises(InputError, match="'sessions' must be a number from 0 to 8"):
        test.tell(one, {"revenue": 6.0, "sessions": 9.0, "errors": 0.0})
    assert test.status().rewards.sum() == 0
    test.tell(one, {"revenue": None, "sessions": 2.0, "errors": 1.0})
    test.drop(other)
    assert test.status().rewards.sum(axis=0).tolist() == [0, 1, 1]
    assert test.replay().rewards.tolist() == test.status().rewards.tolist()


def test_a_drop_counts_as_the_worst_and_its_own_name_is_refused() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], [SPEC], rule="uniform")
    one, other, third, last = test.ask(4)
    test.drop(one)
    test.drop(other, reason="lost")
    with pytest.raises(InputError, match="is reported as its two numbers, revenue and sessions"):
        test.tell(third, {"revenue/sessions": 4})
    test.tell_all([(third, {"revenue": 4, "sessions": 2}), (last, {"revenue": 3, "sessions": 0})])
    status = test.status()
    assert (status.dropped, status.worst, status.rewards.sum()) == (2, 1, 2)
    assert test.replay().rewards.tolist() == status.rewards.tolist()
    assert test.verify().intact


def test_logs_and_what_cannot_be() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"arm": arm, "revenue": y, "sessions": x}
        for arm, lift in (("a", 1.0), ("b", 1.6))
        for y, x in pairs(rng, 1200, lift, whole=False).tolist()
    ]
    found = mobai.analyse(rows, [SPEC])
    assert found.verdict.answers == ("b",)
    totals = [sum(row[name] for row in rows if row["arm"] == "b") for name in ("revenue", "sessions")]
    assert found.means[1, 0] == pytest.approx(totals[0] / totals[1], rel=1e-6)
    with pytest.raises(InputError, match="row 1: metric 'revenue' must be a number from 0 to 64"):
        mobai.analyse([{"arm": "a", "revenue": 99, "sessions": 1}, *rows], [SPEC])
    with pytest.raises(InputError, match="there is no column 'sessions'"):
        mobai.analyse([{"arm": "a", "revenue": 3}], [SPEC])
    with pytest.raises(InputError, match="must lie between 0 and 64"):
        Instance([[1.0], [20.0]], objectives=[SPEC])


def test_simulations_and_plans() -> None:
    instance = Instance([[2.0], [3.0]], 2.0, ["a", "b"], objectives=[SPEC])
    family = instance.objectives[0].family
    assert isinstance(family, Ratio)
    drawn = [
        family.unpacked(one) for one in family.draw(3.0, 2.0, np.random.default_rng(0).normal(size=20_000)).tolist()
    ]
    above, below = np.array(drawn).sum(axis=0)
    assert above / below == pytest.approx(3.0, rel=0.02)
    assert np.std([y for y, _ in drawn]) / 4 == pytest.approx(2.0, rel=0.02)
    found = mobai.simulate(instance, "top-two", trials=20, deltas=[0.05], seed=1)
    (row,) = found.summary()
    assert (row.error, row.stopped) == (0, 20)
    bound = mobai.lower_bound(instance)
    planned = forecast_samples(instance, bound.weights, math.log(20))
    assert 0.4 * planned < row.mean < 2.5 * planned
    assert row.bound is not None
    assert row.bound < row.mean


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("revenue:bounded=0..200/1..20", "called after what is reported"),
        ("a/b/c:bounded=0..200/1..20", "called after what is reported"),
        ("a/a:bounded=0..200/1..20", "called after what is reported"),
        ("a/b:bounded=-5..200/1..20", "must be 0 or more"),
        ("a/b:bounded=0..200/20..1", "must be 0 or more"),
        ("a/b:bounded=0..200/x", "bounded"),
        ("a/b:bounded=0..2/1..2:window=1h:otherwise=0", "is not for a ratio"),
    ],
)
def test_what_is_no_ratio(spec: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Objective.parse(spec)


def test_margins_and_items_are_refused() -> None:
    with pytest.raises(InputError, match="a ratio has no margin"):
        Problem(["a", "b"], ["x:bernoulli"], guardrails=["y/z:bounded=0..1/0..1:within=0.1:of=a"])
    with pytest.raises(InputError, match="differences of ratios"):
        Experiment.create("memory:", "x", ["a", "b"], [SPEC], items=10)


def test_a_metric_of_that_very_name_is_one() -> None:
    assert Problem(["a", "b"], ["clicks/views:bounded=0..1"]).check_rewards({"clicks/views": 0.5}) == [0.5]
