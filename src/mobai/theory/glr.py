"""The generalised likelihood ratio statistic: how strongly the data separate each leader from its rivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.kernels.evidence import renew, take_in
from mobai.kernels.seen import NORMAL, STUDENT, UNIT, KnownNoise, Rewards, Seen, Tables
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
    seen = lay_out(problem, tally)
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


def lay_out(problem: Problem, tally: Tally, *, waiting: bool = False) -> Seen:
    """Give what was seen, objective by arm; with ``waiting``, open asks count as if answered as the others were."""
    seen = _blank(problem)
    take_in(seen, tables_of(problem, tally), waiting)
    return seen


def tables_of(problem: Problem, tally: Tally) -> Tables:
    """Give what the kernels lay out."""
    return Tables(problem.sd, tally.asked, tally.answered, tally.pulls, tally.sums, tally.scatter, tally.open)


def see(problem: Problem, means: FloatArray, counts: npt.NDArray[np.number], scatter: FloatArray) -> Seen:
    """Lay tables of arms by objectives out for the kernels, and find leaders and statistics."""
    seen = _blank(problem)
    for place, table in (
        (seen.means, means),
        (seen.counts, counts),
        (seen.sums, means * counts),
        (seen.scatter, scatter),
        (seen.sd, problem.sd),
    ):
        place[:] = table.T
    seen.asked[:], seen.open[:] = 0, 1
    renew(seen)
    return seen


def _blank(problem: Problem) -> Seen:
    """Make room for what was seen."""
    arms, objectives = problem.shape
    counts, sums, means, scatter, sd, spread, pairs = np.empty((7, objectives, arms))
    asked, leaders, wanted = np.empty(arms, np.int64), np.empty(objectives, np.int64), np.empty(objectives, np.int64)
    return Seen(describe(problem), asked, counts, sums, means, scatter, sd, spread, leaders, pairs, wanted)


_MODELS: dict[type[Family], int] = {
    Gaussian: NORMAL,
    SubGaussian: NORMAL,
    UnknownVariance: STUDENT,
    Bernoulli: UNIT,
    Bounded: UNIT,
}


def describe(problem: Problem) -> Rewards | KnownNoise:
    """Describe the objectives to the kernels."""
    models = [_MODELS[type(objective.family)] for objective in problem.objectives]
    if any(model != NORMAL for model in models):
        return Rewards(np.array(models, np.int64), *problem.ranges, problem.eps)
    return KnownNoise(*problem.ranges, problem.eps)
