"""The oracle weights by a primal-dual interior point method. Derivation: docs/lower-bound.md."""

from __future__ import annotations

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, entry, fast_kernel, kernel
from mobai.kernels.programs.convex_program import (
    ConvexProgram,
    Point,
    complementarity,
    count,
    invert,
    measure,
    relative_gap,
    start,
)
from mobai.kernels.programs.dense import Integers, Matrix, Vector, add_up, copy, find_linking_arms
from mobai.kernels.programs.newton import System, assemble, fill_right_hand_side, new_system, solve_newton

TO_THE_BOUNDARY = 0.99
SHORTEST_STEP = 1e-10


@entry
def solve_oracle(
    own: Matrix, lead: Matrix, best: Integers, floor: float, target: float, most: int
) -> tuple[Vector, Matrix, int]:
    """Find the weights for Python; see :func:`find_weights`."""
    return find_weights(own, lead, best, floor, target, most)


@array_kernel
def find_weights(
    own: Matrix, lead: Matrix, best: Integers, floor: float, target: float, most: int
) -> tuple[Vector, Matrix, int]:
    """Return weights (not normalised), dual prices (the floors' row last) and the number of steps.

    Iterates until the relative gap is at most ``target``, for at most ``most`` steps.
    """
    objectives, arms = own.shape
    linking_arm, place = np.empty(objectives, np.int64), np.empty(arms, np.int64)
    system = new_system(arms, objectives, find_linking_arms(best, linking_arm, place))
    program = ConvexProgram(own, lead, best, linking_arm, place, floor)
    point = Point(np.empty(arms), np.empty((objectives + 1, arms)), np.empty((objectives + 1, arms)))
    weights, prices = np.empty(arms), np.empty((objectives + 1, arms))
    steps = iterate(program, point, system, target, most, weights, prices)
    return weights, prices, steps


@kernel
def iterate(
    program: ConvexProgram, point: Point, system: System, target: float, most: int, weights: Vector, prices: Matrix
) -> int:
    """Take steps until the relative gap is at most ``target``; fill in the best weights and prices."""
    start(program, point, system.inverse)
    gap = best_gap = relative_gap(program, point, system.right)
    keep(point, weights, prices)
    centring, steps = 0.1, 0
    while best_gap > target and steps < most:
        # A curved constraint can be hugged long before the optimum: the certified gap sees that.
        distance = max(complementarity(point), gap * add_up(point.weights))
        length = advance(program, point, system, centring * distance / count(program))
        steps += 1
        if length == 0.0:
            break
        centring = min(max((1.0 - length) ** 2, 0.02), 0.8)
        gap = relative_gap(program, point, system.right)
        if gap < best_gap:
            best_gap = gap
            keep(point, weights, prices)
    return steps


@kernel
def keep(point: Point, weights: Vector, prices: Matrix) -> None:
    """Copy the weights and prices of a point into ``weights`` and ``prices``."""
    copy(point.weights, weights)
    for m in range(len(prices)):
        copy(point.prices[m], prices[m])


@kernel
def advance(program: ConvexProgram, point: Point, system: System, barrier: float) -> float:
    """Take one step in place; return its length, 0 when none is left to take."""
    objectives, arms = program.own.shape
    inverse, move, changes = system.inverse, system.move, system.changes
    invert(point.weights, inverse)
    if not assemble(program, point, inverse, system):
        return 0.0
    fill_right_hand_side(program, point, inverse, barrier, system.right)
    solve_newton(program, point, system)
    fall = change_floor_prices(program, point, barrier, move, changes[objectives])
    for m in range(objectives):
        j = program.best[m]
        fall = max(fall, change_prices(program, point, system, m, barrier))
        changes[m, j] = 0.0
    length = longest_step(program, point, move, fall, system.right)
    for i in range(arms):
        point.weights[i] += length * move[i]
    for m in range(objectives + 1):
        for i in range(arms):
            point.prices[m, i] += length * changes[m, i]
    measure(program, point, inverse)
    return length


@fast_kernel
def change_prices(program: ConvexProgram, point: Point, system: System, m: int, barrier: float) -> float:
    """Fill in the change of one objective's prices; return the fastest relative fall."""
    own, lead, prices, slack = program.own[m], program.lead[m], point.prices[m], point.slack[m]
    inverse, move, change = system.inverse, system.move, system.changes[m]
    inverse_best, move_best = inverse[program.best[m]], move[program.best[m]]
    fall = 0.0
    for i in range(len(own)):
        opening = own[i] * inverse[i] * inverse[i] * move[i] + lead[i] * inverse_best * inverse_best * move_best
        change[i] = (barrier - prices[i] * opening) / slack[i] - prices[i]
        rate = -change[i] / prices[i] if change[i] < 0.0 else 0.0
        fall = rate if rate > fall else fall
    return fall


@kernel
def change_floor_prices(program: ConvexProgram, point: Point, barrier: float, move: Vector, changes: Vector) -> float:
    """Fill in the change of the floors' prices; returns the fastest relative fall of a price, a slack or a weight."""
    prices, slack = point.prices[len(program.best)], point.slack[len(program.best)]
    fall, level = 0.0, program.floor * add_up(move)
    for i in range(len(move)):
        changes[i] = 0.0
        fall = max(fall, -move[i] / point.weights[i])
        if program.floor > 0.0:
            opening = (move[i] - level) / slack[i]
            changes[i] = barrier / slack[i] - prices[i] * (1.0 + opening)
            fall = max(fall, -opening, -changes[i] / prices[i])
    return fall


@kernel
def longest_step(program: ConvexProgram, point: Point, move: Vector, fall: float, trial: Vector) -> float:
    """Return a step that leaves everything a hundredth of itself, given the fastest fall of what is linear.

    The pairs' slacks are curved, so it backtracks. Overwrites ``trial``.
    """
    length = 1.0 if fall <= TO_THE_BOUNDARY else TO_THE_BOUNDARY / fall
    while length > SHORTEST_STEP:
        for i in range(len(move)):
            trial[i] = 1.0 / (point.weights[i] + length * move[i])
        least = 1.0
        for m in range(len(program.best)):
            least = min(least, keeps(program.own[m], program.lead[m], trial, trial[program.best[m]], point.slack[m]))
        if least > 1.0 - TO_THE_BOUNDARY:
            return length
        length *= 0.8
    return 0.0


@fast_kernel
def keeps(own: Vector, lead: Vector, inverse: Vector, inverse_best: float, slack: Vector) -> float:
    """Return the smallest share of their slack that an objective's pairs keep at other weights, given by inverses."""
    least = 1.0
    for i in range(len(own)):
        kept = (1.0 - own[i] * inverse[i] - lead[i] * inverse_best) / slack[i]
        least = kept if kept < least else least
    return least
