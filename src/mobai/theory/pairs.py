"""The pairs (arm, objective) that must be told apart, in the form every solver of this layer works on.

To identify the best arm ``b`` of objective ``m`` each rival ``i`` has to be separated from it. With weights ``w`` that
happens at the rate (the paper's eq. cstar, with known noise)::

    f_im(w) = D_im^2 / 2  /  (sd_im^2 / w_i + sd_bm^2 / w_b)

so ``1/f_im = own_im / w_i + lead_im / w_b`` with ``own = 2 (sd_im/D_im)^2`` and ``lead = 2 (sd_bm/D_im)^2``. With an
indifference zone, D is the gap plus eps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem import FloatArray, Instance, IntArray

_LARGEST_SPREAD = 1e50
_LARGEST_ETA = 1e6


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every rival of every objective's best arm.

    Attributes
    ----------
    own, lead
        What the rival and the best arm contribute to ``1/f``, in units of ``1/scale``. Shape (K, M); zero where the
        arm is the best one, which is no rival of itself.
    best
        The best arm of every objective. Shape (M,).
    scale
        The unit of rates: ``f = scale / (own/w_i + lead/w_b)``. It keeps own and lead at most about 2.
    """

    own: FloatArray
    lead: FloatArray
    best: IntArray
    scale: float

    @classmethod
    def of(cls, instance: Instance, answers: IntArray | None = None) -> Pairs:
        """Collect the pairs of an instance whose best arms are unique, or of other right answers.

        An answer has to be told apart from arms that are better by more than eps: its gaps grow by that much.
        """
        instance.check_unique_best()
        best = instance.best_arms if answers is None else answers
        means, objectives = instance.oriented_means, np.arange(instance.shape[1])
        gaps = means[best, objectives] - means + instance.problem.eps
        sd = sd_per_cost(instance)[:, : instance.shape[1]]
        sd_best = sd[best, objectives]
        rival = rivals(best, instance.shape[0])
        standardised = gaps[rival] / np.hypot(sd, sd_best)[rival]
        unit, largest = float(standardised.min()), float(standardised.max())
        if largest > _LARGEST_SPREAD * unit:
            raise InputError(
                "means",
                f"the gaps divided by sd go from {unit:.3g} to {largest:.3g}; "
                f"the largest may be at most {_LARGEST_SPREAD:g} times the smallest",
            )
        ratio = np.divide(unit, gaps, out=np.zeros(instance.shape), where=rival)
        return cls(2 * (sd * ratio) ** 2, 2 * (sd_best * ratio) ** 2, best, unit**2)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of arms and the number of objectives."""
        arms, objectives = self.own.shape
        return arms, objectives

    def cost(self, weights: FloatArray) -> FloatArray:
        """Return ``own/w_i + lead/w_b``, the inverse of every pair's rate; 0 where there is no pair."""
        return self.own / weights[:, None] + self.lead / weights[self.best]

    def gather(self, at_rival: FloatArray, at_best: FloatArray) -> FloatArray:
        """Sum what the pairs hold for their two arms, arm by arm."""
        total: FloatArray = at_rival.sum(axis=1)
        return total + np.bincount(self.best, at_best.sum(axis=0), minlength=len(total))


def sd_per_cost(instance: Instance) -> FloatArray:
    """Return the standard deviations; where samples cost something, of what a unit of money buys of each arm.

    With them weights are shares of the spend, and rates are per unit of it.
    """
    if instance.costs is None:
        return instance.sd
    priced: FloatArray = instance.sd * np.sqrt(instance.costs)[:, None]
    return priced


def shares_of_samples(instance: Instance, spend: FloatArray) -> FloatArray:
    """Return which shares of the samples are these shares of the spend."""
    if instance.costs is None:
        return spend
    found: FloatArray = spend / instance.costs
    found /= found.sum()
    return found


def rivals(best: IntArray, arms: int) -> npt.NDArray[np.bool_]:
    """Mark every (arm, objective) but the best arms themselves. Shape (K, M)."""
    mask = np.ones((arms, len(best)), dtype=np.bool_)
    mask[best, np.arange(len(best))] = False
    return mask


def floor_mass(eta: float) -> float:
    """Return the total weight of the floors ``eta / (K (1 + eta))`` of Gamma_eta: eta / (1 + eta)."""
    if isinstance(eta, bool) or not isinstance(eta, int | float | np.number) or not 0 <= eta <= _LARGEST_ETA:
        raise InputError("eta", f"must be a number from 0 to {_LARGEST_ETA:g}, not {eta!r}")
    return float(eta / (1 + eta))
