"""Evidence when arms come and go: what each pair of arms has to pay so that the guarantee still holds.

A share rho of delta, the *reserve*, is kept for arms that are added later and for objectives whose best arm may have
been retired. The rest is shared out as usual over the M (K - 1) pairs of the arms there were at the start. In nats
above the level of those, log(M (K - 1) / ((1 - rho) delta)):

- an arm added as the r-th, when j - 1 arms were there before it, costs
  ``log((j - 1) / (K - 1) * (1 - rho) / rho * r^2 pi^2 / 3)`` against each of them;
- two arms of the start, one of which may have lost its betters by retirement, cost ``log(K (1 - rho) / rho)``;
  but nothing if the leader beats every arm of the start, retired ones included.

Derivation: docs/guarantee.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mobai.problem import FloatArray, IntArray, Problem, Tally
from mobai.theory.glr import lay_out
from mobai.theory.thresholds import THRESHOLDS, Weighed, pair_scores, union_level, weakest_pairs


@dataclass(frozen=True, eq=False)
class Roster:
    """The arms in the order of their arrival: how many there were at the start, and which take part now."""

    initial: int
    active: npt.NDArray[np.bool_]
    reserve: float

    @cached_property
    def everyone(self) -> bool:
        """Whether no arm has been retired."""
        return bool(self.active.all())

    @property
    def added(self) -> IntArray:
        """How many-th addition each arm was; 0 for the arms of the start."""
        return np.maximum(np.arange(len(self.active)) - self.initial + 1, 0)

    @property
    def surcharges(self) -> FloatArray:
        """What each arm pays against arms that were there before it, in nats; 0 for the arms of the start."""
        if self.reserve == 0:
            return np.zeros(len(self.active))
        before = np.arange(len(self.active))
        with np.errstate(divide="ignore"):
            price = np.log(before / (self.initial - 1) * (1 - self.reserve) / self.reserve * math.pi**2 / 3)
            price += 2 * np.log(self.added)
        return np.where(self.added > 0, price, 0.0)

    @property
    def all_pairs(self) -> float:
        """What two arms of the start pay when nothing is known about retired ones."""
        return math.log(self.initial * (1 - self.reserve) / self.reserve) if self.reserve > 0 else math.inf

    def level(self, log_inv_delta: float, objectives: int) -> float:
        """Give the evidence that delta demands."""
        return union_level(log_inv_delta, self.initial, objectives) - math.log1p(-self.reserve)


def weigh(problem: Problem, tally: Tally, roster: Roster) -> Weighed:
    """Give leaders and evidence, comparable with the roster's level."""
    mixture = THRESHOLDS["mixture"]
    if roster.everyone:
        if len(roster.active) == roster.initial:
            return weakest_pairs(mixture, problem, tally)
        seen = lay_out(problem, tally)
        scores = pair_scores(mixture, seen, tally.told)
        return Weighed(seen.leaders, _priced(scores, seen.leaders, roster, np.zeros_like(scores)).min(axis=0))
    leaders, scores = _among(problem, tally, roster.active)
    retired = _against_retired(problem, tally, roster, leaders)
    cheap = np.minimum(_priced(scores, leaders, roster, np.zeros_like(scores)).min(axis=0), retired)
    pairs = np.full_like(scores, roster.all_pairs)
    return Weighed(leaders, np.maximum(cheap, _priced(scores, leaders, roster, pairs).min(axis=0)))


def _priced(scores: FloatArray, leaders: IntArray, roster: Roster, initial: FloatArray) -> FloatArray:
    """Take off what the later arm of each pair pays, or ``initial`` for two arms of the start."""
    surcharge = roster.surcharges
    later = np.maximum(surcharge[:, None], surcharge[leaders][None, :])
    both_initial = (roster.added[:, None] == 0) & (roster.added[leaders] == 0)[None, :]
    return scores - np.where(both_initial, initial, later)


def _among(problem: Problem, tally: Tally, chosen: npt.NDArray[np.bool_]) -> tuple[IntArray, FloatArray]:
    """Give leaders and scores among some arms; arms left out have infinite scores."""
    rows = np.flatnonzero(chosen)
    part = Problem([problem.arms[i] for i in rows], problem.objectives, problem.sd[rows])
    seen = lay_out(part, tally.rows(rows))
    scores = np.full(problem.shape, np.inf)
    scores[rows] = pair_scores(THRESHOLDS["mixture"], seen, tally.told)
    return rows[seen.leaders], scores


def _against_retired(problem: Problem, tally: Tally, roster: Roster, leaders: IntArray) -> FloatArray:
    """Give how clearly each leader beats the retired arms of the start; minus infinity where one is ahead of it."""
    chosen = roster.active | (roster.added == 0)
    overall, scores = _among(problem, tally, chosen)
    gone = chosen & ~roster.active
    weakest = scores[gone].min(axis=0, initial=np.inf)
    return np.where(overall == leaders, weakest, -np.inf)
