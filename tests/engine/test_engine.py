"""The engine: kept up to date reward by reward, it knows what a computation from scratch knows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobai import GLR, InputError, Problem, TopTwo, Uniform
from mobai.engine.asks import LEFT_OUT, Resolution
from mobai.engine.engine import Engine
from mobai.rules.stopping import Elimination
from mobai.theory.observations import Observations
from mobai.theory.thresholds import THRESHOLDS, evidence_of

OBJECTIVES = ["g", "s:min:subgaussian=2:eps=0.1", "u:unknown-variance", "c:min:bernoulli", "b:bounded=-1..3:eps=0.05"]
LEVEL = math.log(5)


def whole(number: int, told: Any) -> Resolution:
    return Resolution(number, [LEFT_OUT if math.isnan(one) else one for one in told])


def problem(arms: int = 4) -> Problem:
    return Problem(arms, OBJECTIVES, sd=[1.0, 2.0, math.nan, math.nan, math.nan])


def rewards(rng: np.random.Generator) -> list[float]:
    """One reward per objective, some missing, many equal."""
    drawn = [rng.normal(), rng.normal(0, 2), float(rng.integers(3)), float(rng.random() < 0.4), rng.uniform(-1, 3)]
    return [math.nan if rng.random() < 0.1 else value for value in drawn]


def from_scratch(kept: Observations, problem: Problem) -> Observations:
    return kept.with_arms(problem, range(problem.shape[0]))


def assert_up_to_date(engine: Engine) -> None:
    """Both views have the bits of views computed from counts, sums and scatter, but for rows marked stale."""
    sampled = Problem([engine.problem.arms[i] for i in np.flatnonzero(engine.active)], OBJECTIVES, engine.problem.sd[0])
    for kept, known in ((engine.observations, engine.problem), (engine.sampling.observations, sampled)):
        fresh, current = from_scratch(kept, known).arrays, kept.arrays.stale == 0
        observed = kept.arrays.counts > 0
        for name in ("means", "leaders", "unobserved"):
            assert getattr(kept.arrays, name).tobytes() == getattr(fresh, name).tobytes(), name
        for name in ("sd", "spread"):
            assert getattr(kept.arrays, name)[observed].tobytes() == getattr(fresh, name)[observed].tobytes(), name
        assert kept.arrays.costs[current].tobytes() == fresh.costs[current].tobytes()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_what_is_kept_up_to_date_is_what_follows_from_the_rewards(seed: int) -> None:
    """Any order of asks, answers, losses, batches, arms that come and go."""
    rng = np.random.default_rng(seed)
    engine = Engine(problem(), TopTwo(), GLR(reserve=0.1), focus_log_inv_delta=LEVEL, log_inv_delta=LEVEL)
    pending: list[tuple[int, int]] = []
    for _ in range(60):
        action = rng.integers(12)
        if action < 6 or not pending:
            arm = engine.choose(rng)
            pending.append((engine.ask(arm), arm))
        elif action < 10:
            rng.shuffle(pending)
            cut = int(rng.integers(1, len(pending) + 1))
            engine.tell_all([whole(number, rewards(rng)) for number, _ in pending[:cut]])
            pending = pending[cut:]
        elif action == 10:
            number, arm = pending.pop()
            engine.forget_ask(arm)
            engine.tell_all([Resolution(number, [LEFT_OUT] * 5)])
        elif engine.active.sum() > 2 and rng.random() < 0.5:
            engine.retire_arm(int(rng.choice(np.flatnonzero(engine.active))))
        elif engine.problem.shape[0] < 7:
            engine.add_arm(problem(engine.problem.shape[0] + 1))
        if rng.random() < 0.2:
            assert_up_to_date(engine)
    assert_up_to_date(engine)
    if pending:
        engine.tell_all([whole(number, rewards(rng)) for number, _ in pending])
    assert_up_to_date(engine)
    assert engine.observations.told + engine.asks.behind <= engine.asks.answered <= engine.observations.asked.sum()


def pair_evidence(engine: Engine, m: int, b: int, i: int, initial: int = 2) -> float:
    """The evidence that b beats i, in an experiment with these two arms, b first; of so many arms at the start."""
    kept, rows = engine.observations, [b, i]
    alone = Problem(2, [engine.problem.objectives[m]], sd=engine.problem.sd[rows][:, [m]])
    means, pulls, scatter = (np.asarray(table[rows][:, [m]], float) for table in (kept.means, kept.pulls, kept.scatter))
    two = Observations.of_statistics(alone, means, pulls, scatter)
    two.arrays.histograms[0] = kept.arrays.histograms[m, rows, : two.arrays.histograms.shape[2]]
    two.arrays.initial[0] = initial
    assert two.leaders[0] == 0
    return float(evidence_of(THRESHOLDS["mixture"], two, kept.told)[0])


def priced_by_definition(engine: Engine, initial: int, reserve: float) -> list[float]:
    """docs/guarantee.md, "Arms that come and go", written out pair by pair."""
    arms, active = engine.problem.shape[0], np.flatnonzero(engine.active).tolist()
    added = [max(arm - initial + 1, 0) for arm in range(arms)]

    def price(one: int, other: int, both_of_the_start: float) -> float:
        later = max(one, other)
        if added[later] == 0:
            return both_of_the_start
        share = reserve / 2 * 6 / (math.pi**2 * added[later] ** 2) / later
        return math.log((1 - reserve) / (initial - 1) / share)

    found = []
    for m in range(engine.problem.shape[1]):
        means = engine.observations.means[:, m]
        b = max(active, key=lambda arm: (means[arm], -arm))
        rivals = [i for i in active if i != b]
        retired = [i for i in range(initial) if i not in active]

        def of_the_start(i: int, b: int = b) -> int:
            """Pairs of the start's best arm have it in common; others stand alone."""
            return initial if max(b, i) < initial else 2

        cheap = min(pair_evidence(engine, m, b, i, of_the_start(i)) - price(b, i, 0.0) for i in rivals)
        if not retired:
            found.append(cheap)
            continue
        beaten = all((means[b], -b) > (means[i], -i) for i in retired)
        against = min(pair_evidence(engine, m, b, i, initial) for i in retired) if beaten else -math.inf
        # A share of reserve / 2 for the M K (K - 1) / 2 pairs of the start.
        all_pairs = math.log((1 - reserve) / (initial - 1) * initial * (initial - 1) / 2 / (reserve / 2))
        dear = min(pair_evidence(engine, m, b, i) - price(b, i, all_pairs) for i in rivals)
        found.append(max(min(cheap, against), dear))
    return found


@pytest.mark.parametrize(("adds", "retires"), [(0, []), (2, []), (0, [1]), (1, [0, 2]), (2, [4]), (1, [3, 0])], ids=str)
def test_prices_by_their_definition(adds: int, retires: list[int]) -> None:
    rng, reserve = np.random.default_rng(3), 0.2
    engine = Engine(problem(), Uniform(), GLR(reserve=reserve), log_inv_delta=LEVEL)
    for n in range(adds):
        engine.add_arm(problem(5 + n))
    for step in range(40 * engine.problem.shape[0]):
        arm = step % engine.problem.shape[0]
        drawn = [v if not math.isnan(v) else 0.0 for v in rewards(rng)]
        engine.tell(engine.ask(arm), [drawn[0] + arm, drawn[1] - arm, drawn[2] + arm, *drawn[3:]])
    for arm in retires:
        engine.retire_arm(arm)
    expected = priced_by_definition(engine, 4, reserve)
    assert engine.verdict().evidence == pytest.approx(expected, abs=3e-7)
    assert np.isfinite(engine.verdict().evidence).all()


def test_one_delta_or_many_decide_alike() -> None:
    """An engine that keeps only what one delta needs decides as one that can answer any."""
    for x in (0.5, 3.0, 8.0):
        many = Engine(problem(), TopTwo(), GLR(), focus_log_inv_delta=x)
        one = Engine(problem(), TopTwo(), GLR(), focus_log_inv_delta=x, log_inv_delta=x)
        coins = [np.random.default_rng(1) for _ in range(2)]
        world = np.random.default_rng(2)
        for step in range(300):
            arm = many.choose(coins[0])
            assert arm == one.choose(coins[1])
            drawn = rewards(world)
            drawn[0] += arm
            for engine in (many, one):
                engine.tell(engine.ask(arm), drawn, at=float(step))
            assert many.verdict(x).decisions == one.verdict().decisions
            assert many.stopped(x) == one.stopped() == one.verdict().stopped
        with pytest.raises(InputError, match="log_inv_delta must be"):
            one.verdict(x + 1)


def tied_batch(run: int, row_by_row: bool) -> bool:
    """200 rewards of two tied arms, sorted by arm and value; whether something was decided."""
    rng = np.random.default_rng([4, run])
    engine = Engine(Problem(2, 1, 1.0), Uniform(), GLR(), log_inv_delta=-math.log(0.05))
    rows = [(arm, value) for arm in (0, 1) for value in np.sort(rng.normal(size=100)).tolist()]
    told = [whole(engine.record(arm, more=n > 0 and not row_by_row), [value]) for n, (arm, value) in enumerate(rows)]
    for batch in [[one] for one in told] if row_by_row else [told]:
        engine.tell_all(batch)
    return engine.stopped()


def test_a_batch_is_one_moment() -> None:
    """Looked at once; row by row, the order of the rows decides nearly always: the control."""
    runs = 60
    assert sum(tied_batch(run, row_by_row=False) for run in range(runs)) <= 0.2 * runs
    assert sum(tied_batch(run, row_by_row=True) for run in range(runs)) > 0.8 * runs


@pytest.mark.parametrize(
    ("stopping", "fitted"),
    [
        (GLR(), True),
        (GLR(reserve=0.1), True),
        (GLR(at_once=True), False),
        (GLR("empirical"), False),
        (GLR("kaufmann_koolen"), False),
        (GLR("theory"), False),
        (Elimination(0.2), False),
    ],
    ids=str,
)
def test_intervals_use_decisions_of_their_own_event_alone(stopping: Any, fitted: bool) -> None:
    engine = Engine(Problem(2, 1, 1.0), Uniform(), stopping)
    for step in range(60):
        engine.tell(engine.ask(step % 2), [3.0 * (step % 2) + (step % 7) / 7])
    x = math.log(5)
    found, alone = engine.intervals(x), Engine(Problem(2, 1, 1.0), Uniform(), GLR("empirical"))
    alone._evidence.observations = engine.observations
    assert found.fitted == fitted
    if not fitted:
        assert np.array_equal(found.lower, alone.intervals(x).lower)
        assert np.array_equal(found.upper, alone.intervals(x).upper)


def test_only_the_proven_threshold_lets_arms_change() -> None:
    for stopping in (GLR("empirical"), GLR(at_once=True), Elimination(0.1)):
        engine = Engine(Problem(3, 1, 1.0), Uniform(), stopping)
        with pytest.raises(InputError, match="is not proven for arms that come and go"):
            engine.retire_arm(0)
        with pytest.raises(InputError, match="is not proven for arms that come and go"):
            engine.add_arm(Problem(4, 1, 1.0))
    with pytest.raises(InputError, match="the stopping rule has reserve=0"):
        Engine(Problem(3, 1, 1.0), Uniform(), GLR()).add_arm(Problem(4, 1, 1.0))
    for bad in (0.7, -0.1, "0.1", math.nan):
        with pytest.raises(InputError, match=r"reserve must be a number from 1e-100 to 0\.5, or 0"):
            GLR(reserve=bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"reserve must be 0, not 0\.1: only 'mixture'"):
        GLR("empirical", reserve=0.1)


def test_a_retired_arm_without_a_reserve() -> None:
    """The leader beats the retired arm as well, so nothing has to be paid."""
    engine = Engine(Problem(3, 1, 1.0), Uniform(), GLR(), log_inv_delta=LEVEL)
    engine.retire_arm(2)
    for step in range(100):
        engine.tell(engine.ask(step % 2), [float(step % 2) + math.sin(step)])
    assert not engine.stopped(), "nothing is known of the retired arm, and all pairs pay 28 nats more"
    for step in range(900):
        engine.tell(engine.ask(step % 2), [float(step % 2) + math.sin(step)])
    assert engine.stopped()
    other = Engine(Problem(3, 1, 1.0), Uniform(), GLR(), log_inv_delta=LEVEL)
    for step in range(30):
        other.tell(other.ask(step % 3), [-9.0 if step % 3 == 2 else 0.0])
    other.retire_arm(2)
    for step in range(400):
        other.tell(other.ask(step % 2), [float(step % 2) + math.sin(step)])
    assert other.verdict().answers == ("arm 1",)
    assert other.stopped()


def test_any_delta_after_an_arm_has_left() -> None:
    """With many deltas every objective is open again: any of them may have been decided for the arm that left."""
    engine = Engine(Problem(3, 1, 1.0), Uniform(), GLR(reserve=0.1))
    for step, arm in itertools.product(range(30), range(3)):
        engine.tell(engine.ask(arm), [3.0 * arm + math.sin(step)])
    assert engine.stopped(1.0)
    engine.retire_arm(2)
    decision = engine.verdict(1.0).decisions[0]
    assert decision is None or decision.arm == 1


@pytest.mark.parametrize("family", ["gaussian=1", "bernoulli", "bounded=-1..2", "unknown-variance"])
@pytest.mark.parametrize("threshold", ["mixture", "empirical"])
def test_nothing_is_decided_before_every_rival_has_been_observed(family: str, threshold: str) -> None:
    """An arm that has reported one metric and not the other is no loser in the other."""
    known = Problem(["a", "b", "c"], [f"A:{family}", f"B:{family}"])
    engine = Engine(known, Uniform(), GLR(threshold), log_inv_delta=-math.log(0.05))
    for step in range(200):
        engine.tell(engine.ask(step % 2), [float(step % 3 == 0), float(step % 2)])
    for _ in range(3):
        engine.tell(engine.ask(2), [1.0, math.nan])
        assert engine.verdict().decisions[1] is None
        assert engine.verdict().evidence[1] <= 0
        assert engine.observations.costs[2, 1] == 0


def test_a_batch_of_nothing() -> None:
    engine = Engine(problem(), Uniform(), GLR())
    engine.tell_all([])
    assert engine.told == 0


def test_a_delta_that_cannot_be_answered_is_refused_at_the_start() -> None:
    own = Elimination(0.1)
    with pytest.raises(InputError, match="can answer no other"):
        Engine(Problem(2, 1, 1.0), Uniform(), own, focus_log_inv_delta=5.0)
    with pytest.raises(InputError, match="is proven for Gaussian rewards of known sd only"):
        Engine(Problem(2, ["x:bernoulli"]), Uniform(), own)
    with pytest.raises(InputError, match=r"log_inv_delta must be a positive finite number, at most 1e\+100"):
        Engine(Problem(2, 1, 1.0), Uniform(), GLR()).verdict(1e300)


def test_only_the_arms_in_question_are_filled_up() -> None:
    """Where nothing but rare extremes keeps an objective open, arms that are far behind are asked for no more."""
    rng, x = np.random.default_rng(0), math.log(20)
    engine = Engine(Problem(4, ["x:unknown-variance"]), TopTwo(), GLR(), log_inv_delta=x, rare=0.02)
    while not engine.stopped():
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), [rng.normal((9.0, 0.0, 0.0, 8.0)[arm])])
        held, open_still = engine.verdict().held, not engine.stopped()
        assert not held[0] or open_still
    counts = engine.observations.pulls[:, 0]
    assert counts[0] >= 150
    assert (counts[1:3] < 60).all()
    assert engine.verdict().reservations == []
