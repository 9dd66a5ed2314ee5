"""The surrogate linear program of MO-BAI (paper, eq. def_s_t), solved exactly.

Every pair's rate is homogeneous of degree one in the weights, so its linearisation at ``w`` is ``a s_i + b s_b``
with the partial derivatives ``a, b`` at ``w``, and the program reads::

    maximise  lam   subject to   a_im s_i + b_im s_b >= lam  for every pair,   s in Gamma_eta

a matrix game on a simplex with floors, two nonzeros a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mobai.errors import ConvergenceError, InputError
from mobai.problem import FloatArray, Instance, IntArray
from mobai.problem.problem import numbers
from mobai.theory.pairs import floor_mass, rivals


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
    """

    proportions: FloatArray
    value: float
    upper: float

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return max(0.0, (self.upper - self.value) / self.upper) if self.upper > 0 else 0.0


def surrogate_proportions(instance: Instance, weights: npt.ArrayLike, eta: float = 0.1) -> Surrogate:
    """Maximise the pairs' rates, linearised at ``weights``, over Gamma_eta.

    Parameters
    ----------
    instance
        The means to plan with. Where an objective's best arm is tied the value is zero, and the proportions are those
        for the tied pairs alone: the limit of equal vanishing gaps.
    weights
        Where to linearise: K nonnegative numbers with sum one. Zeros are allowed; where both arms of a pair have
        weight zero the derivatives are taken at equal, vanishing weights.
    eta
        How much weight the floors reserve, as in the paper; 0 for none.

    Examples
    --------
    >>> surrogate = surrogate_proportions(Instance([[1.0], [0.0]]), [0.5, 0.5], eta=0.0)
    >>> round(surrogate.value, 9)
    0.125
    """
    at = numbers(weights, "weights")
    if at.shape != (instance.shape[0],):
        raise InputError(f"weights must be {instance.shape[0]} numbers, one per arm, not of shape {at.shape}")
    if (at < 0).any() or abs(at.sum() - 1) > 1e-6:
        raise InputError("weights must be nonnegative and sum to one")
    return solve_surrogate(instance.gaps, instance.sd, instance.best_arms, at, floor_mass(eta))


def solve_surrogate(gaps: FloatArray, sd: FloatArray, best: IntArray, weights: FloatArray, mass: float) -> Surrogate:
    """Solve the program on checked arrays; ``mass`` is the weight that the floors reserve in total."""
    rival = rivals(best, len(gaps))
    tied = rival & (gaps == 0)
    rows = tied if tied.any() else rival
    at_rival, at_best = derivatives(np.where(tied, 1.0, gaps), sd, best, weights)
    solution = _solve_highs(at_rival, at_best, best, rows, mass)
    return Surrogate(solution.proportions, 0.0, 0.0) if tied.any() else solution


def derivatives(gaps: FloatArray, sd: FloatArray, best: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Partial derivatives of every pair's rate in the rival's and in the best arm's weight. Shape (K, M) each.

    ``a = D^2/2 v_i (w_b / (v_i w_b + v_b w_i))^2`` with variances v, and b alike with the roles exchanged.
    """
    variance = sd**2
    variance_best = variance[best, np.arange(len(best))]
    w_rival, w_best = np.broadcast_arrays(weights[:, None], weights[best])
    nothing = (w_rival == 0) & (w_best == 0)
    w_rival, w_best = np.where(nothing, 1.0, w_rival), np.where(nothing, 1.0, w_best)
    norm = variance * w_best + variance_best * w_rival
    half = gaps**2 / 2
    return half * variance * (w_best / norm) ** 2, half * variance_best * (w_rival / norm) ** 2


def certify(
    proportions: FloatArray,
    prices: FloatArray,
    at_rival: FloatArray,
    at_best: FloatArray,
    best: IntArray,
    rows: npt.NDArray[np.bool_],
    mass: float,
) -> Surrogate:
    """Compute both sides of the duality from any proportions and any nonnegative prices on the pairs."""
    floor = mass / len(proportions)
    inside = np.maximum(proportions, floor)
    inside = floor + (inside - floor) * ((1 - mass) / (inside - floor).sum())
    value = (at_rival * inside[:, None] + at_best * inside[best])[rows].min()
    shares = np.where(rows, prices, 0.0) / prices[rows].sum()
    worth = (shares * at_rival).sum(axis=1)
    np.add.at(worth, best, (shares * at_best).sum(axis=0))
    upper = (1 - mass) * worth.max() + floor * worth.sum()
    return Surrogate(inside, float(value), float(upper))


def _solve_highs(
    at_rival: FloatArray, at_best: FloatArray, best: IntArray, rows: npt.NDArray[np.bool_], mass: float
) -> Surrogate:
    """Hand the program to HiGHS (dual simplex), row by row scaled to coefficients of at most one."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    arms, objectives = np.nonzero(rows)
    a, b, count = at_rival[rows], at_best[rows], len(arms)
    unit = (a + b).min() / len(at_rival)
    largest = np.maximum(np.maximum(a, b), unit)
    columns = np.column_stack([arms, best[objectives], np.full(count, len(at_rival))])
    entries = np.column_stack([-a, -b, np.full(count, unit)]) / largest[:, None]
    matrix = csr_array((entries.ravel(), columns.ravel(), np.arange(0, 3 * count + 1, 3)))
    total = np.append(np.ones(len(at_rival)), 0.0)
    answer = linprog(
        c=np.append(np.zeros(len(at_rival)), -1.0),
        A_ub=matrix,
        b_ub=np.zeros(count),
        A_eq=total[None, :],
        b_eq=[1.0],
        bounds=[(mass / len(at_rival), None)] * len(at_rival) + [(0, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.x is None:
        raise ConvergenceError(f"HiGHS did not solve the surrogate program: {answer.message}")
    prices = np.zeros_like(at_rival)
    prices[rows] = np.maximum(-answer.ineqlin.marginals, 0) / largest
    lifted = _lift(answer.x[:-1], unit * answer.x[-1], a, b, arms, best[objectives])
    return certify(lifted, prices, at_rival, at_best, best, rows, mass)


def _lift(
    proportions: FloatArray, value: float, a: FloatArray, b: FloatArray, rival: IntArray, best: IntArray
) -> FloatArray:
    """Raise proportions until every row reaches the value: HiGHS drops coefficients and misses below 1e-9."""
    missing = value - a * proportions[rival] - b * proportions[best]
    short = missing > 0
    rise = np.zeros_like(proportions)
    np.maximum.at(rise, np.where(a >= b, rival, best)[short], (missing / np.maximum(a, b))[short])
    return proportions + rise
