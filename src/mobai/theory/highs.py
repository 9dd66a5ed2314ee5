"""The surrogate program through HiGHS: the reference of the tests, and the fallback of the fast solver.

Arrays are objective by arm, as in the kernels.
"""

from __future__ import annotations

import numpy as np

from mobai.errors import ConvergenceError
from mobai.problem import FloatArray, IntArray


def solve_with_highs(
    gaps: FloatArray, variance: FloatArray, best: IntArray, weights: FloatArray, mass: float
) -> tuple[FloatArray, float, float]:
    """Return the proportions, their value and its upper bound; ``mass`` is the weight that the floors reserve."""
    rival = np.arange(gaps.shape[1]) != best[:, None]
    tied = rival & (gaps == 0)
    rows = tied if tied.any() else rival
    a, b = derivatives(np.where(tied, 1.0, gaps), variance, best, weights)
    objectives, arms = np.nonzero(rows)
    proportions, prices = _solve_rows(a[rows], b[rows], arms, best[objectives], len(weights), mass)
    inside, value, upper = _certify(proportions, prices, a[rows], b[rows], arms, best[objectives], mass)
    return (inside, 0.0, 0.0) if tied.any() else (inside, value, upper)


def derivatives(
    gaps: FloatArray, variance: FloatArray, best: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return partial derivatives of every pair's rate in the rival's and in the best arm's weight. Shape (M, K) each.

    ``a = D^2/2 v_i (w_b / (v_i w_b + v_b w_i))^2`` with variances v, and b alike with the roles exchanged.
    """
    variance_best = variance[np.arange(len(best)), best][:, None]
    w_rival, w_best = np.broadcast_arrays(weights, weights[best][:, None])
    nothing = (w_rival == 0) & (w_best == 0)
    w_rival, w_best = np.where(nothing, 1.0, w_rival), np.where(nothing, 1.0, w_best)
    root = gaps / (variance * w_best + variance_best * w_rival)
    return 0.5 * variance * (root * w_best) ** 2, 0.5 * variance_best * (root * w_rival) ** 2


def _solve_rows(
    a: FloatArray, b: FloatArray, rival: IntArray, best: IntArray, arms: int, mass: float
) -> tuple[FloatArray, FloatArray]:
    """Hand the rows to HiGHS (dual simplex), each scaled to coefficients of at most one."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    unit = (a + b).min() / arms
    largest = np.maximum(np.maximum(a, b), unit)
    columns = np.column_stack([rival, best, np.full(len(a), arms)])
    entries = np.column_stack([-a, -b, np.full(len(a), unit)]) / largest[:, None]
    answer = linprog(
        c=np.append(np.zeros(arms), -1.0),
        A_ub=csr_array((entries.ravel(), columns.ravel(), np.arange(0, 3 * len(a) + 1, 3)), shape=(len(a), arms + 1)),
        b_ub=np.zeros(len(a)),
        A_eq=np.append(np.ones(arms), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(mass / arms, None)] * arms + [(0, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.x is None or answer.ineqlin.marginals is None:
        raise ConvergenceError(f"HiGHS did not solve the surrogate program: {answer.message}")
    proportions = _lift(answer.x[:-1], unit * answer.x[-1], a, b, rival, best)
    return proportions, np.maximum(-answer.ineqlin.marginals, 0) / largest


def _lift(
    proportions: FloatArray, value: float, a: FloatArray, b: FloatArray, rival: IntArray, best: IntArray
) -> FloatArray:
    """Raise proportions until every row reaches the value: HiGHS drops coefficients and misses below 1e-9."""
    missing = value - a * proportions[rival] - b * proportions[best]
    short = missing > 0
    rise = np.zeros_like(proportions)
    np.maximum.at(rise, np.where(a >= b, rival, best)[short], (missing / np.maximum(a, b))[short])
    return proportions + rise


def _certify(
    proportions: FloatArray,
    prices: FloatArray,
    a: FloatArray,
    b: FloatArray,
    rival: IntArray,
    best: IntArray,
    mass: float,
) -> tuple[FloatArray, float, float]:
    """Put proportions into Gamma_eta, and compute both sides of the duality from them and any nonnegative prices."""
    floor = mass / len(proportions)
    above = np.maximum(proportions - floor, 0)
    inside = floor + above * ((1 - mass) / above.sum())
    value = (a * inside[rival] + b * inside[best]).min()
    worth = np.zeros_like(proportions)
    np.add.at(worth, rival, prices * a)
    np.add.at(worth, best, prices * b)
    upper = ((1 - mass) * worth.max() + floor * worth.sum()) / prices.sum()
    return inside, float(value), float(upper)
