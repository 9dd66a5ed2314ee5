"""One trajectory answers every delta: the records that the evidence has set so far.

A decision at delta falls at the first time when the evidence exceeds the level of delta. Levels do not change over
time, so only the records matter: each time the evidence rises above everything before it, a record is added, and the
first crossing of any level is the lowest record above it.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from mobai.problem import FloatArray, IntArray
from mobai.rules.stopping.base import Decision


class EvidenceRecords:
    """The records of each objective's evidence, or of the weakest objective's when all are decided together.

    Parameters
    ----------
    objectives
        How many objectives there are.
    sticky
        Whether objectives are decided one by one.
    level
        The only level that will be asked for: then only the first record above it is kept. None if any may be.

    Attributes
    ----------
    bars
        What the evidence of each line must exceed to be a record: one line per objective, or one for all.
    """

    def __init__(self, objectives: int, *, sticky: bool, level: float | None = None) -> None:
        self._objectives, self._sticky, self._level = objectives, sticky, level
        lines = objectives if sticky else 1
        # Levels are positive, so evidence below zero sets no record.
        self.bars: FloatArray = np.full(lines, 0.0 if level is None else level)
        self._evidence: list[list[float]] = [[] for _ in range(lines)]
        self._decisions: list[list[tuple[Decision, ...]]] = [[] for _ in range(lines)]

    def add(self, line: int, evidence: float, leaders: IntArray, pull: int, at: float | None = None) -> None:
        """Enter a record: evidence above the line's bar."""
        decided = leaders[line : line + 1] if self._sticky else leaders
        self._evidence[line].append(evidence)
        self._decisions[line].append(tuple(Decision(arm, pull, at) for arm in decided.tolist()))
        self.bars[line] = evidence if self._level is None else np.inf

    def decisions(self, level: float) -> tuple[Decision | None, ...]:
        """Return each objective's first crossing of the level, or None."""
        found: list[Decision | None] = []
        for m in range(self._objectives):
            line, place = (m, 0) if self._sticky else (0, m)
            record = bisect_right(self._evidence[line], level)
            crossed = record < len(self._evidence[line])
            found.append(self._decisions[line][record][place] if crossed else None)
        return tuple(found)

    def forget(self, line: int) -> None:
        """Forget a line's records."""
        self._evidence[line], self._decisions[line] = [], []
        self.bars[line] = 0.0 if self._level is None else self._level

    def restore(self, line: int, decision: Decision) -> None:
        """Enter a decision made earlier at the only level."""
        assert self._level is not None
        self._evidence[line], self._decisions[line] = [np.inf], [(decision,)]
        self.bars[line] = np.inf
