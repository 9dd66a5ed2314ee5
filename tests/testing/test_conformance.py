"""The conformance suite must catch rules that break its promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mobai.problem import Problem
from mobai.rules.sampling.base import opening
from mobai.testing import check_sampling_rule
from mobai.theory.observations import Observations


class Good:
    """A correct rule outside the catalogue, to spoil in one way at a time."""

    name = "good"
    stopping = None

    def init(self, problem: Problem) -> Any:
        return np.zeros(problem.shape[0])

    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        first = opening(observations)
        arm = int(rng.integers(problem.shape[0])) if first is None else first
        return arm, memory + np.eye(problem.shape[0])[arm]


def test_a_third_party_rule_passes() -> None:
    check_sampling_rule(Good())


class Backwards(Good):
    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        return int(problem.shape[0] - 1 - observations.asked[::-1].argmin()), memory


class Unseeded(Good):
    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        return super().choose(problem, memory, observations, np.random.default_rng())


class ChangesMemory(Good):
    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        memory += 1
        return super().choose(problem, memory, observations, rng)


class ChangesObservations(Good):
    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        observations.arrays.sums[:] += 1e-9
        return super().choose(problem, memory, observations, rng)


class ChangesObservationsLater(Good):
    """Its opening is in its memory, and it behaves until that is over."""

    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        turn = int(memory.sum())
        if turn >= problem.shape[0]:
            observations.ask(0)
        arm = turn if turn < problem.shape[0] else 0
        return arm, memory + np.eye(problem.shape[0])[arm]


class IgnoresLimits(Good):
    """Asks for the two arms that look best, whatever limits they break."""

    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        first = opening(observations)
        m = int(rng.integers(problem.shape[1]))
        best = np.argsort(-observations.means[:, m], kind="stable")[:2]
        return (int(best[observations.asked[best].argmin()]) if first is None else first), memory


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Backwards(), "must first ask for every arm once in order"),
        (Unseeded(), "same arms from the same seed"),
        (ChangesMemory(), "must not change its memory or the observations"),
        (ChangesObservations(), "must not change its memory or the observations"),
        (ChangesObservationsLater(), "must not change its memory or the observations"),
        (IgnoresLimits(), "must come to an end where the best arms break a limit"),
        ("no rule", "needs name, init and choose"),
    ],
)
def test_broken_rules_are_caught(rule: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_sampling_rule(rule)
