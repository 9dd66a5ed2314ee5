"""Newton's system of the interior point method.

It couples an arm with hubs (distinct best arms) only, so everything but a block of the hubs is eliminated by hand; the
floors add a correction of rank two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, fast_kernel, kernel
from mobai.kernels.programs.cone import Cone, Point
from mobai.kernels.programs.dense import Integers, Matrix, Vector, add_up, dot, factor, fill, solve


class System(NamedTuple):
    """Newton's matrix: a diagonal (inverted once built), the coupling with the hubs, their factorised block.

    The rest is room for the right-hand side and the solution of a step, and for what is computed on the way.
    """

    diagonal: Vector
    to_hub: Matrix
    block: Matrix
    swaps: Integers
    inner: Vector
    inverse: Vector
    right: Vector
    move: Vector
    changes: Matrix
    floors: Matrix
    small: Matrix
    small_right: Vector
    small_swaps: Integers


@array_kernel
def new_system(arms: int, objectives: int, hubs: int) -> System:
    """Allocate a system with this many hubs."""
    return System(
        np.empty(arms),
        np.empty((hubs, arms)),
        np.empty((hubs, hubs)),
        np.empty(hubs, np.int64),
        np.empty(hubs),
        np.empty(arms),
        np.empty(arms),
        np.empty(arms),
        np.empty((objectives + 1, arms)),
        np.empty((4, arms)),
        np.empty((2, 2)),
        np.empty(2),
        np.empty(2, np.int64),
    )


@kernel
def assemble(cone: Cone, point: Point, inverse: Vector, system: System) -> bool:
    """Build and factorise Newton's matrix without the floors' rank-two part; False when it is singular."""
    objectives, arms = cone.own.shape
    hubs = len(system.block)
    for i in range(arms):
        system.diagonal[i] = point.prices[objectives, i] / point.slack[objectives, i]
    for h in range(hubs):
        fill(system.to_hub[h], 0.0)
        fill(system.block[h], 0.0)
    for m in range(objectives):
        j = cone.best[m]
        system.diagonal[j] += add_stiffness(
            cone.own[m],
            cone.lead[m],
            inverse,
            inverse[j],
            point.prices[m],
            point.slack[m],
            system.diagonal,
            system.to_hub[cone.hub[m]],
        )
    for i in range(arms):
        k = cone.place[i]
        if k >= 0:
            system.block[k, k] += system.diagonal[i]
            for h in range(hubs):
                system.block[k, h] += system.to_hub[h, i]
                system.block[h, k] += system.to_hub[h, i]
                system.to_hub[h, i] = 0.0
    for i in range(arms):
        system.diagonal[i] = 1.0 / system.diagonal[i]
    for h in range(hubs):
        for g in range(h + 1):
            shared = weighted_product(system.to_hub[h], system.to_hub[g], system.diagonal)
            system.block[h, g] -= shared
            if g < h:
                system.block[g, h] -= shared
    return factor(system.block, system.swaps)


@fast_kernel
def add_stiffness(
    own: Vector,
    lead: Vector,
    inverse: Vector,
    inverse_best: float,
    prices: Vector,
    slack: Vector,
    diagonal: Vector,
    coupling: Vector,
) -> float:
    """Add one objective's pairs to Newton's matrix; returns what belongs on its best arm's diagonal."""
    at_best = 0.0
    for i in range(len(own)):
        by_rival = own[i] * inverse[i] * inverse[i]
        by_best = lead[i] * inverse_best * inverse_best
        stiffness = prices[i] / slack[i]
        diagonal[i] += by_rival * (2.0 * prices[i] * inverse[i] + stiffness * by_rival)
        coupling[i] += stiffness * by_rival * by_best
        at_best += by_best * (2.0 * prices[i] * inverse_best + stiffness * by_best)
    return at_best


@kernel
def aim(cone: Cone, point: Point, inverse: Vector, barrier: float, right: Vector) -> None:
    """Fill in the right-hand side of a step towards prices of barrier/slack; the current prices cancel out."""
    fill(right, -1.0)
    for m in range(len(cone.best)):
        j = cone.best[m]
        right[j] += add_targets(cone.own[m], cone.lead[m], inverse, inverse[j], point.slack[m], barrier, right)
    if cone.floor > 0.0:
        together = 0.0
        for i in range(len(right)):
            right[i] += barrier / point.slack[len(cone.best), i]
            together += barrier / point.slack[len(cone.best), i]
        for i in range(len(right)):
            right[i] -= cone.floor * together


@fast_kernel
def add_targets(
    own: Vector, lead: Vector, inverse: Vector, inverse_best: float, slack: Vector, barrier: float, right: Vector
) -> float:
    """Add what prices of barrier/slack would mean to the rivals; returns what they would to the best arm."""
    at_best = 0.0
    for i in range(len(own)):
        target = barrier / slack[i]
        right[i] += target * own[i] * inverse[i] * inverse[i]
        at_best += target * lead[i] * inverse_best * inverse_best
    return at_best


@kernel
def solve_newton(cone: Cone, point: Point, system: System) -> None:
    """Solve with the floors' part ``P diag(q) P - diag(q)``, ``P = I - floor 1 1'``, by Woodbury's formula."""
    right, move = system.right, system.move
    solve_arrow(cone, system, right, move)
    if cone.floor == 0.0:
        return
    q, ones, by_q, by_one = system.floors[0], system.floors[1], system.floors[2], system.floors[3]
    for i in range(len(right)):
        q[i] = point.prices[len(cone.best), i] / point.slack[len(cone.best), i]
        ones[i] = 1.0
    solve_arrow(cone, system, q, by_q)
    solve_arrow(cone, system, ones, by_one)
    # middle = floor [[0, -1], [-1, floor sum q]]; small = I + middle [q, 1]' [by_q, by_one]
    floor, mass = cone.floor, cone.floor * add_up(q)
    small, inner, swaps = system.small, system.small_right, system.small_swaps
    small[0, 0], small[0, 1] = 1.0 - floor * add_up(by_q), -floor * add_up(by_one)
    small[1, 0] = floor * (mass * add_up(by_q) - dot(q, by_q))
    small[1, 1] = 1.0 + floor * (mass * add_up(by_one) - dot(q, by_one))
    inner[0] = -floor * add_up(move)
    inner[1] = floor * (mass * add_up(move) - dot(q, move))
    if factor(small, swaps):
        solve(small, swaps, inner)
        for i in range(len(right)):
            move[i] -= by_q[i] * inner[0] + by_one[i] * inner[1]


@kernel
def solve_arrow(cone: Cone, system: System, right: Vector, solution: Vector) -> None:
    """Solve with the diagonal and the hubs' block."""
    hubs, inner = len(system.block), system.inner
    for h in range(hubs):
        inner[h] = -weighted_product(system.to_hub[h], right, system.diagonal)
    for i in range(len(right)):
        if cone.place[i] >= 0:
            inner[cone.place[i]] += right[i]
    solve(system.block, system.swaps, inner)
    for i in range(len(right)):
        if cone.place[i] >= 0:
            solution[i] = inner[cone.place[i]]
        else:
            value = right[i]
            for h in range(hubs):
                value -= system.to_hub[h, i] * inner[h]
            solution[i] = value * system.diagonal[i]


@fast_kernel
def weighted_product(one: Vector, two: Vector, weights: Vector) -> float:
    """Return the inner product of two vectors with weights."""
    result = 0.0
    for i in range(len(one)):
        result += one[i] * two[i] * weights[i]
    return result
