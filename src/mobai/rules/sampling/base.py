"""What a sampling rule is, and the opening that all of them share."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from mobai.problem import Problem, Tally


@runtime_checkable
class SamplingRule(Protocol):
    """Chooses the next arm from what has been seen. It never sees delta, a clock, storage or the true means.

    ``memory`` is whatever the rule needs to carry from one choice to the next; it is handed back untouched, and a rule
    must not change it in place.
    """

    @property
    def name(self) -> str:
        """The name in the catalogue, on the command line and in results."""
        ...

    def init(self, problem: Problem) -> Any:
        """Give the memory to start with."""
        ...

    def choose(self, problem: Problem, memory: Any, tally: Tally, rng: np.random.Generator) -> tuple[int, Any]:
        """Give the arm to ask for next, and the new memory."""
        ...


def opening(tally: Tally) -> int | None:
    """Give the least asked arm until every arm has answered once, then None.

    With no answers outstanding this asks for every arm once, in order; with answers outstanding it goes round again.
    """
    return None if tally.complete else int(tally.asked.argmin())
