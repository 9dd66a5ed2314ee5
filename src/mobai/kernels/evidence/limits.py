"""Guardrails: what the rewards say about the limits that arms must keep. Proofs: docs/guarantee.md.

An arm is said to *keep* a limit once bets that its mean is on the right side of limit and tolerance have won enough,
and to *break* it once bets that it is on the wrong side of the limit have. A margin against a baseline is a pair of
arms with that margin between them. What was ever won counts: the evidence of both claims is the largest there has been.
"""

from __future__ import annotations

import math

from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.models.dispatch import claim_cost, claim_score, margin_cost, noise_at, pair_score, shares_noise
from mobai.kernels.programs.dense import Vector
from mobai.kernels.stats.observations import (
    BASELINE,
    BROKEN,
    KEPT,
    LIMIT,
    LIMIT_BROKEN,
    LIMIT_OPEN,
    METRIC,
    SIDE,
    TOLERANCE,
    ObservationArrays,
    find_leader,
)


@kernel
def room(obs: ObservationArrays, c: int, i: int) -> float:
    """Return how far an arm's mean is on the right side of a limit; negative on the wrong one."""
    m, side, base = obs.limits.what[c, METRIC], obs.limits.what[c, SIDE], obs.limits.what[c, BASELINE]
    if base >= 0:
        return side * (obs.means[m, i] - obs.means[m, base]) + obs.limits.terms[c, LIMIT]
    return side * (obs.means[m, i] - (obs.limits.terms[c, LIMIT] - obs.objectives.offset[m]))


@kernel
def distance(obs: ObservationArrays, c: int, i: int, claim: int) -> float:
    """Return how far an arm's mean is on the side that a claim speaks of."""
    return room(obs, c, i) + obs.limits.terms[c, TOLERANCE] if claim == KEPT else -room(obs, c, i)


@kernel
def applies(obs: ObservationArrays, c: int, i: int) -> bool:
    """Whether a guardrail says anything about an arm, and rewards are there to tell."""
    m, base = obs.limits.what[c, METRIC], obs.limits.what[c, BASELINE]
    return i != base and obs.counts[m, i] > 0.0 and (base < 0 or obs.counts[m, base] > 0.0)


@kernel
def shifted_score(
    obs: ObservationArrays, m: int, b: int, i: int, shift: float, noise: float, level: float, beyond: float
) -> float:
    """Return the evidence that one arm's mean, moved up by a shift, is above that of another.

    Where it is not above ``level``, any number that is not may come back, and where it is above ``beyond``, any that
    is.
    """
    if not obs.means[m, b] - obs.means[m, i] + shift > 0.0:
        return -math.inf
    return pair_score(obs, m, b, i, shift, noise, 1.0, level, beyond)


@kernel
def claim_with(obs: ObservationArrays, c: int, i: int, claim: int, noise: float) -> float:
    """Return the evidence of a claim about an arm, with a given bound of a shared standard deviation."""
    m, side, base = obs.limits.what[c, METRIC], obs.limits.what[c, SIDE], obs.limits.what[c, BASELINE]
    apart, above = distance(obs, c, i, claim), (side > 0) == (claim == KEPT)
    if base >= 0:
        shift = obs.limits.terms[c, LIMIT] + obs.limits.terms[c, TOLERANCE]
        if claim == BROKEN:
            shift = -obs.limits.terms[c, LIMIT]
        better, worse = (i, base) if above else (base, i)
        return shifted_score(obs, m, better, worse, shift, noise, -math.inf, math.inf)
    if not apart > 0.0:
        return -math.inf
    moved = obs.limits.terms[c, LIMIT] - (side * obs.limits.terms[c, TOLERANCE] if claim == KEPT else 0.0)
    return claim_score(obs, m, i, moved - obs.objectives.offset[m], apart, above, noise)


@kernel
def claim_evidence(obs: ObservationArrays, c: int, i: int, claim: int) -> float:
    """Return the evidence of a claim about an arm.

    Where one unknown standard deviation is shared, its bound depends on the level: the evidence is then the largest
    level that is exceeded, found between one that is and one that is not.
    """
    m = obs.limits.what[c, METRIC]
    if not shares_noise(obs, m):
        return claim_with(obs, c, i, claim, 1.0)
    low = math.log(max(float(obs.initial[0] - 1), 1.0))
    high = claim_with(obs, c, i, claim, noise_at(obs, m, low))
    if not high > low:
        return high
    while high - low > 1e-9 * max(high, 1.0):
        middle = 0.5 * (low + high)
        found = claim_with(obs, c, i, claim, noise_at(obs, m, middle))
        if found > middle:
            low, high = middle, min(high, found)
        else:
            low, high = max(low, found), middle
    return low


@kernel
def note_claims(obs: ObservationArrays, c: int, i: int) -> None:
    """Bring the evidence of both claims about an arm up to date; in place."""
    if applies(obs, c, i):
        for claim in (KEPT, BROKEN):
            found = claim_evidence(obs, c, i, claim)
            obs.limits.evidence[claim, c, i] = max(obs.limits.evidence[claim, c, i], found)


@kernel
def note_limits(obs: ObservationArrays) -> None:
    """Look at every limit at the end of a moment, for the arms that were told something in it; in place."""
    for c in range(obs.limits.what.shape[0]):
        m, base = obs.limits.what[c, METRIC], obs.limits.what[c, BASELINE]
        everybody = shares_noise(obs, m) or (base >= 0 and obs.limits.touched[base])
        for i in range(obs.counts.shape[1]):
            if everybody or obs.limits.touched[i]:
                note_claims(obs, c, i)
    for i in range(obs.counts.shape[1]):
        obs.limits.touched[i] = 0


@kernel
def looks_fit(obs: ObservationArrays, i: int) -> bool:
    """Whether an arm seems to keep every limit, as its means are now, and was not said to break one."""
    for c in range(obs.limits.what.shape[0]):
        if obs.limits.settled[c, i] == LIMIT_BROKEN:
            return False
        unsettled = obs.limits.settled[c, i] == LIMIT_OPEN and applies(obs, c, i)
        if unsettled and room(obs, c, i) < -0.5 * obs.limits.terms[c, TOLERANCE]:
            return False
    return True


@entry
def renew_eligible(obs: ObservationArrays) -> None:
    """Find the arms that may lead, and the leaders among them, for Python; in place."""
    find_eligible(obs)


@entry
def look_at_limits(obs: ObservationArrays) -> None:
    """Look at every limit of every arm, for Python; in place."""
    for i in range(len(obs.active)):
        obs.limits.touched[i] = 1
    note_limits(obs)
    find_eligible(obs)


@kernel
def find_eligible(obs: ObservationArrays) -> None:
    """Find the arms that may lead, and the leaders among them; in place.

    They seem to keep every limit; if no arm does, every active arm is eligible.
    """
    any_fit, changed = False, False
    for i in range(len(obs.active)):
        any_fit = any_fit or (obs.active[i] > 0 and looks_fit(obs, i))
    for i in range(len(obs.active)):
        eligible = 1 if obs.active[i] and (not any_fit or looks_fit(obs, i)) else 0
        changed = changed or eligible != obs.eligible[i]
        obs.eligible[i] = eligible
    if changed:
        for m in range(len(obs.leaders)):
            best = find_leader(obs.means, obs.eligible, m)
            if best != obs.leaders[m]:
                obs.leaders[m], obs.stale[m] = best, 1


@kernel
def limit_cost(obs: ObservationArrays, c: int, i: int, claim: int) -> float:
    """Return what it would take to mistake an arm for one of which a claim is false: a transport cost, for sampling."""
    m, base = obs.limits.what[c, METRIC], obs.limits.what[c, BASELINE]
    apart = distance(obs, c, i, claim)
    if not applies(obs, c, i) or not apart > 0.0:
        return 0.0
    if base >= 0:
        return margin_cost(obs, m, i, base, apart)
    return claim_cost(obs, m, i, apart, (obs.limits.what[c, SIDE] > 0) == (claim == KEPT))


@kernel
def hardest_to_keep(obs: ObservationArrays, i: int) -> tuple[float, int]:
    """Return the smallest cost of the claims that an arm keeps its limits, and whose; infinite if all are settled."""
    least, which = math.inf, -1
    for c in range(obs.limits.what.shape[0]):
        if obs.limits.settled[c, i] == LIMIT_OPEN and obs.limits.what[c, BASELINE] != i:
            cost = limit_cost(obs, c, i, KEPT)
            if cost < least:
                least, which = cost, c
    return least, which


@kernel
def easiest_to_break(obs: ObservationArrays, i: int) -> tuple[float, int]:
    """Return the largest cost of the claims that an arm breaks its limits, and of which; infinite if one is settled."""
    most, which = 0.0, -1
    for c in range(obs.limits.what.shape[0]):
        if obs.limits.settled[c, i] == LIMIT_BROKEN:
            return math.inf, c
        if obs.limits.settled[c, i] == LIMIT_OPEN:
            cost = limit_cost(obs, c, i, BROKEN)
            if cost > most:
                most, which = cost, c
    return most, which


@kernel
def largest_lead(obs: ObservationArrays, m: int, b: int, i: int, noise: float, level: float) -> float:
    """Return by how much one arm's mean is above that of another at least: where the evidence reaches a level.

    Minus infinity if it never does. The evidence of "b is more than d above i" falls with d, and is nothing beyond the
    distance of the two means.
    """
    high = obs.means[m, b] - obs.means[m, i]
    step = math.sqrt(obs.spread[m, b] + obs.spread[m, i])
    step = step if 0.0 < step < math.inf else 1.0
    low = high - step
    while not shifted_score(obs, m, b, i, -low, noise, level, level) > level:
        step *= 2.0
        low, high = low - step, low
        if not step < 1e150:
            return -math.inf
    for _ in range(200):
        middle = 0.5 * (low + high)
        if high - low <= 1e-8 * step or middle in (low, high):
            break
        if shifted_score(obs, m, b, i, -middle, noise, level, level) > level:
            low = middle
        else:
            high = middle
    return low


@entry
def differences(obs: ObservationArrays, m: int, base: int, levels: Vector, lower: Vector, upper: Vector) -> None:
    """Fill in between which numbers the difference of each arm's mean to a baseline's lies; all without rewards."""
    for i in range(len(levels)):
        lower[i], upper[i] = -math.inf, math.inf
        if i == base:
            lower[i], upper[i] = 0.0, 0.0
        elif obs.counts[m, i] > 0.0 and obs.counts[m, base] > 0.0:
            noise = noise_at(obs, m, levels[i])
            lower[i] = largest_lead(obs, m, i, base, noise, levels[i])
            upper[i] = -largest_lead(obs, m, base, i, noise, levels[i])
