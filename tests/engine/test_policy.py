"""The invariants of ask, tell, verdict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mobai import GLR, MOBAI, InputError, Instance, Policy, Problem, TopTwo, Uniform, Verdict
from mobai.engine import Session
from mobai.lab.environment import Environment
from mobai.lab.trial import run_trial
from mobai.theory.thresholds import THRESHOLDS

WORLD = Instance([[2.0, 0.0, 0.4], [0.0, 2.2, 0.5], [0.5, 0.5, 2.3]])


def driven(policy: Policy, pulls: int) -> Session:
    """A session that has seen some pulls."""
    session, environment = policy.start(WORLD.problem, seed=3), Environment(WORLD, 3)
    for _ in range(pulls):
        arm = session.ask()
        session.tell(arm, environment.pull(arm))
    return session


def facts(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.decisions, verdict.stopped, verdict.stopped_at, verdict.recommended


@pytest.mark.parametrize("name", THRESHOLDS)
def test_one_trajectory_answers_every_delta(name: str) -> None:
    """Asking once at the end, or after every pull, or for other deltas in between: the decisions are the same."""
    policy = Policy(Uniform(), GLR(name))
    levels = [0.5, 2.0, 5.0, 20.0]
    late = driven(policy, 400)
    early = policy.start(WORLD.problem, seed=3)
    environment = Environment(WORLD, 3)
    firsts: dict[float, int | None] = dict.fromkeys(levels)
    for t in range(1, 401):
        arm = early.ask()
        early.tell(arm, environment.pull(arm))
        for x in levels:
            if firsts[x] is None and early.verdict(log_inv_delta=x).stopped:
                firsts[x] = t
    for x in levels:
        assert facts(late.verdict(log_inv_delta=x)) == facts(early.verdict(log_inv_delta=x))
        assert late.verdict(log_inv_delta=x).stopped_at == firsts[x]
    if name != "theory":
        assert firsts[0.5] is not None


@pytest.mark.parametrize("name", ["mixture", "kaufmann_koolen"])
def test_decisions_stick(name: str) -> None:
    problem = Problem(2, 2, 1.0)
    session = Policy(Uniform(), GLR(name)).start(problem)
    for _ in range(60):
        arm = session.ask()
        session.tell(arm, [arm * 2.0, 0.0])
    first = session.verdict(0.1)
    assert first.decisions[0] is not None
    assert first.decisions[1] is None
    for _ in range(400):
        arm = session.ask()
        session.tell(arm, [-arm * 4.0, 0.0])
    later = session.verdict(0.1)
    assert later.leaders[0] == 0
    assert later.recommended[0] == 1
    assert later.decisions == first.decisions


def test_all_at_once_names_one_time() -> None:
    verdict = driven(Policy(TopTwo(), GLR("empirical")), 600).verdict(0.1)
    assert verdict.stopped
    assert len({decision.pull for decision in verdict.decisions if decision}) == 1
    assert not verdict.certified
    assert "not certified" in str(verdict)


def test_all_at_once_is_the_first_time_when_everything_holds() -> None:
    policy, delta = Policy(Uniform(), GLR(at_once=True)), 0.1
    session, world = policy.start(WORLD.problem, seed=3), Environment(WORLD, 3)
    apart = Policy(Uniform(), GLR()).start(WORLD.problem, seed=3)
    together, seen = None, [False] * 3
    for t in range(1, 401):
        arm = session.ask()
        rewards = world.pull(arm)
        session.tell(arm, rewards)
        apart.tell(apart.ask(), rewards)
        verdict = apart.verdict(delta)
        now = [bool(evidence > level) for evidence, level in zip(verdict.evidence, verdict.threshold, strict=True)]
        seen = [before or holds for before, holds in zip(seen, now, strict=True)]
        if together is None and all(now):
            together = t
    one_by_one = [decision.pull for decision in apart.verdict(delta).decisions if decision is not None]
    assert together is not None
    assert len(set(one_by_one)) > 1
    assert max(one_by_one) <= together
    assert [decision.pull for decision in session.verdict(delta).decisions if decision] == [together] * 3


def test_smaller_delta_stops_later() -> None:
    session = driven(Policy(), 800)
    stops = [session.verdict(delta).stopped_at for delta in (0.5, 0.1, 1e-3, 1e-6)]
    assert None not in stops
    assert stops == sorted(stops)  # type: ignore[type-var]
    assert session.verdict(math.exp(-700)).stopped is False


def test_verdict_reads_well() -> None:
    text = str(driven(Policy(), 30).verdict(1e-9))
    assert text.startswith("not stopped after 30 pulls, log(1/delta) = 20.72")
    assert "objective 2: arm 2 (leading, not decided; " in text
    done = driven(Policy(), 400).verdict(0.1)
    assert str(done).startswith(f"stopped at pull {done.stopped_at}")
    assert done.delta == pytest.approx(0.1)
    assert done.answers == ("arm 0", "arm 1", "arm 2")


@pytest.mark.parametrize("rule", [Uniform(), TopTwo(), MOBAI()])
def test_units_and_directions_do_not_matter(rule: Any) -> None:
    """Shifting, rescaling and mirroring one objective with its noise leaves every choice and decision alone."""
    moved = Instance(
        WORLD.means * [1, -4, 1] + [0, 9, 0], sd=[1, 4, 1], objectives=["objective 0", "objective 1:min", "objective 2"]
    )
    one, two = driven(Policy(rule), 300), Policy(rule).start(moved.problem, seed=3)
    environment = Environment(WORLD, 3)
    for _ in range(300):
        arm = two.ask()
        two.tell(arm, environment.pull(arm) * [1, -4, 1] + [0, 9, 0])
    assert (one.observations.asked == two.observations.asked).all()
    decided = [[None if d is None else (d.arm, d.pull) for d in each.verdict(0.05).decisions] for each in (one, two)]
    assert decided[0] == decided[1]
    assert two.verdict(0.05).evidence == pytest.approx(one.verdict(0.05).evidence, rel=1e-9)


def test_permuting_arms_and_objectives_permutes_the_verdict() -> None:
    """Same rewards, other names: fed by hand, because a rule's order of play is its own."""
    rng, arms, objectives = np.random.default_rng(0), [2, 0, 1], [1, 2, 0]
    rewards = WORLD.means + rng.normal(size=(200, 3, 3))
    one, two = Policy(Uniform()).start(WORLD.problem), Policy(Uniform()).start(WORLD.problem)
    for table in rewards:
        for i in range(3):
            one.tell(one.ask(), table[i])
        order = [two.ask() for _ in range(3)]
        for position in np.argsort(arms):
            two.tell(order[position], table[arms[position]][objectives])
    a, b = one.verdict(0.05), two.verdict(0.05)
    assert b.evidence == pytest.approx(a.evidence[objectives], rel=1e-9)
    assert [arms[arm] for arm in b.leaders] == [a.leaders[m] for m in objectives]
    assert [d and d.pull for d in b.decisions] == [a.decisions[m] and a.decisions[m].pull for m in objectives]  # type: ignore[union-attr]


def test_the_seed_fixes_the_choices() -> None:
    one, two = (driven(Policy(), 200).observations.asked for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Policy("top-two"), "sampling must be a sampling rule such as"),  # type: ignore[arg-type]
        (lambda: Policy(TopTwo), "sampling must be a sampling rule such as"),  # type: ignore[arg-type]
        (lambda: Policy(TopTwo(), "mixture"), "stopping must be a stopping rule such as"),  # type: ignore[arg-type]
        (lambda: Policy().start(WORLD.problem, seed=-1), "seed must be a nonnegative integer"),
    ],
)
def test_bad_parts(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_missing_at_random_keeps_the_guarantee() -> None:
    """Two arms without a gap, half of the rewards of one lost: errors at most delta, and some."""
    delta, runs, errors = 0.5, 60, 0
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        session = Policy(Uniform()).start(Problem(2, 1, 1.0), seed=run)
        for _ in range(150):
            arm = session.ask()
            session.tell(arm, [rng.normal(1e-9 * arm) if arm or rng.random() < 0.5 else math.nan])
            decision = session.verdict(delta).decisions[0]
            if decision is not None:
                errors += decision.arm == 0
                break
    assert 0 < errors <= delta * runs


def test_ties_end_with_an_indifference_zone() -> None:
    world = Instance([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], objectives=["a:eps=0.5", "b"])
    for rule in (TopTwo(), MOBAI(), Uniform()):
        trial = run_trial(world, Policy(rule), 0.1, max_pulls=20_000)
        assert trial.verdict.stopped
        assert trial.correct


def test_the_smallest_delta_decided_now() -> None:
    session = Policy().start(WORLD.problem, seed=3)
    world = Environment(WORLD, seed=3)
    for _ in range(60):
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        verdict = session.verdict(0.9999)
        for m, x in enumerate(verdict.reached):
            if x > 1e-9:
                assert session.verdict(log_inv_delta=x * (1 - 1e-9)).decisions[m] is not None
                level = math.log(WORLD.shape[1] * (WORLD.shape[0] - 1) / 0.9) + x
                assert verdict.evidence[m] == pytest.approx(level, rel=1e-9)
    assert verdict.smallest_deltas == pytest.approx(np.exp(-verdict.reached))


@pytest.mark.parametrize("name", ["kaufmann_koolen", "theory", "empirical"])
def test_reached_inverts_every_level(name: str) -> None:
    stopping = GLR(name)
    for x in (0.5, 3.0, 40.0):
        assert stopping.reached(WORLD.problem, stopping.level(WORLD.problem, x)) == pytest.approx(x, rel=1e-6)
    assert stopping.reached(WORLD.problem, -3.0) == 0


@pytest.mark.parametrize("name", ["kaufmann_koolen", "theory"])
def test_thresholds_proven_for_gaussians_refuse_others(name: str) -> None:
    session = Policy(stopping=GLR(name)).start(Problem(2, ["click:bernoulli"]), seed=0)
    with pytest.raises(InputError, match=f"threshold '{name}' is proven for Gaussian rewards of known sd only"):
        session.verdict(0.1)


def test_focus_is_a_delta() -> None:
    with pytest.raises(InputError, match="delta must be a number between 0 and 1"):
        Policy().start(WORLD.problem, focus=-1.0)
