"""Race: every arm that may still be best is measured on the next thing, the lowest index first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mobai.errors import InputError
from mobai.problem import Problem
from mobai.rules.stopping.base import StoppingRule
from mobai.theory.observations import Observations


@dataclass(frozen=True)
class Race:
    """Measure all arms that are still open, one index after the other.

    On a common order the index at which an arm is ruled out is a function of what there is to be measured, whoever is
    measured when; so that racing is near the best that can be done, and plans nothing. Which arm is next is chosen by
    the engine, which knows what was handed out.
    """

    name = "race"

    @property
    def stopping(self) -> StoppingRule | None:
        """None: any stopping rule for items and rounds."""
        return None

    def init(self, problem: Problem) -> tuple[Any, ...]:
        """Return the memory to start with: nothing is remembered; refuses problems without items or rounds."""
        if problem.design is None:
            raise InputError("rule", "race is for items and rounds; without them use another rule, such as top-two")
        return ()

    def choose(
        self,
        problem: Problem,  # noqa: ARG002
        memory: Any,  # noqa: ARG002
        observations: Observations,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[int, Any]:
        """Refuse: the engine of items and rounds chooses."""
        raise InputError("rule", "race is for items and rounds; without them use another rule, such as top-two")
