"""Where to start the simplex method: any shares of the linking arms give a feasible point."""

from __future__ import annotations

import numpy as np

from mobai.kernels.jit.compiled import kernel
from mobai.kernels.programs.dense import Integers, Vector, add_up, fill
from mobai.kernels.programs.linear_program import LinearProgram


@kernel
def fix_linking_arms(program: LinearProgram, own: Integers, tight: Integers, fixings: Vector) -> float:
    """Start at given shares of the linking arms: find the largest value they allow, and what holds all others there.

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
            share = 1.0 if free else 0.0 if program.place[i] < 0 else fixings[program.place[i]]
            rate = program.a[m, i] * share + program.b[m, i] * fixings[program.linking_arm[m]]
            if rate < value:
                value, binding = rate, total if free else i * (objectives + 1) + m
    room = 1.0 - add_up(fixings)
    for _ in range(200):
        needed, slope = 0.0, 0.0
        for i in range(arms):
            if program.place[i] >= 0:
                continue
            most, own[i] = program.floor, objectives
            for m in range(objectives):
                if program.a[m, i] > 0.0:
                    need = (value - program.b[m, i] * fixings[program.linking_arm[m]]) / program.a[m, i]
                    if need > most:
                        most, own[i] = need, m
            needed += most
            if own[i] < objectives:
                slope += 1.0 / program.a[own[i], i]
        if needed <= room * (1.0 + 1e-14) or slope == 0.0:
            break
        binding = total
        value -= (needed - room) / slope
    for j in range(len(fixings)):
        tight[j] = total + 1 + j
    tight[len(fixings)] = binding
    return value


@kernel
def fix_evenly(program: LinearProgram, own: Integers, tight: Integers, fixings: Vector) -> None:
    """Start from nothing: give the linking arms equal shares, of the total that allows the largest value."""
    spare = 1.0 - program.a.shape[1] * program.floor
    best_value, best_share = -1.0, 0.0
    for k in range(1, 16):
        fill(fixings, program.floor + spare * (k / 16.0) ** 2 / len(fixings))
        value = fix_linking_arms(program, own, tight, fixings)
        if value > best_value:
            best_value, best_share = value, fixings[0]
    fill(fixings, best_share)
    fix_linking_arms(program, own, tight, fixings)


@kernel
def place_fixings(program: LinearProgram, shares: Vector, evened: float, fixings: Vector) -> None:
    """Take the linking arms' shares from a vector of all arms, drawn a little to even ones where all need room."""
    for i in range(len(shares)):
        if program.place[i] >= 0:
            share = (1.0 - evened) * (shares[i] - program.floor) + evened * (1.0 / len(shares) - program.floor)
            fixings[program.place[i]] = program.floor + max(share, 0.0)
