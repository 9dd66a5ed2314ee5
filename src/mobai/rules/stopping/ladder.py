"""One trajectory answers every delta: the ladder of records that the evidence has set so far.

A decision at delta falls at the first time when the evidence exceeds the level of delta. Levels do not change over
time, so only the records matter: each time the evidence rises above everything before it, a rung is added, and the
first crossing of any level is the lowest rung above it.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from mobai.problem import FloatArray, IntArray
from mobai.rules.stopping.base import Decision


class Ladder:
    """The records of each objective's evidence, or of the weakest objective's when all are decided together."""

    def __init__(self, objectives: int, *, sticky: bool) -> None:
        self._sticky = sticky
        self._heights: list[list[float]] = [[] for _ in range(objectives if sticky else 1)]
        self._rungs: list[list[tuple[int, IntArray]]] = [[] for _ in self._heights]
        self._objectives = objectives

    def climb(self, pull: int, evidence: FloatArray, leaders: IntArray) -> None:
        """Look at the evidence after a pull. Levels are positive, so evidence below zero sets no record."""
        heights = evidence if self._sticky else np.array([evidence.min()])
        for record, rungs, height in zip(self._heights, self._rungs, heights.tolist(), strict=True):
            if height > (record[-1] if record else 0.0):
                record.append(height)
                rungs.append((pull, leaders))

    def decisions(self, level: float) -> tuple[Decision | None, ...]:
        """Give each objective's first crossing of the level, or None."""
        found: list[Decision | None] = []
        for m in range(self._objectives):
            line = m if self._sticky else 0
            rung = bisect_right(self._heights[line], level)
            if rung == len(self._heights[line]):
                found.append(None)
            else:
                pull, leaders = self._rungs[line][rung]
                found.append(Decision(int(leaders[m]), pull))
        return tuple(found)
