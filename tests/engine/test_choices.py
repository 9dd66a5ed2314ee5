"""What a rule returns is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mobai import GLR, InputError, Problem
from mobai.engine.engine import Engine
from mobai.theory.observations import Observations


class OutOfRange:
    name, stopping = "out-of-range", None

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def init(self, problem: Problem) -> tuple[()]:
        return ()

    def choose(self, problem: Problem, memory: Any, observations: Observations, rng: Any) -> tuple[Any, Any]:
        return self.answer, memory


@pytest.mark.parametrize("answer", [4, -1, 1.5, None, "0"])
def test_a_rule_that_chooses_no_arm(answer: Any) -> None:
    engine = Engine(Problem(4, 1, 1.0), OutOfRange(answer), GLR())
    with pytest.raises(InputError, match=r"rule: out-of-range chose .*, which is none of its 4 arms"):
        engine.choose(np.random.default_rng(0))


@pytest.mark.parametrize("answer", [1, None, (1, (), ()), [0, ()]])
def test_a_rule_that_does_not_return_a_pair(answer: Any) -> None:
    class NoPair(OutOfRange):
        def choose(self, *_: Any) -> Any:
            return self.answer

    with pytest.raises(InputError, match="choose of out-of-range must return an arm and the new memory"):
        Engine(Problem(4, 1, 1.0), NoPair(answer), GLR()).choose(np.random.default_rng(0))
