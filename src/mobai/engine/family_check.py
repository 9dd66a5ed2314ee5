"""Does the family that was stated visibly not hold? Then a verdict does not call itself certified.

Two things are looked for, neither of which a proof can see:

- Rewards of a continuous family that repeat. Rounding makes some of them equal: with a grid of width h and a standard
  deviation s, two rewards are equal with probability about h / (2 sqrt(pi) s). More repeats than that, or a grid wider
  than s, and the rewards are of another kind: clicks, ratings, times that are cut off, zeros for what is missing.
- Rewards that scatter far more than the standard deviation that was stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.kernels.repeats import RepeatArrays, count_repeats
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations

# How unlikely repeats or scatter must be before they count against a family, and how much sd must be exceeded.
_UNLIKELY_REPEATS = 1e-3
_UNLIKELY_SCATTER = 1e-6
_SD_EXCEEDED = 1.25


class FamilyCheck:
    """Follows the rewards of an experiment, and says where they contradict their family."""

    def __init__(self, problem: Problem) -> None:
        shape = problem.shape[::-1]
        self._found = RepeatArrays(np.full(shape, np.nan), np.zeros(shape), np.full(shape, np.inf))

    def tell_all(self, arms: Sequence[int], rewards: FloatArray) -> None:
        """Take in the rewards of several pulls, NaN where one is missing."""
        count_repeats(self._found, np.array(arms, np.int64), rewards)

    def add_arm(self) -> None:
        """Make room for one more arm."""
        last, repeats, step = (np.hstack([table, np.empty((len(table), 1))]) for table in self._found)
        last[:, -1], repeats[:, -1], step[:, -1] = np.nan, 0.0, np.inf
        self._found = RepeatArrays(last, repeats, step)

    def doubts(self, problem: Problem, observations: Observations) -> tuple[str | None, ...]:
        """Return, per objective, what speaks against its family and which one to use, or None."""
        return tuple(self._doubt(problem, observations, m) for m in range(problem.shape[1]))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything, in arrays."""
        return self._found._asdict()

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`state` returned; ValueError or KeyError if it cannot have."""
        arrays = RepeatArrays(*(state[name] for name in RepeatArrays._fields))
        for array in arrays:
            if array.dtype != np.float64 or array.shape[0] != self._found.last.shape[0]:
                raise ValueError("repeats: not tables of numbers")
        self._found = arrays

    def _doubt(self, problem: Problem, observations: Observations, m: int) -> str | None:
        family, arrays = problem.objectives[m].family, observations.arrays
        neighbours = np.maximum(arrays.counts[m] - 1, 0)
        pairs = float(neighbours.sum())
        if pairs == 0:
            return None
        if family.known_noise:
            excess = float((arrays.scatter[m] / problem.sd[:, m] ** 2).sum())
            if _too_large(excess, pairs):
                found = math.sqrt(excess / pairs)
                return (
                    f"rewards scatter {found:.3g} times as much as the sd stated; use unknown-variance or a larger sd"
                )
        repeats, step = self._found.repeats[m], float(self._found.step[m].min())
        sd = math.sqrt(float(arrays.scatter[m].sum()) / pairs)
        if family.continuous and repeats.any() and not _rounded(repeats, neighbours, step, sd):
            last = self._found.last[m]
            coins = step in (1.0, math.inf) and bool(np.isin(np.abs(last[~np.isnan(last)]), (0.0, 1.0)).all())
            share = f"{repeats.sum():,.0f} of {pairs:,.0f} rewards equal the one before"
            kind = "bernoulli" if coins else "bounded=LOW..HIGH"
            return f"{share}, which rounding does not explain; use {kind}"
        return None


def _too_large(excess: float, degrees: float) -> bool:
    """Whether a chi-square variable is far beyond what chance explains."""
    if excess <= _SD_EXCEEDED**2 * degrees:
        return False
    from scipy.special import chdtrc

    return bool(chdtrc(degrees, excess) < _UNLIKELY_SCATTER)


def _rounded(repeats: FloatArray, neighbours: FloatArray, step: float, sd: float) -> bool:
    """Whether rounding to a grid of width ``step`` explains the repeats among neighbours, of each arm and of all."""
    from scipy.special import bdtrc

    if not step <= sd:
        return False
    chance = step / (2 * math.sqrt(math.pi) * sd)
    found, pairs = (np.append(table, table.sum()).astype(np.int64) for table in (repeats, neighbours))
    tails = np.where(found > 0, bdtrc(np.maximum(found - 1, 0), np.maximum(pairs, 1), chance), 1.0)
    return bool(tails.min() * len(tails) >= _UNLIKELY_REPEATS)
