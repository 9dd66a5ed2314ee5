"""Track-and-Stop's choice and trial. Definition: mobai.rules.sampling.track_and_stop."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.dense import Integers, Vector, fill
from mobai.kernels.oracle import find_weights
from mobai.kernels.sampling.planning import CLOSED, largest_in_row, relative_variance, track
from mobai.kernels.seen import Seen, gap_between
from mobai.kernels.trial import Ladder, World, climb, draw, least_asked, total

TARGET_GAP = 1e-9
MOST_STEPS = 300
SMALLEST_SPREAD = 1e-30


@entry
def play(
    seen: Seen,
    world: World,
    ladder: Ladder,
    pulls: int,
    growth: float,
    weights: Vector,
    best: Integers,
    due: Vector,
) -> int:
    """Choose and pull, so often or until everything is decided or a block of noise is used up; gives the last arm."""
    arm, before = -1, total(seen.asked)
    for k in range(pulls + 1):
        if climb(ladder, seen, arm, before + k) or k == pulls:
            break
        asked = before + k
        arm = least_asked(seen.asked)
        if seen.asked[arm] >= math.sqrt(asked) - 0.5 * len(seen.asked):
            if renew_leaders(seen.leaders, best) or asked >= due[0]:
                find_oracle(seen, weights)
                due[0] = asked * (1.0 + growth)
            arm = track(seen.asked, weights, asked + 1.0, 1.0)
        if not draw(world, seen, arm):
            break
    return arm


@kernel
def renew_leaders(leaders: Integers, best: Integers) -> bool:
    """Take the leaders over; whether they have changed."""
    changed = False
    for m in range(len(best)):
        changed = changed or best[m] != leaders[m]
        best[m] = leaders[m]
    return changed


@kernel
def find_oracle(seen: Seen, weights: Vector) -> None:
    """The oracle weights of the current means, in place; even ones where a leader is tied."""
    objectives, arms = seen.means.shape
    smallest, largest = np.inf, 0.0
    gaps, variance = np.empty((objectives, arms)), np.empty((objectives, arms))
    relative_variance(seen, variance)
    for m in range(objectives):
        b, noise = seen.leaders[m], largest_in_row(seen.sd, m)
        noise = noise if noise > 0.0 else 1.0
        for i in range(arms):
            gaps[m, i] = gap_between(seen, m, b, i) / noise / math.sqrt(variance[m, i] + variance[m, b])
            if i != b and seen.open[m]:
                smallest, largest = min(smallest, gaps[m, i]), max(largest, gaps[m, i])
    if not smallest > SMALLEST_SPREAD * largest:
        fill(weights, 1.0 / arms)
        return
    own, lead = np.zeros((objectives, arms)), np.zeros((objectives, arms))
    for m in range(objectives):
        b = seen.leaders[m]
        for i in range(arms):
            if i != b:
                ratio = smallest / gaps[m, i] if seen.open[m] else 1.0 / CLOSED
                scale = 2.0 * ratio * ratio / (variance[m, i] + variance[m, b])
                own[m, i], lead[m, i] = scale * variance[m, i], scale * variance[m, b]
    found, _, _ = find_weights(own, lead, seen.leaders, 0.0, TARGET_GAP, MOST_STEPS)
    mass = 0.0
    for i in range(arms):
        mass += found[i]
    for i in range(arms):
        weights[i] = found[i] / mass
