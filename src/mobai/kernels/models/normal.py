"""Rewards of known noise; the same costs serve every model whose noise is in the table of standard deviations."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.normal import WEIGHTS, WIDTHS, normal_score, one_bet
from mobai.kernels.jit.compiled import inner_kernel, kernel
from mobai.kernels.programs.dense import Vector
from mobai.kernels.stats.observations import ObservationArrays, count_of


@inner_kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Renew the variance of an arm's mean; in place."""
    obs.spread[m, i] = obs.sd[m, i] * obs.sd[m, i] / max(count_of(obs, m, i), 1.0)


@inner_kernel
def pair_cost(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return the transport cost of a pair."""
    gap = max(obs.means[m, best] + obs.objectives.eps[m] - obs.means[m, i], 0.0)
    return gap * gap / (2.0 * (obs.spread[m, best] + obs.spread[m, i]))


@kernel
def pair_score(obs: ObservationArrays, m: int, b: int, i: int, shift: float, level: float, beyond: float) -> float:
    """Return the evidence of a pair, in units of its geometric mean variance."""
    sd_b, sd_i = obs.sd[m, b], obs.sd[m, i]
    ratio = sd_i / sd_b
    gap = (obs.means[m, b] - obs.means[m, i] + shift) / math.sqrt(sd_b) / math.sqrt(sd_i)
    return normal_score(gap, obs.counts[m, b] * ratio, obs.counts[m, i] / ratio, level, beyond)


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, apart: float) -> float:
    """Return the evidence that an arm's mean is on its side of a null mean."""
    return one_bet(obs.counts[m, i], apart / obs.sd[m, i])


@kernel
def claim_cost(obs: ObservationArrays, m: int, i: int, apart: float) -> float:
    """Return the transport cost of an arm's mean to a null mean."""
    return apart * apart / (2.0 * obs.spread[m, i])


@kernel
def margin_cost(obs: ObservationArrays, m: int, i: int, base: int, apart: float) -> float:
    """Return the transport cost of a margin between an arm and its baseline."""
    return apart * apart / (2.0 * (obs.spread[m, i] + obs.spread[m, base]))


def half_width(obs: ObservationArrays, m: int, levels: Vector) -> Vector:
    """Return how far every arm's true mean can be from its empirical one, at these levels."""
    half: Vector = obs.sd[m] * half_width_in_sd(obs.counts[m], levels)
    return half


def half_width_in_sd(counts: Vector, levels: Vector) -> Vector:
    """Solve for the distance d, in standard deviations, at which the two-sided bets of known noise reach the level.

    In ``q = d^2`` they are convex: from above, Newton's method never overshoots.
    """
    n, c = np.maximum(counts, 1), np.array(WIDTHS)[:, None]
    slope = n * n / (2 * (n + c))
    offset = 0.5 * np.log1p(n / c) - np.log(WEIGHTS)[:, None]
    q: Vector = ((levels + offset) / slope).min(axis=0)
    for _ in range(60):
        lines = q * slope - offset
        top = lines.max(axis=0)
        parts = np.exp(lines - top)
        excess = top + np.log(parts.sum(axis=0)) - levels
        step = excess / ((parts * slope).sum(axis=0) / parts.sum(axis=0))
        q = q - step
        if (step <= 1e-14 * q).all():
            break
    return np.sqrt(q)
