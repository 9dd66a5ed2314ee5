"""Families of rewards of somebody else's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mobai
from mobai import Experiment, InputError
from mobai.store.journal import MemoryJournal


class Words(mobai.problem.Family):
    """A family that lacks nothing: rewards from -1 to 1."""

    word, model, range = "words", "unit", (-1.0, 1.0)


def test_a_family_of_somebody_elses() -> None:
    objective = mobai.Objective("sentiment", "max", Words())
    session = mobai.Policy().start(mobai.Problem(2, [objective]), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(800):
        arm = session.ask()
        session.tell(arm, [rng.choice([-1, 1], p=[0.5 - 0.2 * arm, 0.5 + 0.2 * arm])])
    assert session.verdict(0.1).decisions[0] is not None
    assert session.verdict(0.1).recommended == (1,)
    with pytest.raises(InputError, match="the family of 'sentiment' cannot be read back from a journal"):
        Experiment.create(MemoryJournal(), "x", ["A", "B"], [objective])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"word": "odd", "model": ""}, "the family 'odd' lacks a model, one of normal, student, unit"),
        ({"word": "odd", "model": "cauchy"}, "the family 'odd' lacks a model, one of normal, student, unit"),
        ({"word": "", "model": "unit"}, "the family Odd lacks a word, its name in files"),
        ({"word": "odd", "model": "unit"}, "the family 'odd' lacks a finite range, which 'unit' needs"),
    ],
)
def test_a_family_that_lacks_something(attributes: dict[str, Any], message: str) -> None:
    odd = type("Odd", (mobai.problem.Family,), attributes)
    with pytest.raises(InputError, match=f"metric 'x': {message}"):
        mobai.Objective("x", "max", odd())


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"model": "normal"}, "must say known_noise = True"),
        ({"model": "student", "known_noise": True}, "must leave known_noise False"),
        ({"model": "unit", "range": (1.0, 0.0)}, "must be two numbers, low < high"),
    ],
)
def test_a_family_that_contradicts_itself(attributes: dict[str, Any], message: str) -> None:
    odd = type("Odd", (mobai.problem.Family,), {"word": "odd", **attributes})
    with pytest.raises(InputError, match=message):
        mobai.Objective("x", "max", odd())
