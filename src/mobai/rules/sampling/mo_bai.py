"""MO-BAI (Algorithm 1 of the paper): track the surrogate proportions of a linear program.

At pull t the weights ``w = (N + B) / (t - 1)`` are what the program has asked for so far, ``s`` maximises the rates
of the planning instance linearised at w over Gamma_eta, the arm with the largest credit ``B + s`` is pulled, and
the buffer B keeps what it was not. The planning instance is refreshed when t is a power of two, as in the paper
(l_t), or at every pull. (The paper's line 8, ``t <- t + 1`` inside its for loop, is a slip: it would skip every
other index.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mobai.errors import InputError
from mobai.problem import FloatArray, Problem, Tally
from mobai.rules.sampling.base import opening
from mobai.theory.pairs import floor_mass
from mobai.theory.surrogate import Bases, Plan


class Memory(NamedTuple):
    """What is carried from pull to pull: the buffer, the instance planned with, and where its programs ended."""

    buffer: FloatArray
    plan: Plan | None
    bases: Bases | None


@dataclass(frozen=True)
class MOBAI:
    """The paper's sampling rule, asymptotically optimal up to a factor 1 + eta.

    Parameters
    ----------
    eta
        Every arm keeps at least the weight ``eta / (K (1 + eta))``.
    refresh
        ``"doubling"``: plan on the means seen when t was last a power of two (the paper). ``"every"``: on the
        current means, which measures better and is not covered by the paper's proof.
    """

    eta: float = 0.1
    refresh: Literal["doubling", "every"] = "doubling"
    name = "mo-bai"

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not floor_mass(self.eta) > 0:
            raise InputError(f"eta must be positive, not {self.eta!r}")
        if self.refresh not in ("doubling", "every"):
            raise InputError(f"refresh must be 'doubling' or 'every', not {self.refresh!r}")

    def init(self, problem: Problem) -> Memory:
        """Start with an empty buffer and no plan."""
        return Memory(np.zeros(problem.shape[0]), None, None)

    def choose(
        self,
        problem: Problem,
        memory: Memory,
        tally: Tally,
        rng: np.random.Generator,  # noqa: ARG002 - MO-BAI is deterministic
    ) -> tuple[int, Memory]:
        """Solve the program at the weights asked so far and pull the arm with the largest credit."""
        first = opening(tally)
        if first is not None:
            return first, memory
        asked = int(tally.asked.sum())
        plan, bases = memory.plan, memory.bases
        if plan is None or bases is None or self.refresh == "every" or _is_power_of_two(asked + 1):
            plan, bases = self._plan(problem, tally, memory)
        surrogate, bases = plan.solve((tally.asked + memory.buffer) / asked, bases)
        credit = memory.buffer + surrogate.proportions
        arm = int(credit.argmax())
        credit[arm] -= 1
        return arm, Memory(credit, plan, bases)

    def _plan(self, problem: Problem, tally: Tally, memory: Memory) -> tuple[Plan, Bases]:
        """Plan on the current means; with the same leaders the last bases are still good starts."""
        means = tally.means
        leaders = means.argmax(axis=0)
        plan = Plan(means.max(axis=0) - means, problem.sd, leaders, floor_mass(self.eta))
        if memory.plan is not None and memory.bases is not None and memory.plan.has_leaders(leaders):
            return plan, memory.bases
        return plan, plan.no_bases()


def _is_power_of_two(t: int) -> bool:
    return t & (t - 1) == 0
