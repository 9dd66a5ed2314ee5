"""Newton's system of the interior point method.

It couples an arm with linking arms (distinct best arms) only, so everything but a block of these is eliminated by hand;
the floors add a correction of rank two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, fast_kernel, kernel
from mobai.kernels.programs.convex_program import ConvexProgram, Point
from mobai.kernels.programs.dense import Integers, Matrix, Vector, add_up, dot, factor, fill, solve


class System(NamedTuple):
    """Newton's matrix: a diagonal (inverted once built), the coupling with the linking arms, their factorised block.

    The rest is room for the right-hand side and the solution of a step, and for what is computed on the way.
    """

    diagonal: Vector
    to_linking_arm: Matrix
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
def new_system(arms: int, objectives: int, linking_arms: int) -> System:
    """Allocate a system with this many linking arms."""
    return System(
        np.empty(arms),
        np.empty((linking_arms, arms)),
        np.empty((linking_arms, linking_arms)),
        np.empty(linking_arms, np.int64),
        np.empty(linking_arms),
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
def assemble(program: ConvexProgram, point: Point, inverse: Vector, system: System) -> bool:
    """Build and factorise Newton's matrix without the floors' rank-two part; False when it is singular."""
    objectives, arms = program.own.shape
    linking_arms = len(system.block)
    for i in range(arms):
        system.diagonal[i] = point.prices[objectives, i] / point.slack[objectives, i]
    for h in range(linking_arms):
        fill(system.to_linking_arm[h], 0.0)
        fill(system.block[h], 0.0)
    for m in range(objectives):
        j = program.best[m]
        system.diagonal[j] += add_stiffness(
            program.own[m],
            program.lead[m],
            inverse,
            inverse[j],
            point.prices[m],
            point.slack[m],
            system.diagonal,
            system.to_linking_arm[program.linking_arm[m]],
        )
    for i in range(arms):
        k = program.place[i]
        if k >= 0:
            system.block[k, k] += system.diagonal[i]
            for h in range(linking_arms):
                system.block[k, h] += system.to_linking_arm[h, i]
                system.block[h, k] += system.to_linking_arm[h, i]
                system.to_linking_arm[h, i] = 0.0
    for i in range(arms):
        system.diagonal[i] = 1.0 / system.diagonal[i]
    for h in range(linking_arms):
        for g in range(h + 1):
            shared = weighted_product(system.to_linking_arm[h], system.to_linking_arm[g], system.diagonal)
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
def fill_right_hand_side(program: ConvexProgram, point: Point, inverse: Vector, barrier: float, right: Vector) -> None:
    """Fill in the right-hand side of a step towards prices of barrier/slack; the current prices cancel out."""
    fill(right, -1.0)
    for m in range(len(program.best)):
        j = program.best[m]
        right[j] += add_targets(program.own[m], program.lead[m], inverse, inverse[j], point.slack[m], barrier, right)
    if program.floor > 0.0:
        together = 0.0
        for i in range(len(right)):
            right[i] += barrier / point.slack[len(program.best), i]
            together += barrier / point.slack[len(program.best), i]
        for i in range(len(right)):
            right[i] -= program.floor * together


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
def solve_newton(program: ConvexProgram, point: Point, system: System) -> None:
    """Solve with the floors' part ``P diag(q) P - diag(q)``, ``P = I - floor 1 1'``, by Woodbury's formula."""
    right, move = system.right, system.move
    solve_arrow(program, system, right, move)
    if program.floor == 0.0:
        return
    q, ones, by_q, by_one = system.floors[0], system.floors[1], system.floors[2], system.floors[3]
    for i in range(len(right)):
        q[i] = point.prices[len(program.best), i] / point.slack[len(program.best), i]
        ones[i] = 1.0
    solve_arrow(program, system, q, by_q)
    solve_arrow(program, system, ones, by_one)
    # middle = floor [[0, -1], [-1, floor sum q]]; small = I + middle [q, 1]' [by_q, by_one]
    floor, mass = program.floor, program.floor * add_up(q)
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
def solve_arrow(program: ConvexProgram, system: System, right: Vector, solution: Vector) -> None:
    """Solve with the diagonal and the linking arms' block."""
    linking_arms, inner = len(system.block), system.inner
    for h in range(linking_arms):
        inner[h] = -weighted_product(system.to_linking_arm[h], right, system.diagonal)
    for i in range(len(right)):
        if program.place[i] >= 0:
            inner[program.place[i]] += right[i]
    solve(system.block, system.swaps, inner)
    for i in range(len(right)):
        if program.place[i] >= 0:
            solution[i] = inner[program.place[i]]
        else:
            value = right[i]
            for h in range(linking_arms):
                value -= system.to_linking_arm[h, i] * inner[h]
            solution[i] = value * system.diagonal[i]


@fast_kernel
def weighted_product(one: Vector, two: Vector, weights: Vector) -> float:
    """Return the inner product of two vectors with weights."""
    result = 0.0
    for i in range(len(one)):
        result += one[i] * two[i] * weights[i]
    return result
