"""The simplex method on the reduced program: which constraint leaves, which one blocks, and the loop of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import kernel
from mobai.kernels.programs.basis import (
    Lines,
    Scratch,
    decode,
    draw_lines,
    evaluate,
    exchange,
    factorise,
    own_price,
    pivot_size,
    price_of_total,
)
from mobai.kernels.programs.dense import Flags, Integers, Vector, add_up, fill, solve, solve_transposed
from mobai.kernels.programs.linear_program import LinearProgram, slowest, slowest_of_all

PRICE_TOLERANCE = 1e-12
SLACK_TOLERANCE = 1e-13
# A slack falls only if its rate of change stands out of the rounding of its own terms.
FALLS = 1e-13
TIE = 1.0 + 1e-12


class Block(NamedTuple):
    """What stops a move first: the constraint's code (-1 for none), after which length, and how fast it falls."""

    code: int
    length: float
    fall: float


@kernel
def choose_leaving(program: LinearProgram, own: Integers, tight: Integers, scratch: Scratch) -> tuple[int, bool]:
    """Find the constraint with the least scaled price, if below zero: its position, or that of its arm's own one.

    A pair's price counts by what it is worth to the arm it means most to, so that all are in the unit of the total's.
    """
    objectives, prices, arm, pair = len(program.best), scratch.prices, scratch.arm, scratch.pair
    total = len(own) * (objectives + 1)
    sum_price = price_of_total(tight, prices, total)
    decode(tight, objectives + 1, total, arm, pair)
    worst, leaving, is_own, largest = 0.0, -1, False, 0.0
    for k in range(len(tight)):
        i, m, scaled_price = arm[k], pair[k], prices[k]
        if i >= 0 and m < objectives:
            scaled_price *= max(program.a[m, i], program.b[m, i])
        largest = max(largest, abs(scaled_price))
        if tight[k] > total:
            scaled_price = -abs(scaled_price)
        if scaled_price < worst:
            worst, leaving, is_own = scaled_price, k, False
        if i >= 0 and program.place[i] < 0:
            scaled_price = own_price(program, arm, pair, prices, i, sum_price)
            if scaled_price < worst:
                worst, leaving, is_own = scaled_price, k, True
    if is_own:
        # Of the arm's tight constraints the firmest takes over; one that means nothing to the arm could not.
        for k in range(len(tight)):
            i = arm[leaving]
            if arm[k] == i and pivot_size(program, i, pair[k]) > pivot_size(program, i, pair[leaving]):
                leaving = k
    scale = sum_price if sum_price > 0.0 else largest
    return (leaving, is_own) if worst < -PRICE_TOLERANCE * scale else (-1, False)


@kernel
def first_blocking(
    program: LinearProgram,
    lines: Lines,
    member: Flags,
    shares: Vector,
    direction: Vector,
    change: Vector,
    value: float,
    trial: Vector,
) -> int:
    """Return the constraint that stops the move first (the ratio test); of several, the fastest falling. -1 for none.

    Dividing for every pair would be most of the work. Instead the move is tried as far as known constraints let it go,
    and only objectives with a pair that is too slow there are searched.
    """
    climb = direction[len(direction) - 1]
    block = blocking_share(program, lines, member, shares, direction, change)
    tried = np.inf
    for m in range(len(program.best)):
        if tried != block.length:
            tried = block.length
            for i in range(len(shares)):
                trial[i] = shares[i] + tried * change[i]
        reached = block.code >= 0 and slowest(program.a, program.b, m, trial, program.best[m]) >= value + tried * climb
        if not reached:
            block = blocking_pair(program, m, member, shares, change, value, climb, block)
    return block.code


@kernel
def blocking_share(
    program: LinearProgram, lines: Lines, member: Flags, shares: Vector, direction: Vector, change: Vector
) -> Block:
    """Return how far the total and the floors let the move go."""
    objectives, arms = program.a.shape
    width, climb = objectives + 1, direction[len(direction) - 1]
    length, block, steepest = np.inf, -1, 0.0
    growth, size = 0.0, 0.0
    for i in range(arms):
        growth += change[i]
        size += abs(change[i])
    if member[arms * width] == 0 and growth > FALLS * size:
        length, block = max(1.0 - add_up(shares), 0.0) / growth, arms * width
    for i in range(arms):
        if change[i] < 0.0 and member[i * width + objectives] == 0:
            size = abs(lines.on_value[i] * climb) + abs(lines.on_link[i] * direction[lines.link[i]])
            slack = max(shares[i] - program.floor, 0.0)
            if -change[i] > FALLS * size and slack <= -change[i] * length * TIE:
                if slack * TIE < -change[i] * length or -change[i] > steepest:
                    block, steepest = i * width + objectives, -change[i]
                length = min(length, slack / -change[i])
    return Block(block, length, steepest)


@kernel
def blocking_pair(
    program: LinearProgram,
    m: int,
    member: Flags,
    shares: Vector,
    change: Vector,
    value: float,
    climb: float,
    so_far: Block,
) -> Block:
    """Return how far one objective's pairs let the move go, given how far the others do."""
    block, length, steepest = so_far
    j, width = program.best[m], len(program.best) + 1
    for i in range(len(shares)):
        by_rival, by_best = program.a[m, i] * change[i], program.b[m, i] * change[j]
        fall = climb - by_rival - by_best
        if fall <= FALLS * (abs(by_rival) + abs(by_best) + abs(climb)) or i == j or member[i * width + m] == 1:
            continue
        slack = max(program.a[m, i] * shares[i] + program.b[m, i] * shares[j] - value, 0.0)
        if slack <= fall * length * TIE:
            if slack * TIE < fall * length or fall > steepest:
                block, steepest = i * width + m, fall
            length = min(length, slack / fall)
    return Block(block, length, steepest)


@kernel
def mark_members(program: LinearProgram, own: Integers, tight: Integers, member: Flags) -> None:
    """Mark what holds an arm or is tight, and nothing else: it moves along, and cannot block."""
    for code in range(len(member)):
        member[code] = 0
    for i in range(len(own)):
        if program.place[i] < 0:
            member[i * (len(program.best) + 1) + own[i]] = 1
    for k in range(len(tight)):
        member[tight[k]] = 1


@kernel
def simplex(
    program: LinearProgram, own: Integers, tight: Integers, warm: bool, shares: Vector, scratch: Scratch
) -> int:
    """Pivot until no price is negative, or no pivot is left to try; return their number. The certificate judges.

    A warm start, from a basis of another program, may be infeasible: then there is nothing to pivot. Basis, shares and
    the prices of the scratch are changed in place.
    """
    lines, n = scratch.lines, len(tight)
    draw_lines(program, lines, own)
    mark_members(program, own, tight, scratch.member)
    most = 1000 + 10 * len(shares)
    for pivots in range(most):
        if not factorise(program, lines, scratch.fixings, tight, scratch.matrix, scratch.swaps, scratch.z):
            return pivots
        solve(scratch.matrix, scratch.swaps, scratch.z)
        evaluate(lines, scratch.z, 1.0, shares)
        if pivots == 0 and warm and not feasible(program, shares, scratch.z[n - 1]):
            return pivots
        fill(scratch.prices, 0.0)
        scratch.prices[n - 1] = -1.0
        solve_transposed(scratch.matrix, scratch.swaps, scratch.prices)
        if not pivot(program, own, tight, shares, scratch):
            return pivots
    return most


@kernel
def pivot(program: LinearProgram, own: Integers, tight: Integers, shares: Vector, scratch: Scratch) -> bool:
    """Let the constraint of the worst price leave the basis and the first that blocks enter, in place.

    Returns whether there was anything to exchange.
    """
    lines, matrix, swaps = scratch.lines, scratch.matrix, scratch.swaps
    direction, change, member = scratch.direction, scratch.change, scratch.member
    arms, width = len(own), len(program.best) + 1
    leaving, is_own = choose_leaving(program, own, tight, scratch)
    if leaving < 0:
        return False
    if is_own:
        # The arm's own constraint is to leave: another tight one of the same arm takes its place first.
        exchange(program, lines, own, tight, leaving)
        if not factorise(program, lines, scratch.fixings, tight, matrix, swaps, direction):
            return False
    fill(direction, 0.0)
    is_fixing = tight[leaving] > arms * width
    direction[leaving] = -1.0 if is_fixing and scratch.prices[leaving] > 0.0 else 1.0
    solve(matrix, swaps, direction)
    evaluate(lines, direction, 0.0, change)
    value = scratch.z[len(tight) - 1]
    block = first_blocking(program, lines, member, shares, direction, change, value, scratch.trial)
    if block < 0:
        return False
    member[tight[leaving]], member[block] = 0, 1
    tight[leaving] = block
    i = block // width
    if i < arms and program.place[i] < 0 and pivot_size(program, i, block % width) > pivot_size(program, i, own[i]):
        exchange(program, lines, own, tight, leaving)
    return True


@kernel
def feasible(program: LinearProgram, shares: Vector, value: float) -> bool:
    """Whether the shares are above their floors and every pair reaches the value, up to rounding."""
    for i in range(len(shares)):
        if shares[i] < program.floor - SLACK_TOLERANCE:
            return False
    slowest_rate = slowest_of_all(program.a, program.b, program.best, shares)
    return value > 0.0 and slowest_rate >= value * (1.0 - SLACK_TOLERANCE)
