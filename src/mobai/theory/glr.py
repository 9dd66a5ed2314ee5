"""The generalised likelihood ratio statistic: how strongly the data separate each leader from its rivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem import FloatArray, IntArray, Problem
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
            "means", f"must be a K x M table and pulls K numbers or a K x M table, not {table.shape} and {counts.shape}"
        )
    if (counts < 0).any():
        raise InputError("pulls", "must not be negative")
    counts = counts[:, None] if counts.ndim == 1 else counts
    noise = Problem(table.shape[0], table.shape[1], 1.0 if sd is None else sd).sd
    return pair_statistics(table, np.broadcast_to(counts, table.shape), noise)


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
