"""A sampling rule of one's own, beside the built-in ones.

python examples/own_rule.py

A rule is an ``init`` and a ``choose``: it is given what was observed, and returns an arm. The guarantee does not depend
on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai import Observations, Problem, Results, TopTwo, Uniform, simulate
from mobai.lab.instances import ads
from mobai.rules.sampling.base import opening
from mobai.testing import check_sampling_rule


@dataclass(frozen=True)
class EpsilonLeaders:
    """Ask for the leader of a random objective, and now and then for the least asked arm."""

    epsilon: float = 0.3
    name = "epsilon-leaders"
    stopping = None  # it does not stop by itself

    def init(self, problem: Problem) -> tuple[()]:  # noqa: ARG002
        """Return the memory to start with: nothing."""
        return ()

    def choose(
        self, problem: Problem, memory: tuple[()], observations: Observations, rng: np.random.Generator
    ) -> tuple[int, tuple[()]]:
        """Return the index of an arm, and the memory."""
        first = opening(observations)  # every arm once, in order
        if first is not None:
            return first, memory
        if rng.random() < self.epsilon:
            return int(observations.asked.argmin()), memory
        return int(observations.leaders[rng.integers(problem.shape[1])]), memory


def main() -> Results:
    """Check the rule, and compare it."""
    check_sampling_rule(EpsilonLeaders())
    results = simulate(ads(), [EpsilonLeaders(), TopTwo(), Uniform()], deltas=[0.1], trials=5)
    print(results.summary())  # noqa: T201
    return results


if __name__ == "__main__":
    main()
