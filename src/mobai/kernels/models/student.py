"""Gaussian rewards of unknown variance, one per arm."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.student import (
    LEAST_WIDTH,
    WEIGHTS,
    WIDTHS,
    Sample,
    log_ratio,
    one_sided,
    student_cost,
    student_score,
)
from mobai.kernels.jit.compiled import kernel
from mobai.kernels.programs.dense import Vector
from mobai.kernels.stats.observations import ROUNDING, ObservationArrays, count_of, scatter_of


@kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Estimate an arm's standard deviation and the variance of its mean; in place."""
    count = max(count_of(obs, m, i), 1.0)
    obs.sd[m, i] = math.sqrt(scatter_of(obs, m, i) / count)
    obs.spread[m, i] = obs.sd[m, i] * obs.sd[m, i] / count


@kernel
def gap_between(obs: ObservationArrays, m: int, b: int, i: int, shift: float) -> float:
    """Return how far an arm is ahead of another, moved by a shift, less what rounding can do to the two means.

    Next to no scatter, that would be taken for a difference.
    """
    gap = obs.means[m, b] - obs.means[m, i] + shift
    spans = abs(obs.sums[m, b]) + abs(obs.sums[m, i])
    gap -= ROUNDING * (abs(obs.means[m, b]) + abs(obs.means[m, i]) + spans)
    if obs.scatter[m, b] == 0.0 and obs.scatter[m, i] == 0.0:
        # Rewards that never vary: their last digit is no difference either.
        gap -= ROUNDING * abs(obs.objectives.offset[m])
    return max(gap, 0.0)


@kernel
def sampled(obs: ObservationArrays, m: int, i: int) -> Sample:
    """Return what an arm's rewards say to sampling: pending ones count as if they had come and were like the others."""
    return Sample(count_of(obs, m, i), scatter_of(obs, m, i))


@kernel
def pair_cost(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return the transport cost of a pair."""
    n_b, n_i = max(count_of(obs, m, best), 1.0), max(count_of(obs, m, i), 1.0)
    own, other = Sample(n_b, scatter_of(obs, m, best)), Sample(n_i, scatter_of(obs, m, i))
    return student_cost(gap_between(obs, m, best, i, obs.objectives.eps[m]), own, other)[0]


@kernel
def leaders_share(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return how much of that the leader contributes, between 0 and 1."""
    gap = gap_between(obs, m, best, i, obs.objectives.eps[m])
    return student_cost(gap, sampled(obs, m, best), sampled(obs, m, i))[1]


@kernel
def pair_score(
    obs: ObservationArrays, m: int, b: int, i: int, shift: float, rivals: float, level: float, beyond: float
) -> float:
    """Return the evidence of a pair; ``rivals`` is the number of pairs that share the errors of its better arm."""
    own, other = Sample(obs.counts[m, b], obs.scatter[m, b]), Sample(obs.counts[m, i], obs.scatter[m, i])
    return student_score(gap_between(obs, m, b, i, shift), own, other, rivals, level, beyond)


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, apart: float) -> float:
    """Return the evidence that an arm's mean is on its side of a null mean."""
    return one_sided(apart, Sample(obs.counts[m, i], obs.scatter[m, i]))


@kernel
def claim_cost(obs: ObservationArrays, m: int, i: int, apart: float) -> float:
    """Return the transport cost of an arm's mean to a null mean."""
    arm = sampled(obs, m, i)
    return log_ratio(apart, arm, LEAST_WIDTH / (arm.size + LEAST_WIDTH))


@kernel
def margin_cost(obs: ObservationArrays, m: int, i: int, base: int, apart: float) -> float:
    """Return the transport cost of a margin between an arm and its baseline."""
    return student_cost(apart, sampled(obs, m, i), sampled(obs, m, base))[0]


def half_width(obs: ObservationArrays, m: int, levels: Vector) -> Vector:
    """Return how far every arm's true mean can be from its empirical one, at these levels.

    The narrowest of the widths, each of which pays for its share; all in closed form.
    """
    n, scatter = np.maximum(obs.counts[m], 1), obs.scatter[m]
    narrowest = np.full(len(n), np.inf)
    for c, weight in zip(WIDTHS, WEIGHTS, strict=True):
        k, y = c / (n + c), levels - math.log(weight) + 0.5 * np.log1p(n / c)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rise = np.expm1(2 * y / n)
            square = np.where(k * (rise + 1) < 1, scatter * rise / (1 - k * (rise + 1)), np.inf)
        narrowest = np.minimum(narrowest, np.sqrt(square / n))
    return narrowest
