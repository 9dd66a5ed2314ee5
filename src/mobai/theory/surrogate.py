"""The surrogate linear program of MO-BAI (paper, eq. def_s_t), solved exactly.

Every pair's rate is homogeneous of degree one in the weights, so its linearisation at ``w`` is ``a s_i + b s_b`` with
the partial derivatives ``a, b`` at ``w``, and the program reads::

    maximise  v   subject to   a_im s_i + b_im s_b >= v  for every pair,   s in Gamma_eta

a matrix game on a simplex with floors, two nonzeros per row. A simplex method in the space of the best arms solves it
(docs/surrogate.md); HiGHS is the reference in the tests, and the fallback should a certificate ever fail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.errors import ConvergenceError, InputError
from mobai.kernels.programs import surrogate as kernels
from mobai.problem import FloatArray, Instance, IntArray
from mobai.problem.problem import numbers
from mobai.theory.certificate import relative_gap
from mobai.theory.highs import solve_with_highs
from mobai.theory.pairs import floor_mass, rivals

_PROMISED_GAP = 1e-9
_LEAST_SHARE_OF_GAP = 1e-60
_fallbacks = 0


class Bases(NamedTuple):
    """Where the last two programs ended, newest first: what held every arm and what was tight, and the shares."""

    codes: npt.NDArray[np.int64]
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The solution of one surrogate program, with its certificate.

    Attributes
    ----------
    proportions
        The maximiser, a point of Gamma_eta. Shape (K,).
    value
        The smallest linearised rate it reaches.
    upper
        The value of a dual solution: no proportions reach more.
    pivots
        How many steps the simplex method took; 0 when an earlier basis was still optimal.
    fallback
        Whether HiGHS had to solve it (:func:`surrogate_fallbacks` counts).
    """

    proportions: FloatArray
    value: float
    upper: float
    pivots: int = 0
    fallback: bool = False

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return relative_gap(self.value, self.upper)


class SurrogatePlan:
    """An instance to plan with, ready for many programs one after the other.

    Parameters
    ----------
    gaps, sd
        Gaps to the best arm, and standard deviations. Shape (K, M).
    best
        The best arm of every objective. Shape (M,).
    mass
        How much weight the floors reserve in total.
    """

    def __init__(self, gaps: FloatArray, sd: FloatArray, best: IntArray, mass: float) -> None:
        # In units of an objective's largest sd and of the largest gap: their squares stay in range, and gaps that
        # would vanish beside the largest are ties.
        noise = sd.max(axis=0)
        unit = (gaps / noise).max() or 1.0
        scaled = gaps / noise / unit
        counted = np.where(scaled < _LEAST_SHARE_OF_GAP, 0.0, scaled)
        self._arrays = (np.array(counted.T, order="C"), np.array((sd / noise).T, order="C") ** 2, best.astype(np.int64))
        self._unit = float(unit) ** 2
        self._mass = mass

    def no_bases(self) -> Bases:
        """Return the memory to start with: nothing solved yet."""
        objectives, arms = self._arrays[0].shape
        return no_bases(arms, objectives)

    def solve(self, weights: FloatArray, bases: Bases) -> tuple[Surrogate, Bases]:
        """Linearise at the weights and solve, from the better of the last two bases; returns the new ones, too."""
        known = Bases(bases.codes.copy(), bases.shares.copy())
        floor = self._mass / len(weights)
        value, upper, pivots = kernels.solve_surrogate(*self._arrays, weights, floor, *known)
        solution = Surrogate(known.shares[0].copy(), value * self._unit, upper * self._unit, pivots)
        if solution.gap <= _PROMISED_GAP:
            return solution, known
        return self._fall_back(solution, weights), self.no_bases()

    def _fall_back(self, failed: Surrogate, weights: FloatArray) -> Surrogate:
        """Let HiGHS try; keep the better certified of the two."""
        global _fallbacks  # noqa: PLW0603 - the count is the process's
        _fallbacks += 1
        ours = replace(failed, fallback=True)
        try:
            proportions, value, upper = solve_with_highs(*self._arrays, weights, self._mass)
        except ConvergenceError:
            return ours
        found = Surrogate(proportions, value * self._unit, upper * self._unit, failed.pivots, fallback=True)
        return ours if ours.gap <= found.gap else found


def no_bases(arms: int, objectives: int) -> Bases:
    """Return room for two solutions, and nothing in it."""
    return Bases(np.full((2, arms + min(arms, objectives) + 1), -1), np.zeros((2, arms)))


def surrogate_fallbacks() -> int:
    """Return how many programs this process had to hand to HiGHS. On the paper's instances: none."""
    return _fallbacks


def surrogate_proportions(instance: Instance, weights: npt.ArrayLike, eta: float = 0.1) -> Surrogate:
    """Maximise the smallest of the pairs' rates, linearised at ``weights``, over Gamma_eta.

    Parameters
    ----------
    instance
        The means to plan with. Where an objective's best arm is tied the value is zero, and the proportions are those
        for the tied pairs alone: the limit of equal vanishing gaps.
    weights
        Where to linearise: K nonnegative numbers with sum one. Zeros are allowed; where both arms of a pair have
        weight zero the derivatives are taken at equal, vanishing weights.
    eta
        The floor parameter of Gamma_eta: every proportion is at least ``eta / (K (1 + eta))``; 0 for no floor.

    Examples
    --------
    >>> surrogate = surrogate_proportions(Instance([[1.0], [0.0]]), [0.5, 0.5], eta=0.0)
    >>> round(surrogate.value, 9)
    0.125
    """
    at = numbers(weights, "weights")
    if at.shape != (instance.shape[0],):
        raise InputError("weights", f"must be {instance.shape[0]} numbers, one per arm, not of shape {at.shape}")
    if (at < 0).any() or abs(at.sum() - 1) > 1e-6:
        raise InputError("weights", "must be nonnegative and sum to one")
    gaps = np.where(rivals(instance.best_arms, instance.shape[0]), instance.gaps + instance.problem.eps, 0.0)
    plan = SurrogatePlan(gaps, instance.sd, instance.best_arms, floor_mass(eta))
    return plan.solve(at, plan.no_bases())[0]
