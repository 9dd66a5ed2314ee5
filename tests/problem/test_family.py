from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import Bernoulli, Bounded, Gaussian, InputError, Instance, Objective, Problem, SubGaussian, UnknownVariance
from mobai.problem import Family

positive = st.floats(1e-6, 1e6)
families: st.SearchStrategy[Family] = st.one_of(
    st.builds(Gaussian, st.none() | positive),
    st.builds(SubGaussian, st.none() | positive),
    st.just(UnknownVariance()),
    st.just(Bernoulli()),
    st.tuples(st.floats(-1e6, 1e6), positive).map(lambda ends: Bounded(ends[0], ends[0] + ends[1])),
)
names = st.sampled_from(["ctr", "x:min", "x:bernoulli", "a:b:eps=2", "p=0.5", "bounded", "x:max:gaussian=3", "é:ü"])


@given(names, st.sampled_from(["max", "min"]), families, st.floats(0, 0.9))
def test_the_short_form_reads_back(name: str, direction: Any, family: Family, share: float) -> None:
    low, high = family.range
    objective = Objective(name, direction, family, share * min(high - low, 1.0))
    assert Objective.parse(str(objective)) == objective


def test_options_in_any_order() -> None:
    assert Objective.parse("t:unknown-variance:min:eps=0.5") == Objective("t", "min", UnknownVariance(), 0.5)
    assert Objective.parse("t : eps=0.5 : min") == Objective("t", "min", Gaussian(), 0.5)
    assert Objective.parse(r"clicks\:per\:day").name == "clicks:per:day"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t:eps=much", "eps must be a number, not 'much'"),
        ("t:bounded=3", "bounded needs two ends, bounded=LOW..HIGH such as 0..100, not 'bounded=3'"),
        ("t:gaussian=wide", "must be written as one of gaussian=SD"),
        ("t:gaussian=0", "gaussian: sd must be a positive number, at most 1e50, not 0.0"),
        ("t:bounded=5..1", "bounded: low must be a number below high"),
        ("t:bounded=-1e308..1e308", "at most 1e100 in size"),
        ("t:eps=-1", "eps must be a number, 0 or more, not -1.0"),
        ("t:bernoulli:eps=1", "eps must be a number, 0 or more, less than 1, not 1.0"),
    ],
)
def test_bad_short_forms(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Objective.parse(text)


def test_a_family_is_a_value() -> None:
    with pytest.raises(InputError, match="the family must be one such as Bernoulli"):
        Objective("x", "max", Bernoulli)  # type: ignore[arg-type]


def test_what_a_problem_knows_of_noise() -> None:
    objectives = [Objective("a"), Objective("b", family=Gaussian(3.0)), Objective("c", family=Bernoulli())]
    assert Instance([[0.5] * 3] * 2, objectives=objectives).problem.sd.tolist()[0][:2] == [1.0, 3.0]
    assert math.isnan(Instance([[0.5] * 3] * 2, objectives=objectives).problem.sd[0, 2])
    assert Problem(2, objectives, [2.0, math.nan, math.nan]).sd[1, 0] == 2.0
    with pytest.raises(InputError, match="sd: objective 'b' states 3 itself"):
        Problem(2, objectives, 2.0)
    with pytest.raises(InputError, match="sd of objective 'a' must be finite"):
        Problem(2, objectives, [math.nan, 3.0, math.nan])


def test_what_an_instance_knows_of_noise() -> None:
    objectives = [
        Objective("click", family=Bernoulli()),
        Objective("time", family=UnknownVariance()),
        Objective("stars", family=Bounded(1, 5)),
    ]
    world = Instance([[0.2, 7, 3], [0.5, 8, 4]], objectives=objectives)
    assert world.sd == pytest.approx(np.array([[0.4, 1, 2], [0.5, 1, math.sqrt(3)]]))
    table = [[math.nan, 2, 0.5], [math.nan, 3, 0.6]]
    assert Instance(world.means, table, objectives=objectives).sd[:, 1:].tolist() == [[2, 0.5], [3, 0.6]]
    assert Instance(world.means, 1.0, objectives=objectives).sd[:, 0].tolist() == [0.4, 0.5]


@pytest.mark.parametrize(
    ("means", "sd", "message"),
    [
        ([[0.2], [1.0]], None, "metric 'click': means must lie between 0 and 1, both excluded"),
        ([[0.2], [0.3]], [0.5], "metric 'click': sd is that of its means; leave it out"),
    ],
)
def test_impossible_coins(means: Any, sd: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Instance(means, sd, objectives=[Objective("click", family=Bernoulli())])
    with pytest.raises(InputError, match="too large for rewards within their range"):
        Instance([[0.2], [0.3]], [0.7], objectives=[Objective("x", family=Bounded())])


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_families_in_files(tmp_path: Path, suffix: str) -> None:
    texts = ["click:bernoulli", "time:min:unknown-variance:eps=0.25", "stars:bounded=1..5", "g:gaussian=2", "h"]
    means = [[0.2, 7, 3, 0, 0], [0.5, 8, 4, 1, 1]]
    world = Instance(means, [math.nan, 2.0, 0.5, math.nan, 3.0], objectives=texts)
    world.save(tmp_path / f"world{suffix}")
    assert Instance.load(tmp_path / f"world{suffix}") == world


def test_rewards_are_checked_by_their_family() -> None:
    problem = Problem(2, ["click:bernoulli", "stars:bounded=1..5", "time:min:unknown-variance"])
    assert problem.check_rewards([1, 5, -3]) == [1, 5, -3]
    assert problem.check_rewards({"click": True, "time": 2})[::2] == [1, 2]
    assert math.isnan(problem.check_rewards({"click": 1})[1])
    with pytest.raises(InputError, match=r"metric 'click' must be 0 or 1, not 0\.5"):
        problem.check_rewards([0.5, 2, 0])
    with pytest.raises(InputError, match=r"metric 'stars' must be a number from 1 to 5, not 6.0"):
        problem.check_rewards({"stars": 6})
    with pytest.raises(InputError, match="'time' must be finite"):
        problem.check_rewards({"time": 10**400})


def test_right_answers() -> None:
    world = Instance([[0.8, 1], [0.7, 0], [0.6, 1]], objectives=["a:eps=0.1", "b"])
    assert world.right_arms.tolist() == [[True, True], [True, False], [False, True]]
