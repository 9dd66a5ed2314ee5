"""The oracle weights, with a certificate that does not trust the solver.

Scaling the weights so that the smallest rate is one turns ``1/c* = max_w min f(w)`` into a convex program::

    minimise  sum_i w_i   subject to   own_im/w_i + lead_im/w_b <= 1   for every pair,
                                       w_i >= floor * sum_j w_j        (Gamma_eta; absent when eta = 0)

whose Lagrangian separates over the arms, so that its dual function has a closed form. With prices ``y >= 0`` on the
pairs, ``G_i`` the priced sum of an arm's coefficients and ``k`` any nonnegative vector whose support function over
Gamma_eta is one (k = 1 when eta = 0)::

    c  >=  ( sum_i sqrt(G_i k_i) )^2 / sum y          for every y >= 0

Both this bound and ``sum w * max cost(w)``, its counterpart from above, hold whatever the interior point method in
:mod:`mobai.kernels.programs.oracle` did. Derivation: docs/lower-bound.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai.errors import ConvergenceError
from mobai.kernels.programs import oracle as kernels
from mobai.problem import FloatArray
from mobai.theory.certificate import relative_gap
from mobai.theory.pairs import Pairs

_TARGET_GAP = 1e-11
_PROMISED_GAP = 1e-9
_MOST_STEPS = 300


@dataclass(frozen=True, eq=False)
class Oracle:
    """Weights with two-sided bounds on the best rate, ``lower <= max_w min f(w) <= upper``."""

    weights: FloatArray
    prices: FloatArray
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """The relative gap between the bounds."""
        return relative_gap(self.lower, self.upper)


def solve_oracle(pairs: Pairs, mass: float) -> Oracle:
    """Maximise the smallest rate over weights of which ``mass`` is spread evenly as a floor."""
    own, lead = np.array(pairs.own.T, order="C"), np.array(pairs.lead.T, order="C")
    best, floor = pairs.best.astype(np.int64), mass / pairs.shape[0]
    weights, prices, _ = kernels.solve_oracle(own, lead, best, floor, _TARGET_GAP, _MOST_STEPS)
    oracle = certify(pairs, mass, weights, prices[:-1].T, prices[-1])
    if not oracle.gap <= _PROMISED_GAP:
        raise ConvergenceError(f"the oracle weights were certified only to a relative gap of {oracle.gap:.2g}")
    return oracle


def certify(pairs: Pairs, mass: float, weights: FloatArray, prices: FloatArray, floor_prices: FloatArray) -> Oracle:
    """Bound the best rate from both sides by any weights in Gamma_eta (up to scale) and any nonnegative prices."""
    weights, prices = weights / weights.sum(), prices / prices.sum()
    lower = 1 / pairs.cost(weights).max()
    k = np.maximum(1 - floor_prices + mass * floor_prices.mean(), 0)
    k /= (1 - mass) * k.max() + mass * k.mean()
    priced = pairs.gather(prices * pairs.own, prices * pairs.lead)
    upper = 1 / np.sqrt(priced * k).sum() ** 2
    return Oracle(weights, prices, float(lower * pairs.scale), float(upper * pairs.scale))
