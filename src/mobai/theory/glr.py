"""The generalised likelihood ratio statistic: how strongly the data separate each leader from its rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.kernels.evidence import renew
from mobai.kernels.seen import NORMAL, STUDENT, UNIT, KnownNoise, Rewards, Seen
from mobai.problem import (
    Bernoulli,
    Bounded,
    Family,
    FloatArray,
    Gaussian,
    IntArray,
    Problem,
    SubGaussian,
    Tally,
    UnknownVariance,
)
from mobai.problem.problem import numbers


@dataclass(frozen=True, eq=False)
class GLRStatistic:
    """The statistic Z of every pair, objective by objective, and overall (paper, eq. test-statistic).

    Attributes
    ----------
    leaders
        The empirical best arm of every objective, the first of them in a tie. Shape (M,).
    pairs
        ``Z_mi = Dhat^2 / (2 (sd_b^2/N_b + sd_i^2/N_i))`` for Gaussian rewards of known noise; infinite for the leader
        itself, zero as long as one of the two arms has no reward. Shape (K, M).
    """

    leaders: IntArray
    pairs: FloatArray

    @property
    def per_objective(self) -> FloatArray:
        """The weakest pair of each objective. Shape (M,)."""
        smallest: FloatArray = self.pairs.min(axis=0)
        return smallest

    @property
    def overall(self) -> float:
        """The weakest pair of all: the paper's Z(t)."""
        return float(self.pairs.min())


def glr_statistic(means: npt.ArrayLike, pulls: npt.ArrayLike, sd: npt.ArrayLike = 1.0) -> GLRStatistic:
    """Compute the statistic from empirical means and the number of pulls behind them.

    Parameters
    ----------
    means
        Empirical means, K x M; more is better.
    pulls
        Rewards seen: K numbers (one per arm) or a K x M table.
    sd
        The known standard deviation: one number, M numbers or a K x M table.

    Examples
    --------
    >>> statistic = glr_statistic([[1.0, 0.0], [0.0, 2.0]], pulls=[4, 4])
    >>> statistic.leaders, statistic.per_objective, statistic.overall
    (array([0, 1]), array([1., 4.]), 1.0)
    """
    table, counts = numbers(means, "means"), numbers(pulls, "pulls")
    if table.ndim != 2 or counts.shape not in (table.shape, table.shape[:1]):
        raise InputError(
            f"means must be a K x M table and pulls K numbers or a K x M table, not {table.shape} and {counts.shape}"
        )
    if (counts < 0).any():
        raise InputError("pulls must not be negative")
    counts = counts[:, None] if counts.ndim == 1 else counts
    noise = Problem(table.shape[0], table.shape[1], sd).sd
    return pair_statistics(table, np.broadcast_to(counts, table.shape), noise)


def tally_statistic(problem: Problem, tally: Tally) -> GLRStatistic:
    """Compute the statistic from what an experiment has seen so far, in the families of its objectives."""
    seen = lay_out(problem, tally, tally.pulls)
    return GLRStatistic(seen.leaders, seen.pairs.T)


def pair_statistics(means: FloatArray, pulls: npt.NDArray[np.number], sd: FloatArray) -> GLRStatistic:
    """Compute the statistic of Gaussian rewards from checked arrays of one shape (K, M)."""
    leaders: IntArray = means.argmax(axis=0)
    best = (leaders, np.arange(means.shape[1]))
    variance = sd**2 / np.maximum(pulls, 1)
    # Without a reward of both arms the gap counts as none.
    seen = (pulls > 0) & (pulls[best] > 0)
    gaps = np.subtract(means[best], means, out=np.zeros_like(means), where=seen)
    z: FloatArray = gaps**2 / (2 * (variance + variance[best]))
    z[best] = np.inf
    return GLRStatistic(leaders, z)


def lay_out(problem: Problem, tally: Tally, counts: npt.NDArray[np.number]) -> Seen:
    """Give what was seen, objective by arm. ``counts`` are the rewards behind the means, perhaps with some to come."""
    scatter = tally.scatter
    if counts is not tally.pulls:
        scatter = scatter * np.asarray(counts / np.maximum(tally.pulls, 1), np.float64)
    wanted = tally.open if tally.open.any() else np.ones_like(tally.open)
    return see(problem, tally.means, counts, scatter, asked=tally.asked, sums=tally.sums, wanted=wanted)


def see(
    problem: Problem,
    means: FloatArray,
    counts: npt.NDArray[np.number],
    scatter: FloatArray,
    *,
    asked: IntArray | None = None,
    sums: FloatArray | None = None,
    wanted: npt.NDArray[np.bool_] | None = None,
) -> Seen:
    """Lay tables of arms by objectives out for the kernels, and find leaders and statistics."""
    arms, objectives = problem.shape
    empty = np.empty((objectives, arms))
    seen = Seen(
        rewards=_rewards(problem),
        asked=np.zeros(arms, np.int64) if asked is None else np.array(asked, np.int64),
        counts=_turned(counts),
        sums=empty.copy() if sums is None else _turned(sums),
        means=_turned(means),
        scatter=_turned(scatter),
        sd=_turned(problem.sd),
        spread=empty.copy(),
        leaders=np.empty(objectives, np.int64),
        pairs=empty,
        open=np.ones(objectives, np.int64) if wanted is None else np.array(wanted, np.int64),
    )
    renew(seen)
    return seen


_MODELS: dict[type[Family], int] = {
    Gaussian: NORMAL,
    SubGaussian: NORMAL,
    UnknownVariance: STUDENT,
    Bernoulli: UNIT,
    Bounded: UNIT,
}


def _rewards(problem: Problem) -> Rewards | KnownNoise:
    """Describe the objectives to the kernels; ranges are oriented as the rewards are."""
    models, lows, widths = [], [], []
    for objective in problem.objectives:
        low, high = objective.family.range
        bounded = np.isfinite(high - low)
        models.append(_MODELS[type(objective.family)])
        lows.append((low if objective.sign > 0 else -high) if bounded else 0.0)
        widths.append(high - low if bounded else 1.0)
    ranges = np.array(lows), np.array(widths), np.array(problem.eps)
    if all(model == NORMAL for model in models):
        return KnownNoise(*ranges)
    return Rewards(np.array(models, np.int64), *ranges)


def _turned(table: npt.NDArray[Any]) -> FloatArray:
    """Give a private copy, objective by arm."""
    return np.array(table.T, np.float64, order="C")
