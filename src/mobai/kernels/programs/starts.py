"""Where to start the simplex method: any shares of the hubs give a feasible point."""

from __future__ import annotations

import numpy as np

from mobai.kernels.jit.compiled import kernel
from mobai.kernels.programs.dense import Integers, Vector, add_up, fill
from mobai.kernels.programs.game import Program


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
def place_pins(program: Program, shares: Vector, evened: float, pins: Vector) -> None:
    """Take the hubs' shares from a vector of all arms, drawn a little to even ones where everybody needs room."""
    for i in range(len(shares)):
        if program.place[i] >= 0:
            share = (1.0 - evened) * (shares[i] - program.floor) + evened * (1.0 / len(shares) - program.floor)
            pins[program.place[i]] = program.floor + max(share, 0.0)
