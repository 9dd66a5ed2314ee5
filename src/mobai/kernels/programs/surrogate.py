"""The surrogate program: linearise, start from an earlier basis, pivot, certify. Derivation: docs/surrogate.md."""

from __future__ import annotations

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, entry, kernel
from mobai.kernels.programs.basis import Scratch, decode, new_scratch, own_price, price_of_total
from mobai.kernels.programs.dense import Integers, Matrix, Vector, add_up, copy, fill, find_linking_arms
from mobai.kernels.programs.linear_program import (
    LinearProgram,
    has_ties,
    linearise,
    normalise,
    perturb,
    separate_ties,
    slowest_of_all,
)
from mobai.kernels.programs.pivots import simplex
from mobai.kernels.programs.starts import fix_evenly, fix_linking_arms, place_fixings

CERTIFIED = 1e-10


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
    """Solve a program for Python; see :func:`solve_from`."""
    return solve_from(gaps, variance, best, weights, floor, bases, solutions)


@array_kernel
def solve_from(
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
    arrays have one row per solution, newest first: in ``bases`` what holds every arm and then what is tight, with -1 in
    front of a row that is empty. They are changed in place. Returns the value, its upper bound and the pivots.
    """
    objectives, arms = gaps.shape
    a, b = np.empty((objectives, arms)), np.empty((objectives, arms))
    tied = has_ties(gaps, best)
    if tied:
        separated = np.empty((objectives, arms))
        separate_ties(gaps, best, separated)
        gaps = separated
    linking_arm, place = np.empty(objectives, np.int64), np.empty(arms, np.int64)
    scratch = new_scratch(arms, objectives, find_linking_arms(best, linking_arm, place))
    unit = linearise_all(gaps, variance, best, weights, a, b, scratch.change)
    program = LinearProgram(a, b, best, linking_arm, place, floor)
    basis, shares = np.zeros(bases.shape[1], np.int64), np.empty(arms)
    start, reached = take_better(program, bases, solutions, basis, shares)
    own, tight = basis[:arms], basis[arms : arms + len(scratch.prices)]
    value, upper, pivots = solve_program(program, own, tight, reached >= 0.0, shares, scratch)
    if start == 1 or pivots > 0:
        copy(bases[0], bases[1])
        copy(solutions[0], solutions[1])
    copy(basis, bases[0])
    copy(shares, solutions[0])
    return (0.0, 0.0, pivots) if tied else (value * unit, upper * unit, pivots)


@kernel
def linearise_all(
    gaps: Matrix, variance: Matrix, best: Integers, weights: Vector, a: Matrix, b: Matrix, even: Vector
) -> float:
    """Fill in the derivatives of all pairs' rates at the weights, in units of the smallest rate; return that unit."""
    for m in range(len(best)):
        linearise(gaps, variance, weights, m, best[m], a, b)
    return normalise(a, b, best, weights, even)


@kernel
def take_better(
    program: LinearProgram, bases: Integers, solutions: Matrix, basis: Integers, shares: Vector
) -> tuple[int, float]:
    """Copy the better of two earlier solutions, or even shares if there is none; its place, and what it reaches."""
    place, reached = 0, -1.0
    for k in range(2):
        if bases[k, 0] >= 0:
            value = slowest_of_all(program.a, program.b, program.best, solutions[k])
            if value > reached:
                place, reached = k, value
    fill(shares, 1.0 / len(shares))
    if reached >= 0.0:
        copy(bases[place], basis)
        copy(solutions[place], shares)
    return place, reached


@kernel
def solve_program(
    program: LinearProgram, own: Integers, tight: Integers, warm: bool, shares: Vector, scratch: Scratch
) -> tuple[float, float, int]:
    """Solve from a basis if warm, else from even shares of linking arms; from where it ended if that is not certified.

    Returns the value, its upper bound and the number of pivots; basis and shares are changed in place.
    """
    fixings = scratch.fixings
    pivots, value, upper = 0, 0.0, np.inf
    for start in range(4):
        if start == 2:
            perturb(program)
        fixed = start > 0 or not warm
        if fixed and start % 2 == 0:
            fix_evenly(program, own, tight, fixings)
        else:
            place_fixings(program, shares, 0.01 if fixed else 0.0, fixings)
        if fixed and start % 2 == 1:
            fix_linking_arms(program, own, tight, fixings)
        pivots += simplex(program, own, tight, not fixed, shares, scratch)
        value, upper = certify(program, own, tight, shares, scratch)
        if upper - value <= CERTIFIED * upper:
            break
    return value, upper, pivots


@kernel
def certify(
    program: LinearProgram, own: Integers, tight: Integers, shares: Vector, scratch: Scratch
) -> tuple[float, float]:
    """Put the shares inside Gamma_eta, then return their value and the bound that the prices prove."""
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
    prices, values, arm, pair, mass = scratch.prices, scratch.values, scratch.arm, scratch.pair, 0.0
    fill(values, 0.0)
    decode(tight, objectives + 1, arms * (objectives + 1), arm, pair)
    for k in range(len(tight)):
        if arm[k] >= 0 and pair[k] < objectives:
            mass += charge(program, values, arm[k], pair[k], prices[k])
    sum_price = price_of_total(tight, prices, arms * (objectives + 1))
    for i in range(arms):
        if program.place[i] < 0 and own[i] < objectives:
            price = own_price(program, arm, pair, prices, i, sum_price) / program.a[own[i], i]
            mass += charge(program, values, i, own[i], price)
    most = 0.0
    for i in range(arms):
        most = max(most, values[i])
    value = slowest_of_all(program.a, program.b, program.best, shares)
    return value, (spare * most + program.floor * add_up(values)) / mass


@kernel
def charge(program: LinearProgram, values: Vector, i: int, m: int, price: float) -> float:
    """Add what a priced pair is worth to its two arms; returns the price, never negative."""
    price = max(price, 0.0)
    values[i] += price * program.a[m, i]
    values[program.best[m]] += price * program.b[m, i]
    return price
