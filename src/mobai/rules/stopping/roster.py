"""Who takes part in an experiment whose arms come and go, and what each pair of arms pays for it.

A share rho of delta, the *reserve*, is kept for arms that are added later and for objectives whose best arm may have
been retired. The rest is shared out as usual over the claims about the arms there were at the start: their M (K - 1)
pairs, and what guardrails and a baseline add, n in all. In nats above the level of those, log(n / ((1 - rho) delta)):

- an arm added as the r-th, when j - 1 arms were there before it, costs ``log(k / n * (1 - rho) / rho * r^2 pi^2 / 3)``,
  k being its own claims: M (j - 1) pairs, its limits and comparisons;
- two initial arms, one of which may have lost its betters by retirement, cost
  ``log(M K (K - 1) / n * (1 - rho) / rho)``; but nothing if the leader beats every arm of the start, retired ones
  included.

Derivation: docs/guarantee.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence.scores import Prices
from mobai.problem import FloatArray, IntArray, Problem

# Of delta, also where there is no reserve: so that an experiment with retired arms can be decided at some time.
KEPT_BACK = 1e-12


@dataclass(frozen=True, eq=False)
class Roster:
    """The arms in the order of their arrival: how many there were at the start, and which take part now."""

    initial: int
    active: npt.NDArray[np.bool_]
    reserve: float
    objectives: int = 1
    claims: int = 0  # about the arms of the start, besides pairs
    claims_per_arm: int = 0  # about each arm that is added, besides pairs

    @classmethod
    def of(cls, problem: Problem, active: npt.NDArray[np.bool_], reserve: float) -> Roster:
        """Return the roster of an experiment that began with this problem."""
        compared = len(problem.metrics) if problem.baseline is not None else 0
        per_arm = sum(one.claims for one in problem.guardrails) + compared
        return cls(problem.shape[0], active, reserve, problem.shape[1], problem.claims[1], per_arm)

    @property
    def _initial_claims(self) -> int:
        """How many claims about the arms of the start there are."""
        return self.objectives * (self.initial - 1) + self.claims

    @property
    def added(self) -> IntArray:
        """How many-th addition each arm was; 0 for the initial arms."""
        return np.maximum(np.arange(len(self.active)) - self.initial + 1, 0)

    @cached_property
    def surcharges(self) -> FloatArray:
        """What each arm pays against arms that were there before it, in nats; 0 for the initial arms."""
        if self.reserve == 0:
            return np.zeros(len(self.active))
        own = self.objectives * np.arange(len(self.active)) + self.claims_per_arm
        with np.errstate(divide="ignore"):
            price = np.log(own / self._initial_claims * (1 - self.reserve) / self.reserve * math.pi**2 / 3)
            price += 2 * np.log(self.added)
        return np.where(self.added > 0, price, 0.0)

    def interval_levels(self, log_inv_delta: float, metrics: int, of_delta: float) -> FloatArray:
        """Return the nats at which the bets of each arm leave a mean out of its interval. Shape (K,).

        The intervals have the share ``of_delta``. If arms can be added, these have half of it, the r-th
        ``6 / (pi r)^2`` of that.
        """
        share = math.log(of_delta) - log_inv_delta - (math.log(2) if self.reserve > 0 else 0.0)
        with np.errstate(divide="ignore"):
            later = 2 * np.log(math.pi * self.added) - math.log(6)
        return np.where(self.added > 0, later, math.log(self.initial)) + math.log(metrics) - share

    @property
    def all_pairs(self) -> float:
        """What two initial arms pay when nothing is known about retired ones.

        Without a reserve they pay out of the billionth of a thousandth of delta that is always kept back.
        """
        reserve = max(self.reserve, KEPT_BACK)
        pairs = self.objectives * self.initial * (self.initial - 1) / self._initial_claims
        return math.log(pairs * (1 - reserve) / reserve)

    @cached_property
    def prices(self) -> Prices:
        """The same, for the kernels."""
        retired = np.flatnonzero(~self.active[: self.initial]).astype(np.int64)
        return Prices(self.surcharges, self.all_pairs, retired)
