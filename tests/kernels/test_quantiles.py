"""Evidence about quantiles: against the formula with products, on ties and at its boundary, and what it saves."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from benchmarks.quantiles import compare
from hypothesis import given, settings
from hypothesis import strategies as st

from mobai import Objective, Problem, Quantile
from mobai.kernels.evidence.betting import LOG_ABSTAINED, LOG_WEIGHTS, SHARES
from mobai.kernels.evidence.scores import MIXTURE, Scoring
from mobai.kernels.trials.engine import weigh
from mobai.problem import FloatArray
from mobai.theory.intervals import IntervalLevels, confidence_intervals
from mobai.theory.observations import Moment, Observations
from mobai.theory.thresholds import no_prices


def told(spec: str, *rewards: FloatArray) -> Observations:
    """Return observations of arms with these rewards, in the metric's own direction."""
    objective = Objective.parse(spec)
    seen = Observations(Problem(len(rewards), [objective]))
    arms = np.repeat(np.arange(len(rewards)), [len(one) for one in rewards])
    seen.tell_all(Moment(arms, objective.sign * np.concatenate(rewards)[:, None], np.ones(len(arms), np.bool_)))
    return seen


def evidence(seen: Observations) -> float:
    found = np.empty(1)
    weigh(Scoring(MIXTURE, no_prices(2), 0.0), seen.arrays, found)
    return float(found[0])


def wealth(lost: int, won: int, chance: float) -> float:
    """Return the log-wealth of bets on coins that win with a chance, by its definition."""
    bets = [math.log(0.03)]
    for weight, u in zip(LOG_WEIGHTS, SHARES, strict=True):
        bets.append(weight + lost * math.log(1 - u) + won * math.log(1 - u + u / chance))
    return float(np.logaddexp.reduce(bets))


def by_definition(better: FloatArray, worse: FloatArray, p: float, eps: float) -> float:
    """Return the evidence that the quantile of ``better`` plus eps is above that of ``worse``: rewards to maximise.

    The least over *all* numbers between: it changes only at rewards, and just above and below them.
    """
    points = np.unique(np.concatenate([better, worse - eps]))
    gaps = np.concatenate([points, points[:-1] + np.diff(points) / 2, [points[0] - 1, points[-1] + 1]])
    return min(
        wealth(int((better <= y).sum()), int((better > y).sum()), 1 - p)
        + wealth(int((worse >= y + eps).sum()), int((worse < y + eps).sum()), p)
        for y in gaps
    )


@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.9, 0.95]), st.sampled_from(["max", "min"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_never_above_the_definition_and_equal_on_whole_cells(seed: int, p: float, way: str, with_eps: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes, sign, eps = rng.integers(1, 150, size=2), 1.0 if way == "max" else -1.0, 5.0 if with_eps else 0.0
    one, other = (np.round(100 + shift + 20 * rng.normal(size=n)) + 0.5 for n, shift in zip(sizes, (0, 8), strict=True))
    # Cells of width 1 with their edges between the rewards: nothing but the order counts, and no candidate is lost.
    seen = told(f"x:{way}:p{100 * p:g}:bounded=-500..500:bins=1000" + (":eps=5" if with_eps else ""), one, other)
    values = [sign * one, sign * other]
    b = int(seen.leaders[0])
    exact = by_definition(values[b], values[1 - b], p if sign > 0 else 1 - p, eps)
    found = evidence(seen)
    assert found <= exact + 1e-9
    # What is lost is at most what one cell makes of the other arm.
    moved = by_definition(values[b], values[1 - b] + 2.0, p if sign > 0 else 1 - p, eps)
    assert found >= moved - 1e-9


def test_a_bet_has_mean_one_where_it_is_fair() -> None:
    for chance in (0.05, 0.5, 0.99):
        expected = [chance * (1 - u + u / chance) + (1 - chance) * (1 - u) for u in SHARES]
        assert np.allclose(expected, 1.0, rtol=1e-12)
    assert math.exp(LOG_ABSTAINED) + sum(map(math.exp, LOG_WEIGHTS)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("spec", "draw"),
    [
        ("x:min:p90:bounded=0..100", lambda rng, n: rng.choice([10.0, 20.0, 30.0], p=[0.5, 0.4, 0.1], size=n)),
        ("x:max:p50:bounded=-10..10", lambda rng, n: rng.choice([-1.0, 1.0], size=n)),
        ("x:min:p95", lambda rng, n: np.exp(rng.normal(size=n))),
    ],
)
def test_equal_arms_are_decided_in_at_most_a_share_of_delta(spec: str, draw: object) -> None:
    """At the boundary, with atoms on the quantile itself and looks after every batch, at delta = 0.2."""
    wrong, runs = 0, 150
    for run in range(runs):
        rng, seen = np.random.default_rng(run), None
        values = [draw(rng, 1500) for _ in range(2)]  # type: ignore[operator]
        for n in (20, 50, 100, 200, 400, 800, 1500):
            seen = told(spec, *(one[:n] for one in values))
            if evidence(seen) > math.log(1 / 0.2):
                wrong += 1
                break
    assert wrong <= 0.2 * runs


def test_the_control_that_counts_ties_as_losses_of_the_other_is_fooled() -> None:
    """With ties counted for either side, two equal arms with atoms beat each other: the test above can fail."""
    rng = np.random.default_rng(0)
    one, other = (rng.choice([10.0, 20.0], p=[0.5, 0.5], size=2000) for _ in range(2))
    fooled = max(
        wealth(int((one < 10).sum()), int((one >= 10).sum()), 0.5)
        + wealth(int((other > 20).sum()), int((other <= 20).sum()), 0.5),
        0.0,
    )
    assert fooled > 100 > by_definition(one, other, 0.5, 0.0)


@pytest.mark.parametrize("shape", ["lognormal", "exponential", "bimodal"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_third_of_the_samples_of_two_confidence_sequences(shape: str, level: float) -> None:
    found = compare(shape, level, runs=12)
    assert found.wrong == (0, 0)
    assert found.ours <= 0.35 * found.sequences


@pytest.mark.parametrize("spec", ["x:min:p95:bounded=0..30000", "x:p50:bounded=-50..50", "x:min:p99.9"])
def test_intervals_hold_the_true_quantile_at_all_times(spec: str) -> None:
    missed, runs, level = 0, 120, math.log(1 / 0.1)
    objective = Objective.parse(spec)
    assert isinstance(objective.family, Quantile)
    for run in range(runs):
        rng = np.random.default_rng(run)
        values = rng.normal(size=2000) if "-50" in spec else np.exp(4 + rng.normal(size=2000))
        normal = NormalDist().inv_cdf(objective.family.level)
        true = normal if "-50" in spec else math.exp(4 + normal)
        for n in (10, 100, 500, 2000):
            seen = told(spec, values[:n], values[:n])
            found = confidence_intervals(
                Problem(2, [objective]), seen, IntervalLevels(np.full(2, level), level), (None,)
            )
            if not found.lower[0, 0] - 0.02 * abs(true) <= true <= found.upper[0, 0] + 0.02 * abs(true):
                missed += 1
                break
    assert missed <= 0.1 * runs
    if "99.9" in spec:  # which 2,000 rewards cannot bound from above
        assert math.isinf(found.upper[0, 0])
    else:
        assert 0 < found.upper[0, 0] - found.lower[0, 0] < 1.5 * max(abs(true), 1.0)


def test_sampling_looks_at_both_arms() -> None:
    """A first reward says nothing of a 95th percentile, and neither arm may starve for it."""
    from mobai import GLR, Policy, TopTwo

    session = Policy(TopTwo(), GLR()).start(Problem(["a", "b"], ["latency:min:p95:bounded=0..30000"]), seed=0)
    rng = np.random.default_rng(3)
    while not session.verdict(0.05).stopped:
        arm = session.ask()
        session.tell(arm, {"latency": float(np.exp(5 + 0.5 * rng.normal()) * (1 + 0.6 * int(arm)))})
        assert session.observations.pulls.sum() < 3000
    assert session.verdict(0.05).answers == ("a",)
    assert session.observations.pulls.min() > 20


@pytest.mark.parametrize(("level", "least"), [("p50", 9), ("p90", 60), ("p95", 125), ("p99", 670)])
def test_what_a_quantile_takes_at_the_least(level: str, least: int) -> None:
    """The figures of docs/families.md: two arms that never overlap, at delta = 0.05."""
    needed = math.log(1 / (0.9 * 0.05))
    for count, decides in ((least - 1, False), (least, True)):
        seen = told(f"x:min:{level}:bounded=0..1000", np.full(count, 1.0), np.full(count, 100.0))
        assert (evidence(seen) > needed) == decides
