"""What an experiment under way calls: rewards come in, evidence is compared with the levels that matter."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.costs import renew_arm, renew_row
from mobai.kernels.evidence.limits import find_eligible, note_limits
from mobai.kernels.evidence.scores import (
    MIXTURE,
    Scoring,
    against_retired,
    exact_evidence,
    nobody_keeps_limits,
    price_of,
    priced_evidence,
    score_of,
    weakest_pair,
)
from mobai.kernels.jit.compiled import entry, inner_kernel, kernel
from mobai.kernels.models.dispatch import noise_at, shares_noise
from mobai.kernels.programs.dense import Integers, Matrix, Truths, Vector
from mobai.kernels.stats.health import HealthArrays, note_pull
from mobai.kernels.stats.observations import ObservationArrays, breaks_limits
from mobai.kernels.stats.repeats import RepeatArrays, count_repeat
from mobai.kernels.stats.updates import add_reward, end_moment


@entry
def take_in_moments(
    obs: ObservationArrays, arms: Integers, rewards: Matrix, first: Truths, ends: Integers, are_pending: bool
) -> None:
    """Take in the rewards of several pulls, NaN where there is none, infinite where none will come; in place.

    ``first`` marks rewards that are the first ones of their pull, and ``ends`` has the number of rows up to the end of
    each moment. With ``are_pending`` rewards were pending until they came. Rows of arms below 0 are left out.
    """
    n = 0
    for end in ends:
        while n < end:
            if arms[n] >= 0:
                take_in(obs, arms[n], rewards[n], first[n], are_pending)
                obs.limits.touched[arms[n]] = 1
            n += 1
        end_moment(obs)
        if obs.limits.what.shape[0] > 0:
            if not are_pending:
                note_limits(obs)
            find_eligible(obs)


@inner_kernel
def take_in(obs: ObservationArrays, arm: int, rewards: Vector, first: bool, are_pending: bool) -> None:
    """Take in the rewards of one pull; in place."""
    if first:
        obs.answered[arm] += 1
    for m in range(len(obs.leaders)):
        if not math.isnan(rewards[m]):
            if are_pending:
                obs.pending[m, arm] -= 1
            if math.isfinite(rewards[m]):
                add_reward(obs, m, arm, rewards[m])
            renew_arm(obs, m, arm)


@entry
def expect(obs: ObservationArrays, arm: int, pulls: int) -> None:
    """Count more (or fewer) pulls of an arm as pending; in place."""
    for m in range(len(obs.leaders)):
        obs.pending[m, arm] += pulls
        renew_arm(obs, m, arm)


@entry
def look(
    scoring: Scoring,
    sticky: bool,
    obs: ObservationArrays,
    levels: Vector,
    least: Vector,
    blocks: Integers,
    found: Vector,
) -> bool:
    """Fill in the evidence where it exceeds its level, minus infinity elsewhere; whether there is any such place."""
    return fill_in_found(scoring, sticky, obs, levels, least, blocks, found)


@kernel
def fill_in_found(
    scoring: Scoring,
    sticky: bool,
    obs: ObservationArrays,
    levels: Vector,
    least: Vector,
    blocks: Integers,
    found: Vector,
) -> bool:
    """Do what :func:`look` does, for kernels.

    A sticky rule has one level per objective, the others one for all. ``least`` has how many rewards the arms in
    question must have. ``blocks`` has the pair that last kept each below its level (objective, leader, arm; changed in
    place).
    """
    any_found = False
    for n in range(len(levels)):
        first, last = (n, n + 1) if sticky else (0, len(obs.leaders))
        found[n] = -math.inf
        if least[n] > 0.0 and levels[n] < math.inf and lacks(scoring, obs, n, least[n], levels[n]):
            continue
        if exceeds(scoring, obs, blocks[n], first, last, levels[n]):
            evidence = math.inf
            for m in range(first, last):
                evidence = min(evidence, evidence_of(scoring, obs, m))
            if evidence > levels[n]:
                found[n], any_found = evidence, True
    return any_found


@kernel
def lacks(scoring: Scoring, obs: ObservationArrays, m: int, least: float, level: float) -> bool:
    """Whether the leader of an objective, or a rival that is not far behind it, has fewer rewards than it must.

    Far behind is twice the evidence that is asked for.
    """
    b = obs.leaders[m]
    if obs.counts[m, b] < least:
        return True
    noise = noise_at(obs, m, level)
    for i in range(obs.counts.shape[1]):
        if i != b and obs.active[i] and obs.counts[m, i] < least:
            if obs.stale[m]:
                renew_row(obs, m)
            if not priced_evidence(scoring, False, obs, m, i, noise, 2.0 * level) > 2.0 * level:
                return True
    return False


@entry
def lacking(scoring: Scoring, obs: ObservationArrays, m: int, least: float, level: float) -> bool:
    """Whether an objective has the evidence, and nothing but the number of rewards keeps it open; for Python."""
    if not lacks(scoring, obs, m, least, level) or not exceeds(scoring, obs, np.full(3, -1), m, m + 1, level):
        return False
    return evidence_of(scoring, obs, m) > level


@entry
def follow(
    scoring: Scoring,
    obs: ObservationArrays,
    repeats: RepeatArrays,
    health: HealthArrays,
    records: tuple[Vector, Vector, Integers, Vector],
    rows: tuple[Integers, Matrix, Truths],
    looks: Integers,
    begin: int,
) -> tuple[int, int]:
    """Take in arms, rewards and which are the first of their pull, each row a moment, until something is found.

    ``looks`` has the numbers of rows after which the evidence is looked at, and ``begin`` is the first of them to go
    on with. The same as :func:`take_in_moments`, ``count_repeats``, ``note_rewards`` and :func:`look` (of a sticky
    rule, with its levels, blocks and what it finds) for the rows of each. In place; return how many looks have been
    taken with those before ``begin``, and how many rows were the first of their pull.
    """
    (levels, least, blocks, found), (arms, rewards, first) = records, rows
    start, pulls = looks[begin - 1] if begin > 0 else 0, 0
    for n in range(begin, len(looks)):
        for row in range(start, looks[n]):
            take_in(obs, arms[row], rewards[row], first[row], False)
            end_moment(obs)
            pulls += first[row]
        for row in range(start, looks[n]):
            for m in range(rewards.shape[1]):
                arm = arms[row]
                if not math.isnan(rewards[row, m]):
                    count_repeat(repeats, m, arm, rewards[row, m], obs.counts[m, arm], obs.scatter[m, arm])
        for row in range(start, looks[n]):
            note_pull(health, obs, arms[row], rewards[row])
        start = looks[n]
        now = Scoring(scoring.kind, scoring.prices, scoring.pulls + pulls)
        if fill_in_found(now, True, obs, levels, least, blocks, found):
            return n + 1, pulls
    return len(looks), pulls


@kernel
def exceeds(scoring: Scoring, obs: ObservationArrays, block: Integers, first: int, last: int, level: float) -> bool:
    """Whether the evidence of all these objectives may exceed a level: a quick no, or else a maybe."""
    if level == math.inf:
        return False
    if len(scoring.prices.retired) > 0 or nobody_keeps_limits(scoring, obs) > level:
        return True
    return weakest_pair(scoring, False, obs, block, first, last, level) > level


@entry
def all_exceed(scoring: Scoring, obs: ObservationArrays, levels: Vector) -> bool:
    """Whether the evidence of every objective exceeds its level."""
    block = np.full(3, -1)
    for m in range(len(levels)):
        block[:] = -1
        if not exceeds(scoring, obs, block, m, m + 1, levels[m]):
            return False
        if len(scoring.prices.retired) > 0 and not evidence_of(scoring, obs, m) > levels[m]:
            return False
    return True


@entry
def weigh(scoring: Scoring, obs: ObservationArrays, evidence: Vector) -> None:
    """Fill in the evidence of every objective: that of its weakest pair."""
    for m in range(len(evidence)):
        evidence[m] = evidence_of(scoring, obs, m)


@kernel
def evidence_of(scoring: Scoring, obs: ObservationArrays, m: int) -> float:
    """Return the evidence of an objective's weakest pair, less what it pays.

    Where one unknown standard deviation is shared, its bound depends on the level: the evidence is then the largest
    level that is exceeded, found between one that is and one that is not.
    """
    if scoring.kind != MIXTURE or not shares_noise(obs, m):
        return max(evidence_with(scoring, obs, m, 1.0), nobody_keeps_limits(scoring, obs))
    low = math.log(max(float(obs.initial[0] - 1), 1.0))
    high, nobody = evidence_with(scoring, obs, m, noise_at(obs, m, low)), nobody_keeps_limits(scoring, obs)
    if not high > low:
        return max(high, nobody)
    while high - low > 1e-9 * max(high, 1.0):
        # The evidence falls as the level rises, at less than its rate: a level and its evidence are a bracket.
        middle = 0.5 * (low + high)
        found = evidence_with(scoring, obs, m, noise_at(obs, m, middle))
        if found > middle:
            low, high = middle, min(high, found)
        else:
            low, high = max(low, found), middle
    return max(low, nobody)


@entry
def nobody_qualifies(scoring: Scoring, obs: ObservationArrays) -> float:
    """Return the evidence that every arm breaks some limit, to Python."""
    return nobody_keeps_limits(scoring, obs)


@kernel
def evidence_with(scoring: Scoring, obs: ObservationArrays, m: int, noise: float) -> float:
    """Return the evidence of an objective's weakest pair with a given bound of a shared standard deviation.

    If initial arms were retired, two others pay nothing as long as the leader beats the retired ones, too.
    """
    least = exact_evidence(scoring, False, obs, m, noise)
    if len(scoring.prices.retired) > 0:
        least = min(least, against_retired(scoring, obs, m, noise))
        least = max(least, exact_evidence(scoring, True, obs, m, noise))
    return least


@entry
def pair_evidences(
    scoring: Scoring, obs: ObservationArrays, m: int, level: float, evidence: Vector, broken: Vector
) -> None:
    """Fill in, for every arm, the evidence of its pair with the leader, and that it breaks a limit."""
    noise = noise_at(obs, m, level)
    if obs.stale[m]:
        renew_row(obs, m)
    for i in range(len(evidence)):
        price, alone = price_of(scoring.prices, obs, obs.leaders[m], i, False), obs.initial[0] <= max(obs.leaders[m], i)
        broken[i] = breaks_limits(obs, i) - scoring.prices.surcharges[i]
        evidence[i] = math.inf
        if i != obs.leaders[m]:
            evidence[i] = score_of(scoring, obs, m, i, noise, alone, -math.inf, math.inf) - price
