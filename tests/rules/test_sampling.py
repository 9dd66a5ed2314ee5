"""Every rule of the catalogue, through the conformance suite; each rule against its own definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mobai import MOBAI, InputError, Instance, Policy, Problem, TopTwo, Uniform, surrogate_proportions
from mobai.lab.environment import Environment
from mobai.policy import Session
from mobai.rules.catalogue import SAMPLING, parse_spec, sampling_rule
from mobai.testing import check_sampling_rule

WORLD = Instance([[1.0, 0.2], [0.3, 0.9], [0.6, 0.5], [0.1, 0.4]])


def drive(session: Session, pulls: int, seed: int = 5) -> list[int]:
    world = Environment(WORLD, seed)
    arms = []
    for _ in range(pulls):
        arms.append(session.ask())
        session.tell(arms[-1], world.pull(arms[-1]))
    return arms


@pytest.mark.parametrize("name", SAMPLING)
def test_conformance(name: str) -> None:
    check_sampling_rule(sampling_rule(name))


def test_conformance_of_the_variant() -> None:
    check_sampling_rule(MOBAI(eta=1.0, refresh="every"))


def test_uniform_goes_round() -> None:
    assert drive(Policy(Uniform()).start(WORLD.problem), 10) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize("refresh", ["doubling", "every"])
def test_mo_bai_by_the_specification(refresh: Any) -> None:
    """Algorithm 1 of the paper, written out with all pulls kept in lists."""
    eta, arms, pulls = 0.3, 4, 70
    chosen = drive(Policy(MOBAI(eta, refresh)).start(WORLD.problem), pulls)
    world = Environment(WORLD, 5)
    rewards = [world.pull(arm) for arm in chosen]
    buffer = np.zeros(arms)
    for t in range(arms + 1, pulls + 1):
        power = 2 ** int(math.log2(t))
        seen = max(power - 1, arms) if refresh == "doubling" else t - 1
        means = [np.mean([rewards[s] for s in range(seen) if chosen[s] == i], axis=0) for i in range(arms)]
        weights = (np.bincount(chosen[: t - 1], minlength=arms) + buffer) / (t - 1)
        assert (weights >= eta / (arms * (1 + eta)) - 1e-12).all()
        buffer = buffer + surrogate_proportions(Instance(means), weights, eta).proportions
        assert chosen[t - 1] == buffer.argmax()
        buffer[chosen[t - 1]] -= 1
        assert (buffer > -1).all()
        assert (buffer <= sum(1 / k for k in range(2, arms + 1)) + 1e-12).all()


def test_top_two_by_its_definition() -> None:
    problem = Problem(4, 2, sd=[[1.0, 2.0], [0.5, 1.0], [1.0, 1.0], [3.0, 1.0]])
    session = Policy(TopTwo()).start(problem, seed=9)
    coins, world = np.random.default_rng(9), Environment(WORLD, 1)
    for _ in range(60):
        tally = session.tally
        expected = None
        if tally.told >= 4:
            n, means = tally.asked, tally.means
            doubts = []
            for m in range(2):
                b = int(np.argmax(means[:, m]))
                for i in range(4):
                    if i != b:
                        noise = problem.sd[b, m] ** 2 / n[b] + problem.sd[i, m] ** 2 / n[i]
                        z = (means[b, m] - means[i, m]) ** 2 / (2 * noise)
                        doubts.append((z + math.log(n[i]), m, i, b, problem.sd[b, m] ** 2 / n[b] / noise))
            _, _, i, b, share = min(doubts)
            expected = b if coins.random() < share else i
        arm = session.ask()
        assert expected is None or arm == expected
        session.tell(arm, world.pull(arm))


def test_top_two_spreads_open_asks() -> None:
    session = Policy(TopTwo()).start(WORLD.problem, seed=1)
    drive(session, 200)
    asked = [session.ask() for _ in range(200)]
    assert len(set(asked)) > 2


def test_top_two_splits_by_noise() -> None:
    """With two arms the share of each tends to its standard deviation's."""
    instance = Instance([[1.0], [0.0]], sd=[[3.0], [1.0]])
    session, world = Policy(TopTwo()).start(instance.problem, seed=1), Environment(instance, 1)
    for _ in range(2000):
        arm = session.ask()
        session.tell(arm, world.pull(arm))
    assert session.tally.asked[0] / 2000 == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "rule must be one of mo-bai, top-two, uniform, not 'nothing'"),
        ("mo-bai:eta=0", "eta must be positive"),
        ("mo-bai:eta=x", "eta must be a number from 0 to 1e\\+06"),
        ("mo-bai:refresh=never", "refresh must be 'doubling' or 'every', not 'never'"),
        ("uniform:eta=1", "rule 'uniform' does not take the options eta"),
        ("mo-bai:eta", "options are written key=value, not 'eta'"),
    ],
)
def test_bad_rules(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sampling_rule(text)


def test_values_of_options() -> None:
    assert parse_spec("a:b=1,c=0.5,d=true,e=x") == ("a", {"b": 1, "c": 0.5, "d": True, "e": "x"})
