"""The oracle weights by a primal-dual interior point method. Derivation: docs/lower-bound.md.

``minimise sum w  subject to  own_im/w_i + lead_im/w_best[m] <= 1,  w_i >= floor sum w``. Newton's matrix couples an arm
with hubs (distinct best arms) only, so everything but a block of the hubs is eliminated by hand; the floors add a
correction of rank two. Arrays are objective by arm; ``own`` and ``lead`` are zero where an arm would be its own rival.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.compiled import entry, fast_kernel, kernel
from mobai.kernels.dense import Integers, Matrix, Vector, add_up, copy, dot, factor, fill, find_hubs, solve

TO_THE_BOUNDARY = 0.99
SHORTEST_STEP = 1e-10


class Cone(NamedTuple):
    """The program: coefficients of the pairs, the best arms, their places among the hubs, the floor."""

    own: Matrix
    lead: Matrix
    best: Integers
    hub: Integers
    place: Integers
    floor: float


class Point(NamedTuple):
    """A strictly feasible point: weights, then prices and slacks of the pairs; the floors have the last row."""

    weights: Vector
    prices: Matrix
    slack: Matrix


class System(NamedTuple):
    """Newton's matrix: a diagonal (inverted once built), the coupling with the hubs, their factorised block."""

    diagonal: Vector
    to_hub: Matrix
    block: Matrix
    swaps: Integers


@fast_kernel
def pair_slacks(own: Vector, lead: Vector, inverse: Vector, inverse_best: float, slack: Vector) -> None:
    """Fill in ``1 - cost`` of one objective's pairs."""
    for i in range(len(own)):
        slack[i] = 1.0 - own[i] * inverse[i] - lead[i] * inverse_best


@fast_kernel
def keeps(own: Vector, lead: Vector, inverse: Vector, inverse_best: float, slack: Vector) -> float:
    """The smallest share of their slack that one objective's pairs keep at other weights, given by their inverses."""
    least = 1.0
    for i in range(len(own)):
        kept = (1.0 - own[i] * inverse[i] - lead[i] * inverse_best) / slack[i]
        least = kept if kept < least else least
    return least


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
    """Add one objective's pairs to Newton's matrix; gives what belongs on its best arm's diagonal."""
    at_best = 0.0
    for i in range(len(own)):
        by_rival = own[i] * inverse[i] * inverse[i]
        by_best = lead[i] * inverse_best * inverse_best
        stiffness = prices[i] / slack[i]
        diagonal[i] += by_rival * (2.0 * prices[i] * inverse[i] + stiffness * by_rival)
        coupling[i] += stiffness * by_rival * by_best
        at_best += by_best * (2.0 * prices[i] * inverse_best + stiffness * by_best)
    return at_best


@fast_kernel
def add_targets(
    own: Vector, lead: Vector, inverse: Vector, inverse_best: float, slack: Vector, barrier: float, right: Vector
) -> float:
    """Add what prices of barrier/slack would mean to the rivals; gives what they would to the best arm."""
    at_best = 0.0
    for i in range(len(own)):
        target = barrier / slack[i]
        right[i] += target * own[i] * inverse[i] * inverse[i]
        at_best += target * lead[i] * inverse_best * inverse_best
    return at_best


@fast_kernel
def price_changes(
    own: Vector,
    lead: Vector,
    inverse: Vector,
    inverse_best: float,
    prices: Vector,
    slack: Vector,
    barrier: float,
    move: Vector,
    move_best: float,
    change: Vector,
) -> float:
    """Fill in the change of one objective's prices; gives the fastest relative fall."""
    fall = 0.0
    for i in range(len(own)):
        opening = own[i] * inverse[i] * inverse[i] * move[i] + lead[i] * inverse_best * inverse_best * move_best
        change[i] = (barrier - prices[i] * opening) / slack[i] - prices[i]
        rate = -change[i] / prices[i] if change[i] < 0.0 else 0.0
        fall = rate if rate > fall else fall
    return fall


@kernel
def start(cone: Cone) -> Point:
    """Choose weights so large that every pair's cost is at most a half, lifted off the floors."""
    objectives, arms = cone.own.shape
    weights = np.zeros(arms)
    for m in range(objectives):
        for i in range(arms):
            weights[i] = max(weights[i], 4.0 * cone.own[m, i])
            weights[cone.best[m]] = max(weights[cone.best[m]], 4.0 * cone.lead[m, i])
    lift = 2.0 * cone.floor / (1.0 - cone.floor * arms) * add_up(weights)
    for i in range(arms):
        weights[i] += lift
    point = Point(weights, np.zeros((objectives + 1, arms)), np.empty((objectives + 1, arms)))
    measure(cone, point)
    barrier = add_up(weights) / count(cone)
    for m in range(objectives + 1):
        for i in range(arms):
            if (cone.floor > 0.0) if m == objectives else (i != cone.best[m]):
                point.prices[m, i] = barrier / point.slack[m, i]
    return point


@kernel
def measure(cone: Cone, point: Point) -> None:
    """Compute every slack from the weights."""
    inverse = invert(point.weights)
    for m in range(len(cone.best)):
        pair_slacks(cone.own[m], cone.lead[m], inverse, inverse[cone.best[m]], point.slack[m])
    level = cone.floor * add_up(point.weights)
    for i in range(len(inverse)):
        point.slack[len(cone.best), i] = point.weights[i] - level


@kernel
def invert(weights: Vector) -> Vector:
    """One over every weight."""
    inverse = np.empty(len(weights))
    for i in range(len(weights)):
        inverse[i] = 1.0 / weights[i]
    return inverse


@kernel
def count(cone: Cone) -> int:
    """How many constraints there are."""
    objectives, arms = cone.own.shape
    return objectives * (arms - 1) + (arms if cone.floor > 0.0 else 0)


@fast_kernel
def price_pairs(own: Vector, lead: Vector, prices: Vector, priced: Vector) -> float:
    """Add one objective's priced coefficients to its rivals'; gives what belongs to its best arm's."""
    at_best = 0.0
    for i in range(len(own)):
        priced[i] += prices[i] * own[i]
        at_best += prices[i] * lead[i]
    return at_best


@fast_kernel
def smallest(vector: Vector) -> float:
    """The smallest element of a vector."""
    least = np.inf
    for i in range(len(vector)):
        least = vector[i] if vector[i] < least else least
    return least


@kernel
def relative_gap(cone: Cone, point: Point) -> float:
    """The certificate's gap: one less the dual bound over the primal one."""
    objectives, arms = cone.own.shape
    priced, spent, least = np.zeros(arms), 0.0, 1.0
    for m in range(objectives):
        priced[cone.best[m]] += price_pairs(cone.own[m], cone.lead[m], point.prices[m], priced)
        spent += add_up(point.prices[m])
        least = min(least, smallest(point.slack[m]))
    floors = point.prices[objectives]
    lift, largest, together, root = cone.floor * add_up(floors), 0.0, 0.0, 0.0
    for i in range(arms):
        worth = max(1.0 - floors[i] + lift, 0.0)
        largest = max(largest, worth)
        together += worth
        root += np.sqrt(priced[i] * worth)
    support = (1.0 - cone.floor * arms) * largest + cone.floor * together
    return 1.0 - root**2 / (support * spent * add_up(point.weights) * (1.0 - least))


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
def weighted_product(one: Vector, two: Vector, weights: Vector) -> float:
    """The inner product of two vectors with weights."""
    result = 0.0
    for i in range(len(one)):
        result += one[i] * two[i] * weights[i]
    return result


@kernel
def solve_arrow(cone: Cone, system: System, right: Vector, solution: Vector) -> None:
    """Solve with the diagonal and the hubs' block."""
    hubs = len(system.block)
    inner = np.empty(hubs)
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


@kernel
def solve_newton(cone: Cone, point: Point, system: System, right: Vector, move: Vector) -> None:
    """Solve with the floors' part ``P diag(q) P - diag(q)``, ``P = I - floor 1 1'``, by Woodbury's formula."""
    solve_arrow(cone, system, right, move)
    if cone.floor == 0.0:
        return
    q, ones = np.empty(len(right)), np.empty(len(right))
    for i in range(len(right)):
        q[i] = point.prices[len(cone.best), i] / point.slack[len(cone.best), i]
        ones[i] = 1.0
    by_q, by_one = np.empty(len(right)), np.empty(len(right))
    solve_arrow(cone, system, q, by_q)
    solve_arrow(cone, system, ones, by_one)
    # middle = floor [[0, -1], [-1, floor sum q]]; small = I + middle [q, 1]' [by_q, by_one]
    floor, mass = cone.floor, cone.floor * add_up(q)
    small, inner, swaps = np.empty((2, 2)), np.empty(2), np.empty(2, np.int64)
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
def aim(cone: Cone, point: Point, inverse: Vector, barrier: float) -> Vector:
    """The right-hand side of a step towards prices of barrier/slack; the current prices cancel out."""
    right = np.empty(len(inverse))
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
    return right


@kernel
def change_floor_prices(cone: Cone, point: Point, barrier: float, move: Vector, changes: Vector) -> float:
    """Fill in the change of the floors' prices; gives the fastest relative fall of a price, a slack or a weight."""
    prices, slack = point.prices[len(cone.best)], point.slack[len(cone.best)]
    fall, level = 0.0, cone.floor * add_up(move)
    for i in range(len(move)):
        changes[i] = 0.0
        fall = max(fall, -move[i] / point.weights[i])
        if cone.floor > 0.0:
            opening = (move[i] - level) / slack[i]
            changes[i] = barrier / slack[i] - prices[i] * (1.0 + opening)
            fall = max(fall, -opening, -changes[i] / prices[i])
    return fall


@kernel
def longest_step(cone: Cone, point: Point, move: Vector, fall: float) -> float:
    """A step that leaves everything a hundredth of itself, given the fastest fall of what is linear.

    The pairs' slacks are curved, so it backtracks.
    """
    length = 1.0 if fall <= TO_THE_BOUNDARY else TO_THE_BOUNDARY / fall
    trial = np.empty(len(move))
    while length > SHORTEST_STEP:
        for i in range(len(move)):
            trial[i] = 1.0 / (point.weights[i] + length * move[i])
        least = 1.0
        for m in range(len(cone.best)):
            least = min(least, keeps(cone.own[m], cone.lead[m], trial, trial[cone.best[m]], point.slack[m]))
        if least > 1.0 - TO_THE_BOUNDARY:
            return length
        length *= 0.8
    return 0.0


@kernel
def advance(cone: Cone, point: Point, system: System, barrier: float, changes: Matrix) -> float:
    """Take one step in place; gives its length, 0 when none is left to take."""
    objectives, arms = cone.own.shape
    inverse = invert(point.weights)
    if not assemble(cone, point, inverse, system):
        return 0.0
    move = np.empty(arms)
    solve_newton(cone, point, system, aim(cone, point, inverse, barrier), move)
    fall = change_floor_prices(cone, point, barrier, move, changes[objectives])
    for m in range(objectives):
        j = cone.best[m]
        one = price_changes(
            cone.own[m],
            cone.lead[m],
            inverse,
            inverse[j],
            point.prices[m],
            point.slack[m],
            barrier,
            move,
            move[j],
            changes[m],
        )
        changes[m, j] = 0.0
        fall = max(fall, one)
    length = longest_step(cone, point, move, fall)
    for i in range(arms):
        point.weights[i] += length * move[i]
    for m in range(objectives + 1):
        for i in range(arms):
            point.prices[m, i] += length * changes[m, i]
    measure(cone, point)
    return length


@kernel
def complementarity(point: Point) -> float:
    """The sum of price times slack over all constraints."""
    together = 0.0
    for m in range(len(point.prices)):
        together += dot(point.prices[m], point.slack[m])
    return together


@entry
def solve_oracle(
    own: Matrix, lead: Matrix, best: Integers, floor: float, target: float, most: int
) -> tuple[Vector, Matrix, int]:
    """Iterate until the relative gap is at most ``target``; gives weights, prices (the floors' last) and steps."""
    objectives, arms = own.shape
    hub, place = np.empty(objectives, np.int64), np.empty(arms, np.int64)
    hubs = find_hubs(best, hub, place)
    cone = Cone(own, lead, best, hub, place, floor)
    point = start(cone)
    weights, prices = point.weights.copy(), point.prices.copy()
    system = System(np.empty(arms), np.empty((hubs, arms)), np.empty((hubs, hubs)), np.empty(hubs, np.int64))
    changes = np.empty((objectives + 1, arms))
    gap = best_gap = relative_gap(cone, point)
    centring, steps = 0.1, 0
    while best_gap > target and steps < most:
        # A curved constraint can be hugged long before the optimum: the certified gap sees that.
        distance = max(complementarity(point), gap * add_up(point.weights))
        length = advance(cone, point, system, centring * distance / count(cone), changes)
        steps += 1
        if length == 0.0:
            break
        centring = min(max((1.0 - length) ** 2, 0.02), 0.8)
        gap = relative_gap(cone, point)
        if gap < best_gap:
            best_gap = gap
            copy(point.weights, weights)
            for m in range(objectives + 1):
                copy(point.prices[m], prices[m])
    return weights, prices, steps
