"""The convex program of the oracle weights, a point of its interior, and how far that is from the optimum.

``minimise sum w  subject to  own_im/w_i + lead_im/w_best[m] <= 1,  w_i >= floor sum w``. Arrays are objective by
arm; ``own`` and ``lead`` are zero where an arm would be its own rival.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import fast_kernel, kernel
from mobai.kernels.programs.dense import Integers, Matrix, Vector, add_up, dot, fill


class ConvexProgram(NamedTuple):
    """The program: coefficients of the pairs, the best arms, their places among the linking arms, the floor."""

    own: Matrix
    lead: Matrix
    best: Integers
    linking_arm: Integers
    place: Integers
    floor: float


class Point(NamedTuple):
    """A strictly feasible point: weights, then prices and slacks of the pairs; the floors have the last row."""

    weights: Vector
    prices: Matrix
    slack: Matrix


@kernel
def count(program: ConvexProgram) -> int:
    """Return how many constraints there are."""
    objectives, arms = program.own.shape
    return objectives * (arms - 1) + (arms if program.floor > 0.0 else 0)


@kernel
def start(program: ConvexProgram, point: Point, inverse: Vector) -> None:
    """Choose weights so large that every pair's cost is at most a half, lifted off the floors; fill in the point."""
    objectives, arms = program.own.shape
    weights = point.weights
    fill(weights, 0.0)
    for m in range(objectives):
        for i in range(arms):
            weights[i] = max(weights[i], 4.0 * program.own[m, i])
            weights[program.best[m]] = max(weights[program.best[m]], 4.0 * program.lead[m, i])
    lift = 2.0 * program.floor / (1.0 - program.floor * arms) * add_up(weights)
    for i in range(arms):
        weights[i] += lift
    measure(program, point, inverse)
    barrier = add_up(weights) / count(program)
    for m in range(objectives + 1):
        for i in range(arms):
            priced = (program.floor > 0.0) if m == objectives else (i != program.best[m])
            point.prices[m, i] = barrier / point.slack[m, i] if priced else 0.0


@kernel
def measure(program: ConvexProgram, point: Point, inverse: Vector) -> None:
    """Compute every slack from the weights, and one over every weight; in place."""
    invert(point.weights, inverse)
    for m in range(len(program.best)):
        pair_slacks(program.own[m], program.lead[m], inverse, inverse[program.best[m]], point.slack[m])
    level = program.floor * add_up(point.weights)
    for i in range(len(inverse)):
        point.slack[len(program.best), i] = point.weights[i] - level


@fast_kernel
def pair_slacks(own: Vector, lead: Vector, inverse: Vector, inverse_best: float, slack: Vector) -> None:
    """Fill in ``1 - cost`` of one objective's pairs."""
    for i in range(len(own)):
        slack[i] = 1.0 - own[i] * inverse[i] - lead[i] * inverse_best


@kernel
def invert(weights: Vector, inverse: Vector) -> None:
    """Fill in one over every weight."""
    for i in range(len(weights)):
        inverse[i] = 1.0 / weights[i]


@kernel
def relative_gap(program: ConvexProgram, point: Point, priced: Vector) -> float:
    """Return the certificate's gap: one less the dual bound over the primal one. Overwrites ``priced``."""
    objectives, arms = program.own.shape
    spent, least = 0.0, 1.0
    fill(priced, 0.0)
    for m in range(objectives):
        priced[program.best[m]] += price_pairs(program.own[m], program.lead[m], point.prices[m], priced)
        spent += add_up(point.prices[m])
        least = min(least, smallest(point.slack[m]))
    floors = point.prices[objectives]
    lift, largest, together, root = program.floor * add_up(floors), 0.0, 0.0, 0.0
    for i in range(arms):
        reduced_cost = max(1.0 - floors[i] + lift, 0.0)
        largest = max(largest, reduced_cost)
        together += reduced_cost
        root += np.sqrt(priced[i] * reduced_cost)
    support = (1.0 - program.floor * arms) * largest + program.floor * together
    return 1.0 - root**2 / (support * spent * add_up(point.weights) * (1.0 - least))


@fast_kernel
def price_pairs(own: Vector, lead: Vector, prices: Vector, priced: Vector) -> float:
    """Add one objective's priced coefficients to its rivals'; returns what belongs to its best arm's."""
    at_best = 0.0
    for i in range(len(own)):
        priced[i] += prices[i] * own[i]
        at_best += prices[i] * lead[i]
    return at_best


@fast_kernel
def smallest(vector: Vector) -> float:
    """Return the smallest element of a vector."""
    least = np.inf
    for i in range(len(vector)):
        least = vector[i] if vector[i] < least else least
    return least


@kernel
def complementarity(point: Point) -> float:
    """Return the sum of price times slack over all constraints."""
    together = 0.0
    for m in range(len(point.prices)):
        together += dot(point.prices[m], point.slack[m])
    return together
