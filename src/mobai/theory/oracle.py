"""The oracle weights by an interior point method made for this problem, with a certificate of its own.

Scaling the weights so that the smallest rate is one turns ``1/c* = max_w min f(w)`` into a convex program::

    minimise  sum_i w_i   subject to   own_im/w_i + lead_im/w_b <= 1   for every pair,
                                       w_i >= floor * sum_j w_j        (Gamma_eta; absent when eta = 0)

whose Lagrangian separates over the arms, so that its dual function has a closed form. With prices ``y >= 0`` on the
pairs, ``G_i`` the priced sum of an arm's coefficients and ``k`` any nonnegative vector whose support function over
Gamma_eta is one (k = 1 when eta = 0)::

    c  >=  ( sum_i sqrt(G_i k_i) )^2 / sum y          for every y >= 0

Both this bound and ``sum w * max cost(w)``, its counterpart from above, hold whatever the iterations did: the
certificate does not trust the solver. Derivation: docs/lower-bound.md. Newton's matrix is diagonal plus a block for
the r distinct best arms, so a step costs O(K M + K r^2 + r^3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai.errors import ConvergenceError
from mobai.problem import FloatArray
from mobai.theory.pairs import Pairs

_TARGET_GAP = 1e-11
_PROMISED_GAP = 1e-9
_MOST_STEPS = 300
_TO_THE_BOUNDARY = 0.99


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
        return max(0.0, (self.upper - self.lower) / self.upper)


def solve_oracle(pairs: Pairs, mass: float) -> Oracle:
    """Maximise the smallest rate over weights of which ``mass`` is spread evenly as a floor."""
    point = _start(pairs, mass)
    best = here = certify(pairs, mass, point)
    for _ in range(_MOST_STEPS):
        if best.gap <= _TARGET_GAP:
            break
        step = _step(pairs, point, mass, here.gap)
        if step is None:
            break
        point, here = step, certify(pairs, mass, step)
        best = min(best, here, key=lambda oracle: oracle.gap)
    if not best.gap <= _PROMISED_GAP:
        raise ConvergenceError(f"the oracle weights were certified only to a relative gap of {best.gap:.2g}")
    return best


@dataclass(frozen=True, eq=False)
class _Point:
    """A strictly feasible point: weights, the prices of pairs and floors, and the slack of each."""

    weights: FloatArray
    prices: FloatArray
    floor_prices: FloatArray
    slack: FloatArray
    floor_slack: FloatArray


def certify(pairs: Pairs, mass: float, point: _Point) -> Oracle:
    """Bound the best rate from both sides by what the point holds, whether or not it is optimal."""
    weights = point.weights / point.weights.sum()
    prices = point.prices / point.prices.sum()
    lower = 1 / pairs.cost(weights).max()
    arms = len(weights)
    k = np.maximum(1 - point.floor_prices + mass / arms * point.floor_prices.sum(), 0)
    k /= (1 - mass) * k.max() + mass / arms * k.sum()
    priced = pairs.gather(prices * pairs.own, prices * pairs.lead)
    upper = 1 / np.sqrt(priced * k).sum() ** 2
    return Oracle(weights, prices, float(lower * pairs.scale), float(upper * pairs.scale))


def _start(pairs: Pairs, mass: float) -> _Point:
    """Choose weights so large that every pair's cost is at most a half, then lift them off the floors."""
    weights = 4 * pairs.own.max(axis=1)
    np.maximum.at(weights, pairs.best, 4 * pairs.lead.max(axis=0))
    weights += 2 * mass / (1 - mass) * weights.mean()
    slack, floor_slack = _slacks(pairs, weights, mass)
    barrier = weights.sum() / (pairs.rival.sum() + (len(weights) if mass else 0))
    prices = np.where(pairs.rival, barrier / slack, 0.0)
    floor_prices = barrier / floor_slack if mass else np.zeros(len(weights))
    return _Point(weights, prices, floor_prices, slack, floor_slack)


def _slacks(pairs: Pairs, weights: FloatArray, mass: float) -> tuple[FloatArray, FloatArray]:
    return 1 - pairs.cost(weights), weights - mass * weights.mean()


def _step(pairs: Pairs, point: _Point, mass: float, gap: float) -> _Point | None:
    """Take one predictor-corrector step, or None when rounding leaves no step to take."""
    constraints = pairs.rival.sum() + (len(point.weights) if mass else 0)
    complementarity = (point.prices * point.slack).sum() + (point.floor_prices * point.floor_slack).sum()
    # A curved constraint can be hugged long before the optimum; the certified gap sees that, complementarity does not.
    complementarity = max(complementarity, gap * point.weights.sum())
    system = _NewtonSystem(pairs, point, mass)
    reach = _longest(pairs, point, mass, system.direction(0.0))
    centring = min(max((1 - reach) ** 2, 1e-4), 0.8)
    direction = system.direction(centring * complementarity / constraints)
    length = _longest(pairs, point, mass, direction)
    if length < 1e-10:
        return None
    weights = point.weights + length * direction[0]
    slack, floor_slack = _slacks(pairs, weights, mass)
    prices = point.prices + length * direction[1]
    floor_prices = point.floor_prices + length * direction[2]
    return _Point(weights, prices, floor_prices, slack, floor_slack)


_Direction = tuple[FloatArray, FloatArray, FloatArray]


def _longest(pairs: Pairs, point: _Point, mass: float, direction: _Direction) -> float:
    """Find a step length that keeps prices and slacks positive; the slacks are not linear, so it backtracks."""
    length = min(_ratio(point.prices, direction[1]), _ratio(point.floor_prices, direction[2]))
    length = min(length, _ratio(point.weights, direction[0]))
    keep = 1 - _TO_THE_BOUNDARY
    while length > 1e-10:
        slack, floor_slack = _slacks(pairs, point.weights + length * direction[0], mass)
        floors_hold = not mass or bool((floor_slack > keep * point.floor_slack).all())
        if floors_hold and (slack > keep * point.slack).all():
            return length
        length *= 0.8
    return 0.0


def _ratio(values: FloatArray, change: FloatArray) -> float:
    falling = change < 0
    if not falling.any():
        return 1.0
    return min(1.0, _TO_THE_BOUNDARY * float((-values[falling] / change[falling]).min()))


class _NewtonSystem:
    """The linear system of one step: diagonal, plus a dense block of the best arms, plus the floors' rank two."""

    def __init__(self, pairs: Pairs, point: _Point, mass: float) -> None:
        self.pairs, self.point, self.floor = pairs, point, mass / len(point.weights)
        weights, best = point.weights, pairs.best
        self.at_rival = pairs.own / weights[:, None] ** 2
        self.at_best = pairs.lead / weights[best] ** 2
        stiffness = point.prices / point.slack
        self.floor_stiffness = point.floor_prices / point.floor_slack
        curvature = 2 * pairs.gather(point.prices * self.at_rival, point.prices * self.at_best) / weights
        diagonal = curvature + self.floor_stiffness
        diagonal += pairs.gather(stiffness * self.at_rival**2, stiffness * self.at_best**2)
        self._eliminate(diagonal, stiffness * self.at_rival * self.at_best)

    def _eliminate(self, diagonal: FloatArray, coupling: FloatArray) -> None:
        """Reduce to the distinct best arms (hubs): every other arm is coupled to hubs alone."""
        self.hubs, hub_of = np.unique(self.pairs.best, return_inverse=True)
        to_hub = np.zeros((len(diagonal), len(self.hubs)))
        for m, hub in enumerate(hub_of):
            to_hub[:, hub] += coupling[:, m]
        self.others = np.delete(np.arange(len(diagonal)), self.hubs)
        self.diagonal, self.to_hub = diagonal[self.others], to_hub[self.others]
        among = np.diag(diagonal[self.hubs]) + to_hub[self.hubs] + to_hub[self.hubs].T
        self.schur = among - self.to_hub.T @ (self.to_hub / self.diagonal[:, None])

    def _solve(self, right: FloatArray) -> FloatArray:
        """Solve without the floors' rank-two part, for one or several columns."""
        solution = np.empty_like(right)
        scaled = right[self.others] / self.diagonal[:, None]
        solution[self.hubs] = np.linalg.solve(self.schur, right[self.hubs] - self.to_hub.T @ scaled)
        solution[self.others] = scaled - self.to_hub @ solution[self.hubs] / self.diagonal[:, None]
        return solution

    def _solve_with_floors(self, right: FloatArray) -> FloatArray:
        """Woodbury: the floors add ``P diag(q) P - diag(q)`` with ``P = I - floor 1 1'``."""
        q, ones = self.floor_stiffness, np.ones_like(right)
        columns = self._solve(np.column_stack([right, q, ones]))
        sides = np.column_stack([q, ones])
        middle = self.floor * np.array([[0.0, -1.0], [-1.0, self.floor * q.sum()]])
        small = np.eye(2) + middle @ sides.T @ columns[:, 1:]
        change = np.linalg.solve(small, middle @ (sides.T @ columns[:, 0]))
        solution: FloatArray = columns[:, 0] - columns[:, 1:] @ change
        return solution

    def direction(self, barrier: float) -> _Direction:
        """Aim at stationarity and at complementarity equal to ``barrier``."""
        point, pairs = self.point, self.pairs
        # Stationarity reads 1 = gather(prices) + (I - floor 1 1') floor_prices; the current prices cancel out.
        target = np.where(pairs.rival, barrier / point.slack, 0.0)
        right = pairs.gather(target * self.at_rival, target * self.at_best) - 1
        if self.floor:
            floor_target = barrier / point.floor_slack
            right += floor_target - self.floor * floor_target.sum()
            weights = self._solve_with_floors(right)
        else:
            floor_target = np.zeros_like(right)
            weights = self._solve(right[:, None])[:, 0]
        slack = self.at_rival * weights[:, None] + self.at_best * weights[pairs.best]
        prices = target - point.prices * (1 + slack / point.slack)
        floor_slack = weights - self.floor * weights.sum()
        floor_prices = floor_target - point.floor_prices * (1 + floor_slack / point.floor_slack)
        return weights, prices, floor_prices
