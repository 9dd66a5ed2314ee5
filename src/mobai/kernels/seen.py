"""What has been seen, as every kernel reads it. Arrays are objective by arm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from mobai.kernels.compiled import kernel
from mobai.kernels.dense import Integers, Matrix, Truths, Vector

# How the rewards of an objective are modelled: known spread, unknown spread, a known range.
NORMAL, STUDENT, UNIT = 0, 1, 2
# The error of a mean is at most about its number of rewards times this, relative to its size.
ROUNDING = 1e-15


class Rewards(NamedTuple):
    """What is known about each objective: the model, the range (UNIT only), differences that do not matter."""

    model: Integers
    low: Vector
    width: Vector
    eps: Vector


class KnownNoise(NamedTuple):
    """The same when all noise is known: a type of its own, for which loops are compiled without the rest."""

    low: Vector
    width: Vector
    eps: Vector


def model_of(rewards: Rewards | KnownNoise, m: int) -> int:
    """Give the model of an objective; to the compiler a constant where all noise is known."""
    return int(rewards.model[m]) if isinstance(rewards, Rewards) else NORMAL


@overload(model_of, strict=False)  # type: ignore[untyped-decorator]
def _model_of(rewards: Any, m: Any) -> Callable[..., Any]:  # noqa: ARG001
    if "model" in rewards.fields:
        return lambda rewards, m: rewards.model[m]
    return lambda rewards, m: NORMAL  # noqa: ARG005


class Tables(NamedTuple):
    """An experiment as it is counted, arm by objective: what :class:`Seen` is laid out from."""

    sd: Matrix
    asked: Integers
    answered: Integers
    pulls: Integers
    sums: Matrix
    scatter: Matrix
    open: Truths


class Seen(NamedTuple):
    """What is known of every arm.

    Sampling rules see it once every arm has answered. Counts may include answers still to come: then scatter is what
    they would bring.
    """

    rewards: Rewards | KnownNoise
    asked: Integers
    counts: Matrix
    sums: Matrix
    means: Matrix  # minus infinity without a reward
    scatter: Matrix  # squared distances from the mean, summed
    sd: Matrix  # known, or estimated
    spread: Matrix  # the variance of each mean, sd^2 / counts
    leaders: Integers
    pairs: Matrix  # what it would take to mistake each arm for the leader: the transport cost
    open: Integers  # 1 for objectives to sample for


@kernel
def share(seen: Seen, m: int, i: int) -> float:
    """Where an arm's mean lies in the range of its objective, between 0 and 1."""
    place = (seen.means[m, i] - seen.rewards.low[m]) / seen.rewards.width[m]
    return min(max(place, 0.0), 1.0)


@kernel
def gap_between(seen: Seen, m: int, best: int, i: int) -> float:
    """How far an arm is behind the leader, plus what does not matter.

    Where the noise is unknown, what rounding can do to the two means is taken off: next to no scatter, it would be
    taken for a difference.
    """
    gap = seen.means[m, best] - seen.means[m, i] + seen.rewards.eps[m]
    if model_of(seen.rewards, m) == STUDENT:
        sizes = abs(seen.means[m, best]) + abs(seen.means[m, i])
        gap = max(gap - ROUNDING * (seen.counts[m, best] + seen.counts[m, i]) * sizes, 0.0)
    return gap


@kernel
def estimate_noise(seen: Seen, m: int, i: int) -> None:
    """Renew an arm's standard deviation, where it is not known, and the variance of its mean; in place."""
    count = max(seen.counts[m, i], 1.0)
    if model_of(seen.rewards, m) == STUDENT:
        seen.sd[m, i] = math.sqrt(seen.scatter[m, i] / count)
    elif model_of(seen.rewards, m) == UNIT:
        p = (share(seen, m, i) * count + 0.5) / (count + 1.0)
        seen.sd[m, i] = seen.rewards.width[m] * math.sqrt(p * (1.0 - p))
    seen.spread[m, i] = seen.sd[m, i] * seen.sd[m, i] / count
