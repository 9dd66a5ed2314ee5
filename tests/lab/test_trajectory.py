"""The compiled trial against the stepwise policy, pull by pull, bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mobai import GLR, Instance, Policy, Problem
from mobai.lab.environment import Environment, Noise
from mobai.lab.instances import remark2, snw, synthetic
from mobai.lab.trajectory import Trajectory, TrialSpec, coins, run_compiled, run_stepwise, run_trajectory
from mobai.rules.catalogue import sampling_rule
from mobai.rules.sampling.base import CompiledRule
from mobai.theory.thresholds import THRESHOLDS

RULES = [
    "uniform",
    "top-two",
    "mo-bai",
    "mo-bai:refresh=every,eta=1",
    "d-tracking:iterations=4",
    "d-tracking:iterations=3,start=previous",
    "d-tracking:iterations=3,as_printed=true",
    "frank-wolfe",
    "track-and-stop",
    "track-and-stop:growth=0",
    "successive-elimination:delta=0.1",
    "successive-elimination:delta=0.1,as_printed=true",
]
RNG = np.random.default_rng(11)
INSTANCES = {
    "noisy": Instance(RNG.normal(size=(5, 3)) * [1, 2, 3], RNG.uniform(0.5, 2, (5, 3)), objectives=["a", "b:min", "c"]),
    "two arms": Instance([[0.4], [0.0]]),
    "more objectives than arms": Instance(RNG.normal(size=(3, 7))),
    "one arm best everywhere": Instance([[1.0, 1.0], [0.2, 0.5], [0.0, 0.9]]),
    "tied": Instance([[1.0, 0.0], [1.0, 0.0], [0.5, 1.0]]),
    "decided at once": Instance([[100.0, 0.0], [0.0, 100.0], [0.0, 0.0]]),
    "remark 2": remark2(eps=2.0),
    "noise of very different sizes": Instance(
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], sd=[[1e-40, 1.0], [1e30, 1e-3], [1.0, 5.0]]
    ),
}


def both(instance: Instance, text: str, max_pulls: int) -> tuple[Trajectory, Trajectory]:
    rule = sampling_rule(text)
    own = rule.stopping
    stoppings: Any = [own] if own else [GLR(name) for name in THRESHOLDS]
    levels = [math.log(10)] if own else [0.5, math.log(10), 7.0, 20.0]
    return run_both(TrialSpec(instance, rule, stoppings, levels, 3, 1, max_pulls))


def run_both(setting: TrialSpec) -> tuple[Trajectory, Trajectory]:
    assert isinstance(setting.rule, CompiledRule)
    return run_compiled(setting, setting.rule), run_stepwise(setting)


def assert_same(one: Trajectory, two: Trajectory) -> None:
    assert one.pulls == two.pulls
    for name in ("decided", "answers", "asked", "leaders"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("name", INSTANCES)
def test_compiled_equals_stepwise(text: str, name: str) -> None:
    assert_same(*both(INSTANCES[name], text, 500))


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("instance", [synthetic(0), snw()], ids=["synthetic", "snw"])
def test_compiled_equals_stepwise_on_the_papers_instances(text: str, instance: Instance) -> None:
    assert_same(*both(instance, text, instance.shape[0] + 150))


@pytest.mark.parametrize("text", RULES)
def test_every_single_pull_is_the_same(text: str) -> None:
    """Compiled runs of every length from K on: the counts after each pull name the arm of each pull."""
    instance, pulls = INSTANCES["noisy"], 90
    rule = sampling_rule(text)
    policy = Policy(rule)
    session, world = policy.start(instance.problem, coins(3, 1)), Environment(instance, 3, 1)
    for told in range(1, pulls + 1):
        arm = session.ask()
        session.tell(arm, world.pull(arm))
        if told >= instance.shape[0]:
            level = math.log(10) if rule.stopping else 500.0
            found = run_trajectory(TrialSpec(instance, rule, [policy.stopping], [level], 3, 1, told))
            if found.pulls < told:
                break
            assert np.array_equal(found.asked[0, 0], session.observations.asked)


def test_noise_belongs_to_the_arm_and_its_pull() -> None:
    """In whichever order arms are pulled, the n-th reward of an arm in a trial is the same; trials differ."""
    instance = INSTANCES["noisy"]
    one, two, other = Environment(instance, 5, 2), Environment(instance, 5, 2), Environment(instance, 5, 3)
    first = [one.pull(arm) for arm in [0] * 70 + [1] * 70]
    second = [two.pull(arm) for arm in [1, 0] * 70]
    assert np.array_equal(first[:70], second[1::2])
    assert np.array_equal(first[70:], second[::2])
    assert not np.array_equal(first[0], other.pull(0))
    assert len(np.unique(np.array(first))) == 140 * 3
    noise = Noise(instance, 5, 2)
    blocks = [noise.block(arm, index) for arm in range(2) for index in range(2)]
    assert len(np.unique(np.array(blocks))) == np.array(blocks).size  # arms and stretches share nothing


def test_giving_up_before_the_opening_is_over() -> None:
    found = run_trajectory(TrialSpec(synthetic(0), sampling_rule("top-two"), [GLR()], [1.0], max_pulls=7))
    assert found.pulls == 7
    assert found.asked[0, 0].tolist() == [1] * 7 + [0] * 13


@pytest.mark.parametrize("text", ["uniform", "top-two", "frank-wolfe", "successive-elimination:delta=0.1"])
def test_the_last_allowed_pull_is_looked_at(text: str) -> None:
    """Also when it uses up a block of noise: 128 pulls of two arms, in many trials."""
    rule = sampling_rule(text)
    stopping: Any = rule.stopping or GLR()
    level = math.log(10)
    for trial in range(60):
        assert_same(*run_both(TrialSpec(INSTANCES["two arms"], rule, [stopping], [level], 0, trial, 128)))


class Never(GLR):
    """A stopping rule of somebody else's."""

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        return math.inf


def test_a_stopping_rule_that_is_not_ours_is_asked_itself() -> None:
    world = INSTANCES["decided at once"]
    found = run_trajectory(TrialSpec(world, sampling_rule("top-two"), [Never()], [1.0], max_pulls=50))
    assert found.pulls == 50
    assert (found.decided == -1).all()


MIXED = Instance(
    [[0.3, 80, 3.0, 1.0, 5.0], [0.5, 70, 3.5, 0.2, 3.0], [0.4, 95, 4.2, 1.5, 4.0], [0.2, 76, 2.0, 0.7, 4.5]],
    sd=[math.nan, 10, 1, math.nan, 2],
    objectives=[
        "ctr:bernoulli",
        "latency:min:unknown-variance",
        "stars:bounded=1..5",
        "g:min:subgaussian=2:eps=0.05",
        "load:shared-variance",
    ],
)


@pytest.mark.parametrize("text", [rule for rule in RULES if "elimination" not in rule])
@pytest.mark.parametrize("focus", [False, True])
def test_families_and_focus(text: str, focus: bool) -> None:
    """Every family in one problem, with an indifference zone; focused on what is undecided, or not."""
    level = math.log(1.5)
    one, two = run_both(TrialSpec(MIXED, sampling_rule(text), [GLR()], [level], 3, 1, 1200, focus))
    for name in ("decided", "answers", "asked", "leaders", "means", "pulls"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert (one.decided >= 0).any() or "as_printed" in text


@pytest.mark.parametrize("text", ["top-two", "uniform"])
def test_every_reward_tells_of_a_shared_noise(text: str) -> None:
    """Also those of arms that are not in the pair that is still in doubt."""
    world = Instance([[1.0], [0.0], [0.2], [-3.0]], objectives=["x:shared-variance"])
    for trial in range(5):
        one, two = run_both(TrialSpec(world, sampling_rule(text), [GLR()], [1.0, 3.0, 30.0], 3, trial, 3000))
        assert one.decided.tolist() == two.decided.tolist()
        assert (one.decided >= 0).all()


@pytest.mark.parametrize("text", ["top-two", "mo-bai", "frank-wolfe", "track-and-stop", "d-tracking"])
def test_focus_turns_to_what_is_left(text: str) -> None:
    """Once the easy objective is decided, its arms are left alone."""
    world = Instance([[3.0, -5.0], [2.0, -5.0], [0.0, 0.2], [0.0, 0.0]])
    asked = {False: 0, True: 0}
    for focus in (False, True):
        for seed in range(4):
            setting = TrialSpec(world, sampling_rule(text), [GLR()], [math.log(10)], seed, 0, 20_000, focus)
            trajectory = run_trajectory(setting)
            assert trajectory.answers[0, :, 0].tolist() == [0, 2]
            asked[focus] += int(trajectory.asked[0, 0, :2].sum())
    assert asked[True] <= asked[False]


def test_bounded_rewards_have_their_mean_and_noise() -> None:
    world = Instance([[3.5, 0.3], [2.0, 0.3]], [[0.8, math.nan]] * 2, objectives=["a:bounded=1..5", "b:bernoulli"])
    environment = Environment(world, seed=1)
    rewards = np.array([environment.pull(0) for _ in range(20_000)])
    assert set(np.unique(rewards[:, 0])) == {1.0, 3.5, 5.0}
    assert set(np.unique(rewards[:, 1])) == {0.0, 1.0}
    # Five standard errors.
    assert rewards.mean(axis=0) == pytest.approx(world.means[0], abs=5 * 0.8 / math.sqrt(20_000))
    assert rewards.std(axis=0) == pytest.approx(world.sd[0], rel=0.05)
