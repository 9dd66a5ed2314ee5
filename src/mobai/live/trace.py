"""How an experiment went: at most some hundred points of evidence, counts, means and intervals.

A point is kept whenever the pulls have grown by a sixteenth: every one at first, some 190 in a million; where there are
very many arms and metrics, by a quarter. So the points are a function of the journal, and cost next to nothing however
long it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.engine.engine import Engine
from mobai.problem import FloatArray, IntArray, Problem

_GROWTH, _GROWTH_IF_WIDE = 16, 4
_WIDE = 5_000  # arms times metrics
_TABLES = ("means", "lower", "upper")
_COUNTS = ("asked", "rewards")


@dataclass(frozen=True, eq=False)
class Series:
    """How an experiment went, point by point.

    Attributes
    ----------
    problem
        The arms and metrics, as they are now.
    pulls, at
        After how many answered pulls, and when (Unix time). Shape (n,).
    evidence
        Of every objective, in nats. Shape (n, M).
    threshold
        What delta demands, in nats.
    asked
        How often each arm had been asked for. Shape (n, K).
    rewards
        How many rewards there were of every arm and metric. Shape (n, K, metrics).
    means, lower, upper
        Of every arm and metric, with the ends of their intervals; NaN where nothing was known. Shape (n, K, metrics).
    """

    problem: Problem
    pulls: IntArray
    at: FloatArray
    evidence: FloatArray
    threshold: float
    asked: IntArray
    rewards: IntArray
    means: FloatArray
    lower: FloatArray
    upper: FloatArray

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.pulls)


class Trace:
    """The points kept so far."""

    def __init__(self) -> None:
        self._points: list[dict[str, npt.NDArray[Any]]] = []
        self.next = 1  # after how many pulls

    def note(self, engine: Engine, at: float) -> None:
        """Keep a point, if it is time for one."""
        if engine.told >= self.next:
            self.next = _after(engine.told, engine.problem)
            self._points.append(_point(engine, at))

    def series(self, problem: Problem, threshold: float) -> Series:
        """Return all points; arms that came later have NaN before."""
        arms, metrics = problem.shape[0], len(problem.metrics)
        arrays = self.arrays(arms) or {
            "pulls": np.zeros(0, np.intp),
            "at": np.zeros(0),
            "evidence": np.zeros((0, problem.shape[1])),
            "asked": np.zeros((0, arms), np.intp),
            "rewards": np.zeros((0, arms, metrics), np.intp),
            **{name: np.zeros((0, arms, metrics)) for name in _TABLES},
        }
        return Series(problem=problem, threshold=threshold, **arrays)

    def arrays(self, arms: int) -> dict[str, npt.NDArray[Any]]:
        """Return all points as arrays, with room for a number of arms."""
        if not self._points:
            return {}
        found = {}
        for name in self._points[0]:
            rows = [point[name] for point in self._points]
            if name in (*_TABLES, *_COUNTS):
                rows = [_padded(row, arms) for row in rows]
            found[name] = np.array(rows)
        return found

    def restore(self, arrays: dict[str, npt.NDArray[Any]], told: int, problem: Problem) -> None:
        """Take over what :meth:`arrays` returned, given how many pulls there are, and of which problem."""
        count = len(arrays.get("pulls", ()))
        if any(len(array) != count for array in arrays.values()):
            raise ValueError("trace: not arrays of the same length")
        self._points = [{name: array[n] for name, array in arrays.items()} for n in range(count)]
        last = int(arrays["pulls"][-1]) if count else 0
        self.next = _after(last, problem) if count else 1
        if last > told:
            raise ValueError("trace: it goes further than the pulls")


def _after(told: int, problem: Problem) -> int:
    """Return after how many pulls the next point is kept."""
    wide = problem.shape[0] * len(problem.metrics) > _WIDE
    return told + max(told // (_GROWTH_IF_WIDE if wide else _GROWTH), 1)


def _point(engine: Engine, at: float) -> dict[str, npt.NDArray[Any]]:
    intervals, observations = engine.plain_intervals(), engine.observations
    with np.errstate(invalid="ignore"):
        means = np.where(observations.pulls > 0, observations.means * engine.problem.signs + 0.0, np.nan)
    return {
        "pulls": np.array(engine.told),
        "at": np.array(at),
        "evidence": engine.evidence(),
        "asked": observations.asked,
        "rewards": observations.pulls,
        "means": means,
        "lower": intervals.lower,
        "upper": intervals.upper,
    }


def _padded(row: npt.NDArray[Any], arms: int) -> npt.NDArray[Any]:
    """Return a table with rows for arms that were not there yet: NaN, or never asked for."""
    missing = arms - len(row)
    if missing == 0:
        return row
    filler = 0 if row.dtype.kind == "i" else np.nan
    return np.concatenate([row, np.full((missing, *row.shape[1:]), filler, row.dtype)])
