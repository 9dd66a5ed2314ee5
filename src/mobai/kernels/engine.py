"""What an experiment under way calls: rewards come in, evidence is compared with the levels that matter."""

from __future__ import annotations

import math

from mobai.kernels.compiled import entry, kernel
from mobai.kernels.costs import renew_arm
from mobai.kernels.dense import Integers, Matrix, Truths, Vector
from mobai.kernels.evidence import Prices, against_retired, exact_evidence, weakest_pair
from mobai.kernels.observations import ObservationArrays, add_reward


@entry
def record(obs: ObservationArrays, arms: Integers, rewards: Matrix, first: Truths, are_pending: bool) -> None:
    """Take in the rewards of several pulls, NaN where one is missing; in place.

    ``first`` marks rewards that are the first ones of their pull. With ``are_pending`` such a pull was pending until
    now. Rows of arms below 0 are left out.
    """
    for n in range(len(arms)):
        arm = arms[n]
        if arm < 0:
            continue
        if first[n]:
            obs.answered[arm] += 1
            if are_pending:
                obs.pending[arm] -= 1
        for m in range(len(obs.leaders)):
            if not math.isnan(rewards[n, m]):
                add_reward(obs, m, arm, rewards[n, m])
            renew_arm(obs, m, arm)


@entry
def expect(obs: ObservationArrays, arm: int, pulls: int) -> None:
    """Count more (or fewer) pulls of an arm as pending; in place."""
    obs.pending[arm] += pulls
    for m in range(len(obs.leaders)):
        renew_arm(obs, m, arm)


@entry
def look(
    kind: int,
    sticky: bool,
    obs: ObservationArrays,
    prices: Prices,
    pulls: float,
    bars: Vector,
    blocks: Integers,
    found: Vector,
) -> bool:
    """Fill in the evidence where it exceeds its bar, minus infinity elsewhere; whether there is any such place.

    A sticky rule has one bar per objective, the others one for all. ``blocks`` has the pair that last kept each below
    its bar (objective, leader, arm; changed in place).
    """
    any_found = False
    for line in range(len(bars)):
        first, last = (line, line + 1) if sticky else (0, len(obs.leaders))
        found[line] = -math.inf
        if exceeds(kind, obs, prices, blocks[line], first, last, pulls, bars[line]):
            evidence = math.inf
            for m in range(first, last):
                evidence = min(evidence, evidence_of(kind, obs, prices, m, pulls))
            if evidence > bars[line]:
                found[line], any_found = evidence, True
    return any_found


@kernel
def exceeds(
    kind: int,
    obs: ObservationArrays,
    prices: Prices,
    block: Integers,
    first: int,
    last: int,
    pulls: float,
    bar: float,
) -> bool:
    """Whether the evidence of all these objectives may exceed a bar: a quick no, or else a maybe."""
    if bar == math.inf:
        return False
    if len(prices.retired) > 0:
        return True
    return weakest_pair(kind, obs, prices, 0.0, block, first, last, pulls, bar) > bar


@entry
def weigh(kind: int, obs: ObservationArrays, prices: Prices, pulls: float, evidence: Vector) -> None:
    """Fill in the evidence of every objective: that of its weakest pair."""
    for m in range(len(evidence)):
        evidence[m] = evidence_of(kind, obs, prices, m, pulls)


@kernel
def evidence_of(kind: int, obs: ObservationArrays, prices: Prices, m: int, pulls: float) -> float:
    """Return the evidence of an objective's weakest pair, less what it pays.

    If arms of the start were retired, two others pay nothing as long as the leader beats the retired ones, too.
    """
    least = exact_evidence(kind, obs, prices, 0.0, m, pulls)
    if len(prices.retired) > 0:
        least = min(least, against_retired(kind, obs, prices, m, pulls))
        least = max(least, exact_evidence(kind, obs, prices, prices.all_pairs, m, pulls))
    return least
