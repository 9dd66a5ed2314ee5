"""A basis of the reduced program: what holds every arm, and the tight constraints that fix the point.

Each arm that is best nowhere is held by one constraint of its own, its floor or one of its pairs, and so is a
*line* in the point z = (shares of the linking arms, v); linking arms are the r distinct best arms. What is left is a
program in r + 1 dimensions.

A constraint is known by one number, its code: ``i (M + 1) + m`` for the pair (i, m), ``i (M + 1) + M`` for the
floor of i, ``K (M + 1)`` for the total, and one more per linking arm for a *fixing*, which holds it where it is and
may leave either way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, kernel
from mobai.kernels.programs.dense import Flags, Integers, Matrix, Vector, add_up, factor
from mobai.kernels.programs.linear_program import LinearProgram


class Lines(NamedTuple):
    """Every arm's share as a line: ``s_i = base + on_value v + on_link z[link]``; linking arms are coordinates."""

    base: Vector
    on_value: Vector
    on_link: Vector
    link: Integers


class Scratch(NamedTuple):
    """Room for the numbers of one program, so that nothing but the top makes arrays."""

    lines: Lines
    fixings: Vector
    prices: Vector
    arm: Integers
    pair: Integers
    matrix: Matrix
    swaps: Integers
    z: Vector
    direction: Vector
    change: Vector
    trial: Vector
    values: Vector
    member: Flags


@array_kernel
def new_scratch(arms: int, objectives: int, linking_arms: int) -> Scratch:
    """Allocate the scratch of a program with this many linking arms."""
    n = linking_arms + 1
    return Scratch(
        Lines(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms, np.int64)),
        np.zeros(linking_arms),
        np.zeros(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n, n)),
        np.empty(n, np.int64),
        np.empty(n),
        np.empty(n),
        np.empty(arms),
        np.empty(arms),
        np.empty(arms),
        np.empty(arms * (objectives + 1) + 1 + n, np.uint8),
    )


@kernel
def hold(program: LinearProgram, lines: Lines, i: int, m: int) -> None:
    """Let arm i be held by its pair m, or by its floor (m = M)."""
    if m == len(program.best):
        lines.base[i], lines.on_value[i], lines.on_link[i] = program.floor, 0.0, 0.0
    else:
        lines.base[i] = 0.0
        lines.on_value[i] = 1.0 / program.a[m, i]
        lines.on_link[i] = -program.b[m, i] / program.a[m, i]
        lines.link[i] = program.linking_arm[m]


@kernel
def draw_lines(program: LinearProgram, lines: Lines, own: Integers) -> None:
    """Set every arm's line from the constraint that holds it."""
    for i in range(len(own)):
        lines.link[i] = max(program.place[i], 0)
        if program.place[i] >= 0:
            lines.base[i], lines.on_value[i], lines.on_link[i] = 0.0, 0.0, 1.0
        else:
            hold(program, lines, i, own[i])


@kernel
def gradient(program: LinearProgram, lines: Lines, fixings: Vector, code: int, rows: Matrix, k: int) -> float:
    """Write the slack of a constraint as ``rows[k] . z + constant``; returns the constant."""
    width, n = len(program.best) + 1, rows.shape[1]
    total = len(lines.base) * width
    for h in range(n):
        rows[k, h] = 0.0
    if code > total:
        rows[k, code - total - 1] = 1.0
        return -fixings[code - total - 1]
    if code == total:
        for i in range(len(lines.base)):
            rows[k, n - 1] -= lines.on_value[i]
            rows[k, lines.link[i]] -= lines.on_link[i]
        return 1.0 - add_up(lines.base)
    i, m = code // width, code % width
    size = 1.0 if m == width - 1 else program.a[m, i]
    rows[k, n - 1] += size * lines.on_value[i]
    rows[k, lines.link[i]] += size * lines.on_link[i]
    if m == width - 1:
        return lines.base[i] - program.floor
    rows[k, program.linking_arm[m]] += program.b[m, i]
    rows[k, n - 1] -= 1.0
    return size * lines.base[i]


@kernel
def evaluate(lines: Lines, z: Vector, constant: float, shares: Vector) -> None:
    """Fill in every arm's share at z (constant = 1), or its change along the direction z (constant = 0)."""
    value = z[len(z) - 1]
    for i in range(len(shares)):
        shares[i] = constant * lines.base[i] + lines.on_value[i] * value + lines.on_link[i] * z[lines.link[i]]


@kernel
def factorise(
    program: LinearProgram,
    lines: Lines,
    fixings: Vector,
    tight: Integers,
    matrix: Matrix,
    swaps: Integers,
    right: Vector,
) -> bool:
    """Factorise the matrix of the tight constraints, and give the right-hand side that makes them so."""
    for k in range(len(tight)):
        right[k] = -gradient(program, lines, fixings, tight[k], matrix, k)
    return factor(matrix, swaps)


@kernel
def decode(tight: Integers, width: int, total: int, arm: Integers, pair: Integers) -> None:
    """Split codes into arm and pair (M for a floor); the total and fixings belong to no arm, -1."""
    for k in range(len(tight)):
        arm[k] = tight[k] // width if tight[k] < total else -1
        pair[k] = tight[k] - arm[k] * width


@kernel
def price_of_total(tight: Integers, prices: Vector, total: int) -> float:
    """Return the price of the total, zero when it is not tight."""
    for k in range(len(tight)):
        if tight[k] == total:
            return prices[k]
    return 0.0


@kernel
def own_price(program: LinearProgram, arm: Integers, pair: Integers, prices: Vector, i: int, sum_price: float) -> float:
    """Return the price of the constraint that holds arm i: what its arm's other tight ones leave of the sum's price."""
    rest = sum_price
    for k in range(len(arm)):
        if arm[k] == i:
            rest -= prices[k] * (1.0 if pair[k] == len(program.best) else program.a[pair[k], i])
    return rest


@kernel
def pivot_size(program: LinearProgram, i: int, m: int) -> float:
    """Return how well a constraint determines its arm's share: a pair that means little to the arm does so badly."""
    if m == len(program.best):
        return 1.0
    return program.a[m, i] / max(program.a[m, i], program.b[m, i])


@kernel
def exchange(program: LinearProgram, lines: Lines, own: Integers, tight: Integers, k: int) -> None:
    """Let an arm be held by its tight constraint at position k, which the one that held it takes."""
    width = len(program.best) + 1
    i, m = tight[k] // width, tight[k] % width
    tight[k] = i * width + own[i]
    own[i] = m
    hold(program, lines, i, m)
