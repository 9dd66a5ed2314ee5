"""The surrogate program by a simplex method in the space of the best arms. Derivation: docs/surrogate.md.

``maximise v  subject to  a_im s_i + b_im s_best[m] >= v,  s_i >= floor,  sum s <= 1``. Each arm that is best nowhere is
held by one constraint of its own, its floor or one of its pairs, and so is a *line* in the point z = (shares of the
hubs, v); hubs are the r distinct best arms. What is left is a simplex method in r + 1 dimensions.

A constraint is known by one number, its code: ``i (M + 1) + m`` for the pair (i, m), ``i (M + 1) + M`` for the
floor of i, ``K (M + 1)`` for the total, and one more per hub for a *pin*, which holds a hub where it is and may
leave either way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.compiled import entry, fast_kernel, kernel
from mobai.kernels.dense import (
    Flags,
    Integers,
    Matrix,
    Vector,
    add_up,
    copy,
    factor,
    fill,
    find_hubs,
    solve,
    solve_transposed,
)

CERTIFIED = 1e-10
PRICE_TOLERANCE = 1e-12
SLACK_TOLERANCE = 1e-13
# A slack falls only if its rate of change stands out of the rounding of its own terms.
FALLS = 1e-13
TIE = 1.0 + 1e-12


class Program(NamedTuple):
    """The coefficients (objective by arm), in units of the smallest rate, and who is best in what."""

    a: Matrix
    b: Matrix
    best: Integers
    hub: Integers  # of an objective: the place of its best arm among the hubs
    place: Integers  # of an arm: its place among the hubs, or -1
    floor: float


class Lines(NamedTuple):
    """Every arm's share as a line: ``s_i = base + on_value v + on_hub z[link]``; a hub is its own coordinate."""

    base: Vector
    on_value: Vector
    on_hub: Vector
    link: Integers


@fast_kernel
def linearise(gaps: Vector, variance: Vector, weights: Vector, j: int, a: Vector, b: Vector) -> None:
    """Fill in the derivatives of the rates of one objective's pairs at the weights; arm j is its best."""
    w_j, v_j = weights[j], variance[j]
    for i in range(len(weights)):
        # Where both weights are zero, the limit of equal, vanishing ones.
        vanishing = weights[i] + w_j == 0.0
        x_i, x_j = 1.0 if vanishing else weights[i], 1.0 if vanishing else w_j
        root = gaps[i] / (variance[i] * x_j + v_j * x_i)
        a[i] = 0.5 * variance[i] * (root * x_j) ** 2
        b[i] = 0.5 * v_j * (root * x_i) ** 2


@fast_kernel
def least(a: Vector, b: Vector, shares: Vector, share: float) -> float:
    """The smallest ``a_i s_i + b_i share``."""
    smallest = np.inf
    for i in range(len(a)):
        rate = a[i] * shares[i] + b[i] * share
        smallest = rate if rate < smallest else smallest
    return smallest


@kernel
def slowest(a: Vector, b: Vector, shares: Vector, j: int) -> float:
    """The smallest rate of one objective's pairs; its best arm j is no rival of itself."""
    before = least(a[:j], b[:j], shares[:j], shares[j])
    return min(before, least(a[j + 1 :], b[j + 1 :], shares[j + 1 :], shares[j]))


@kernel
def slowest_of_all(a: Matrix, b: Matrix, best: Integers, shares: Vector) -> float:
    """The smallest rate of all pairs."""
    smallest = np.inf
    for m in range(len(best)):
        smallest = min(smallest, slowest(a[m], b[m], shares, best[m]))
    return smallest


@kernel
def hold(program: Program, lines: Lines, i: int, m: int) -> None:
    """Let arm i be held by its pair m, or by its floor (m = M)."""
    if m == len(program.best):
        lines.base[i], lines.on_value[i], lines.on_hub[i] = program.floor, 0.0, 0.0
    else:
        lines.base[i] = 0.0
        lines.on_value[i] = 1.0 / program.a[m, i]
        lines.on_hub[i] = -program.b[m, i] / program.a[m, i]
        lines.link[i] = program.hub[m]


@kernel
def draw_lines(program: Program, lines: Lines, own: Integers) -> None:
    """Set every arm's line from the constraint that holds it."""
    for i in range(len(own)):
        lines.link[i] = max(program.place[i], 0)
        if program.place[i] >= 0:
            lines.base[i], lines.on_value[i], lines.on_hub[i] = 0.0, 0.0, 1.0
        else:
            hold(program, lines, i, own[i])


@kernel
def gradient(program: Program, lines: Lines, pins: Vector, code: int, row: Vector) -> float:
    """Write the slack of a constraint as ``row . z + constant``; returns the constant."""
    width = len(program.best) + 1
    n = len(row)
    total = len(lines.base) * width
    fill(row, 0.0)
    if code > total:
        row[code - total - 1] = 1.0
        return -pins[code - total - 1]
    if code == total:
        for i in range(len(lines.base)):
            row[n - 1] -= lines.on_value[i]
            row[lines.link[i]] -= lines.on_hub[i]
        return 1.0 - add_up(lines.base)
    i, m = code // width, code % width
    size = 1.0 if m == width - 1 else program.a[m, i]
    row[n - 1] += size * lines.on_value[i]
    row[lines.link[i]] += size * lines.on_hub[i]
    if m == width - 1:
        return lines.base[i] - program.floor
    row[program.hub[m]] += program.b[m, i]
    row[n - 1] -= 1.0
    return size * lines.base[i]


@kernel
def evaluate(lines: Lines, z: Vector, constant: float, shares: Vector) -> None:
    """Every arm's share at z (constant = 1), or its change along the direction z (constant = 0)."""
    value = z[len(z) - 1]
    for i in range(len(shares)):
        shares[i] = constant * lines.base[i] + lines.on_value[i] * value + lines.on_hub[i] * z[lines.link[i]]


@kernel
def decode(tight: Integers, width: int, total: int, arm: Integers, pair: Integers) -> None:
    """Split codes into arm and pair (M for a floor); the total and pins belong to no arm, -1."""
    for k in range(len(tight)):
        arm[k] = tight[k] // width if tight[k] < total else -1
        pair[k] = tight[k] - arm[k] * width


@kernel
def own_worth(program: Program, arm: Integers, pair: Integers, prices: Vector, i: int, sum_price: float) -> float:
    """What the constraint that holds arm i is worth to it: what the total's price leaves after its other tight ones."""
    rest = sum_price
    for k in range(len(arm)):
        if arm[k] == i:
            rest -= prices[k] * (1.0 if pair[k] == len(program.best) else program.a[pair[k], i])
    return rest


@kernel
def price_of_total(tight: Integers, prices: Vector, total: int) -> float:
    """The price of the total, zero when it is not tight."""
    for k in range(len(tight)):
        if tight[k] == total:
            return prices[k]
    return 0.0


@kernel
def firmness(program: Program, i: int, m: int) -> float:
    """How well a constraint determines its arm's share: a pair that means little to the arm does so badly."""
    if m == len(program.best):
        return 1.0
    return program.a[m, i] / max(program.a[m, i], program.b[m, i])


@kernel
def choose_leaving(program: Program, own: Integers, tight: Integers, prices: Vector) -> tuple[int, bool]:
    """Find the constraint whose price is worth the least, if below zero: its position, or that of its arm's own one.

    A pair's price counts by what it is worth to the arm it means most to, so that all are in the unit of the total's.
    """
    objectives = len(program.best)
    total = len(own) * (objectives + 1)
    sum_price = price_of_total(tight, prices, total)
    arm, pair = np.empty(len(tight), np.int64), np.empty(len(tight), np.int64)
    decode(tight, objectives + 1, total, arm, pair)
    worst, leaving, is_own, largest = 0.0, -1, False, 0.0
    for k in range(len(tight)):
        i, m, worth = arm[k], pair[k], prices[k]
        if i >= 0 and m < objectives:
            worth *= max(program.a[m, i], program.b[m, i])
        largest = max(largest, abs(worth))
        if tight[k] > total:
            worth = -abs(worth)
        if worth < worst:
            worst, leaving, is_own = worth, k, False
        if i >= 0 and program.place[i] < 0:
            worth = own_worth(program, arm, pair, prices, i, sum_price)
            if worth < worst:
                worst, leaving, is_own = worth, k, True
    if is_own:
        # Of the arm's tight constraints the firmest takes over; one that means nothing to the arm could not.
        for k in range(len(tight)):
            i = arm[leaving]
            if arm[k] == i and firmness(program, i, pair[k]) > firmness(program, i, pair[leaving]):
                leaving = k
    scale = sum_price if sum_price > 0.0 else largest
    return (leaving, is_own) if worst < -PRICE_TOLERANCE * scale else (-1, False)


@kernel
def first_blocking(
    program: Program,
    lines: Lines,
    member: Flags,
    shares: Vector,
    direction: Vector,
    change: Vector,
    value: float,
    trial: Vector,
) -> int:
    """Ratio test: the constraint that stops the move first; of several, the one that falls fastest. -1 for none.

    Dividing for every pair would be most of the work. Instead the move is tried as far as known constraints let it go,
    and only objectives with a pair that is too slow there are searched.
    """
    objectives, arms = program.a.shape
    width = objectives + 1
    climb = direction[len(direction) - 1]
    length, block, steepest = np.inf, -1, 0.0
    growth, size = 0.0, 0.0
    for i in range(arms):
        growth += change[i]
        size += abs(change[i])
    if member[arms * width] == 0 and growth > FALLS * size:
        length, block = max(1.0 - add_up(shares), 0.0) / growth, arms * width
    for i in range(arms):
        if change[i] < 0.0 and member[i * width + objectives] == 0:
            size = abs(lines.on_value[i] * climb) + abs(lines.on_hub[i] * direction[lines.link[i]])
            slack = max(shares[i] - program.floor, 0.0)
            if -change[i] > FALLS * size and slack <= -change[i] * length * TIE:
                if slack * TIE < -change[i] * length or -change[i] > steepest:
                    block, steepest = i * width + objectives, -change[i]
                length = min(length, slack / -change[i])
    tried = np.inf
    for m in range(objectives):
        j = program.best[m]
        if tried != length:
            tried = length
            for i in range(arms):
                trial[i] = shares[i] + length * change[i]
        if block >= 0 and slowest(program.a[m], program.b[m], trial, j) >= value + length * climb:
            continue
        for i in range(arms):
            by_rival, by_best = program.a[m, i] * change[i], program.b[m, i] * change[j]
            fall = climb - by_rival - by_best
            if fall <= FALLS * (abs(by_rival) + abs(by_best) + abs(climb)) or i == j or member[i * width + m] == 1:
                continue
            slack = max(program.a[m, i] * shares[i] + program.b[m, i] * shares[j] - value, 0.0)
            if slack <= fall * length * TIE:
                if slack * TIE < fall * length or fall > steepest:
                    block, steepest = i * width + m, fall
                length = min(length, slack / fall)
    return block


@kernel
def pin_hubs(program: Program, own: Integers, tight: Integers, pins: Vector) -> float:
    """Start at given shares of the hubs: find the largest value they allow, and what holds every other arm there.

    What the other arms need together is convex and increasing in the value, so Newton's method from above never
    overshoots.
    """
    objectives, arms = program.a.shape
    total = arms * (objectives + 1)
    value, binding = np.inf, total
    for i in range(arms):
        for m in range(objectives):
            if program.best[m] == i:
                continue
            free = program.place[i] < 0 and program.a[m, i] > 0.0
            share = 1.0 if free else 0.0 if program.place[i] < 0 else pins[program.place[i]]
            rate = program.a[m, i] * share + program.b[m, i] * pins[program.hub[m]]
            if rate < value:
                value, binding = rate, total if free else i * (objectives + 1) + m
    room = 1.0 - add_up(pins)
    for _ in range(200):
        needed, slope = 0.0, 0.0
        for i in range(arms):
            if program.place[i] >= 0:
                continue
            most, own[i] = program.floor, objectives
            for m in range(objectives):
                if program.a[m, i] > 0.0:
                    need = (value - program.b[m, i] * pins[program.hub[m]]) / program.a[m, i]
                    if need > most:
                        most, own[i] = need, m
            needed += most
            if own[i] < objectives:
                slope += 1.0 / program.a[own[i], i]
        if needed <= room * (1.0 + 1e-14) or slope == 0.0:
            break
        binding = total
        value -= (needed - room) / slope
    for j in range(len(pins)):
        tight[j] = total + 1 + j
    tight[len(pins)] = binding
    return value


@kernel
def pin_evenly(program: Program, own: Integers, tight: Integers, pins: Vector) -> None:
    """Start from nothing: give the hubs equal shares, of the total that allows the largest value."""
    spare = 1.0 - program.a.shape[1] * program.floor
    best_value, best_share = -1.0, 0.0
    for k in range(1, 16):
        fill(pins, program.floor + spare * (k / 16.0) ** 2 / len(pins))
        value = pin_hubs(program, own, tight, pins)
        if value > best_value:
            best_value, best_share = value, pins[0]
    fill(pins, best_share)
    pin_hubs(program, own, tight, pins)


@kernel
def simplex(
    program: Program,
    lines: Lines,
    own: Integers,
    tight: Integers,
    pins: Vector,
    warm: bool,
    shares: Vector,
    prices: Vector,
) -> int:
    """Pivot until no price is negative, or no pivot is left to try; returns their number. The certificate judges.

    A warm start, from a basis of another program, may be infeasible: then there is nothing to pivot.
    """
    objectives, arms = program.a.shape
    n, width = len(tight), objectives + 1
    matrix, swaps = np.empty((n, n)), np.empty(n, np.int64)
    z, direction, change, trial = np.empty(n), np.empty(n), np.empty(arms), np.empty(arms)
    member = np.zeros(arms * width + 1 + n, np.uint8)
    draw_lines(program, lines, own)
    for i in range(arms):
        if program.place[i] < 0:
            member[i * width + own[i]] = 1
    for k in range(n):
        member[tight[k]] = 1
    most = 1000 + 10 * arms
    for pivots in range(most):
        if not factorise(program, lines, pins, tight, matrix, swaps, z):
            return pivots
        solve(matrix, swaps, z)
        evaluate(lines, z, 1.0, shares)
        if pivots == 0 and warm and not feasible(program, shares, z[n - 1]):
            return pivots
        fill(prices, 0.0)
        prices[n - 1] = -1.0
        solve_transposed(matrix, swaps, prices)
        leaving, is_own = choose_leaving(program, own, tight, prices)
        if leaving < 0:
            return pivots
        if is_own:
            # The arm's own constraint is to leave: another tight one of the same arm takes its place first.
            exchange(program, lines, own, tight, leaving)
            if not factorise(program, lines, pins, tight, matrix, swaps, direction):
                return pivots
        fill(direction, 0.0)
        is_pin = tight[leaving] > arms * width
        direction[leaving] = -1.0 if is_pin and prices[leaving] > 0.0 else 1.0
        solve(matrix, swaps, direction)
        evaluate(lines, direction, 0.0, change)
        block = first_blocking(program, lines, member, shares, direction, change, z[n - 1], trial)
        if block < 0:
            return pivots
        member[tight[leaving]] = 0
        member[block] = 1
        tight[leaving] = block
        i = block // width
        if i < arms and program.place[i] < 0 and firmness(program, i, block % width) > firmness(program, i, own[i]):
            exchange(program, lines, own, tight, leaving)
    return most


@kernel
def factorise(
    program: Program, lines: Lines, pins: Vector, tight: Integers, matrix: Matrix, swaps: Integers, right: Vector
) -> bool:
    """Factorise the matrix of the tight constraints, and give the right-hand side that makes them so."""
    for k in range(len(tight)):
        right[k] = -gradient(program, lines, pins, tight[k], matrix[k])
    return factor(matrix, swaps)


@kernel
def exchange(program: Program, lines: Lines, own: Integers, tight: Integers, k: int) -> None:
    """Let an arm be held by its tight constraint at position k, which the one that held it takes."""
    width = len(program.best) + 1
    i, m = tight[k] // width, tight[k] % width
    tight[k] = i * width + own[i]
    own[i] = m
    hold(program, lines, i, m)


@kernel
def feasible(program: Program, shares: Vector, value: float) -> bool:
    """Whether the shares are above their floors and every pair reaches the value, up to rounding."""
    for i in range(len(shares)):
        if shares[i] < program.floor - SLACK_TOLERANCE:
            return False
    slowest_rate = slowest_of_all(program.a, program.b, program.best, shares)
    return value > 0.0 and slowest_rate >= value * (1.0 - SLACK_TOLERANCE)


@kernel
def certify(program: Program, own: Integers, tight: Integers, prices: Vector, shares: Vector) -> tuple[float, float]:
    """Put the shares inside Gamma_eta, then give their value and the bound that the prices prove."""
    objectives, arms = program.a.shape
    excess = 0.0
    for i in range(arms):
        shares[i] = max(shares[i], program.floor)
        excess += shares[i] - program.floor
    if not 0.0 < excess < np.inf:
        fill(shares, program.floor + 1.0)
        excess = float(arms)
    spare = 1.0 - arms * program.floor
    for i in range(arms):
        shares[i] = program.floor + (shares[i] - program.floor) * (spare / excess)
    worth, mass = np.zeros(arms), 0.0
    arm, pair = np.empty(len(tight), np.int64), np.empty(len(tight), np.int64)
    decode(tight, objectives + 1, arms * (objectives + 1), arm, pair)
    for k in range(len(tight)):
        if arm[k] >= 0 and pair[k] < objectives:
            mass += charge(program, worth, arm[k], pair[k], prices[k])
    sum_price = price_of_total(tight, prices, arms * (objectives + 1))
    for i in range(arms):
        if program.place[i] < 0 and own[i] < objectives:
            price = own_worth(program, arm, pair, prices, i, sum_price) / program.a[own[i], i]
            mass += charge(program, worth, i, own[i], price)
    most = 0.0
    for i in range(arms):
        most = max(most, worth[i])
    value = slowest_of_all(program.a, program.b, program.best, shares)
    return value, (spare * most + program.floor * add_up(worth)) / mass


@kernel
def charge(program: Program, worth: Vector, i: int, m: int, price: float) -> float:
    """Add what a priced pair is worth to its two arms; returns the price, never negative."""
    price = max(price, 0.0)
    worth[i] += price * program.a[m, i]
    worth[program.best[m]] += price * program.b[m, i]
    return price


@kernel
def place_pins(program: Program, shares: Vector, evened: float, pins: Vector) -> None:
    """Take the hubs' shares from a vector of all arms, drawn a little to even ones where everybody needs room."""
    for i in range(len(shares)):
        if program.place[i] >= 0:
            share = (1.0 - evened) * (shares[i] - program.floor) + evened * (1.0 / len(shares) - program.floor)
            pins[program.place[i]] = program.floor + max(share, 0.0)


@kernel
def ruffle(program: Program) -> None:
    """Change every pair by up to 1e-11, in a fixed pattern, so that no two are equal and no vertex is met again."""
    for m in range(program.a.shape[0]):
        for i in range(program.a.shape[1]):
            factor = 1.0 + 1e-11 * pattern(m, i)
            program.a[m, i] *= factor
            program.b[m, i] *= factor


@kernel
def pattern(m: int, i: int) -> float:
    """Fixed numbers between zero and one, spread evenly and without visible order."""
    return (0.6180339887498949 * i + 0.7548776662466927 * m) % 1.0


@kernel
def solve_program(
    program: Program, own: Integers, tight: Integers, warm: bool, shares: Vector
) -> tuple[float, float, int]:
    """Solve from a basis if warm, else from even shares of the hubs; from where it ended if that is not certified.

    Returns the value, its upper bound and the number of pivots; basis and shares are changed in place.
    """
    arms, hubs = len(shares), len(tight) - 1
    lines = Lines(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms, np.int64))
    pins, prices = np.zeros(hubs), np.zeros(hubs + 1)
    pivots, value, upper = 0, 0.0, np.inf
    for start in range(4):
        if start == 2:
            ruffle(program)
        pinned = start > 0 or not warm
        if pinned and start % 2 == 0:
            pin_evenly(program, own, tight, pins)
        else:
            place_pins(program, shares, 0.01 if pinned else 0.0, pins)
        if pinned and start % 2 == 1:
            pin_hubs(program, own, tight, pins)
        pivots += simplex(program, lines, own, tight, pins, not pinned, shares, prices)
        value, upper = certify(program, own, tight, prices, shares)
        if upper - value <= CERTIFIED * upper:
            break
    return value, upper, pivots


@kernel
def has_ties(gaps: Matrix, best: Integers) -> bool:
    """Whether some objective has several best arms."""
    for m in range(len(best)):
        for i in range(gaps.shape[1]):
            if gaps[m, i] == 0.0 and i != best[m]:
                return True
    return False


@kernel
def separate_ties(gaps: Matrix, best: Integers) -> Matrix:
    """Where a best arm is tied, the limit of vanishing gaps: about one for tied pairs, next to endless for others.

    They differ by a millionth, in a fixed pattern: equal ones would make every vertex a crossing of many constraints.
    """
    separated = np.empty_like(gaps)
    for m in range(len(best)):
        for i in range(gaps.shape[1]):
            tied = gaps[m, i] == 0.0 and i != best[m]
            separated[m, i] = (1.0 if tied else 1e6) * (1.0 + 1e-6 * pattern(m, i))
    return separated


@entry
def solve_surrogate(
    gaps: Matrix,
    variance: Matrix,
    best: Integers,
    weights: Vector,
    floor: float,
    bases: Integers,
    solutions: Matrix,
) -> tuple[float, float, int]:
    """Linearise at the weights and solve, starting from the better of two earlier solutions.

    Solutions go to and fro between vertices on either side of the optimum, so the last but one is often the next. Both
    arrays have a row a solution, newest first: in ``bases`` what holds every arm and then what is tight, with -1 in
    front of a row that is empty. They are changed in place. Returns the value, its upper bound and the pivots.
    """
    objectives, arms = gaps.shape
    tied = has_ties(gaps, best)
    if tied:
        gaps = separate_ties(gaps, best)
    a, b = np.empty((objectives, arms)), np.empty((objectives, arms))
    for m in range(objectives):
        linearise(gaps[m], variance[m], weights, best[m], a[m], b[m])
    unit = normalise(a, b, best, weights)
    hub, place = np.empty(objectives, np.int64), np.empty(arms, np.int64)
    hubs = find_hubs(best, hub, place)
    program = Program(a, b, best, hub, place, floor)
    start, reached = 0, -1.0
    for k in range(2):
        if bases[k, 0] >= 0:
            value = slowest_of_all(a, b, best, solutions[k])
            if value > reached:
                start, reached = k, value
    basis, shares = np.zeros(bases.shape[1], np.int64), np.empty(arms)
    if reached >= 0.0:
        copy(bases[start], basis)
        copy(solutions[start], shares)
    own, tight = basis[:arms], basis[arms : arms + hubs + 1]
    value, upper, pivots = solve_program(program, own, tight, reached >= 0.0, shares)
    if start == 1 or pivots > 0:
        copy(bases[0], bases[1])
        copy(solutions[0], solutions[1])
    copy(basis, bases[0])
    copy(shares, solutions[0])
    return (0.0, 0.0, pivots) if tied else (value * unit, upper * unit, pivots)


@kernel
def normalise(a: Matrix, b: Matrix, best: Integers, weights: Vector) -> float:
    """Divide by the smallest rate at the weights (at even ones if it is zero): then value and prices are near one."""
    unit = slowest_of_all(a, b, best, weights)
    if unit == 0.0:
        even = np.empty(len(weights))
        fill(even, 1.0 / len(weights))
        unit = slowest_of_all(a, b, best, even)
    for m in range(a.shape[0]):
        for i in range(a.shape[1]):
            a[m, i] /= unit
            b[m, i] /= unit
    return unit
