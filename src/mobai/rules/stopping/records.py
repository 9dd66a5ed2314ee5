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
    to_beat
        What the evidence of each group of objectives must exceed to be a record: a group per objective, or one of all.
    """

    def __init__(self, objectives: int, *, sticky: bool, level: float | None = None) -> None:
        self._objectives, self._sticky, self._level = objectives, sticky, level
        groups = objectives if sticky else 1
        # Levels are positive, so evidence below zero sets no record.
        self.to_beat: FloatArray = np.full(groups, 0.0 if level is None else level)
        self._evidence: list[list[float]] = [[] for _ in range(groups)]
        self._decisions: list[list[tuple[Decision, ...]]] = [[] for _ in range(groups)]

    def add(self, group: int, evidence: float, leaders: IntArray, pull: int, at: float | None = None) -> None:
        """Enter a record: evidence above the group's record."""
        decided = leaders[group : group + 1] if self._sticky else leaders
        self._evidence[group].append(evidence)
        self._decisions[group].append(tuple(Decision(arm, pull, at, evidence) for arm in decided.tolist()))
        self.to_beat[group] = evidence if self._level is None else np.inf

    def decisions(self, level: float) -> tuple[Decision | None, ...]:
        """Return each objective's first crossing of the level, or None."""
        found: list[Decision | None] = []
        for m in range(self._objectives):
            group, place = (m, 0) if self._sticky else (0, m)
            record = bisect_right(self._evidence[group], level)
            crossed = record < len(self._evidence[group])
            found.append(self._decisions[group][record][place] if crossed else None)
        return tuple(found)

    def forget(self, group: int) -> None:
        """Forget the records of a group."""
        self._evidence[group], self._decisions[group] = [], []
        self.to_beat[group] = 0.0 if self._level is None else self._level

    def restore(self, group: int, decision: Decision) -> None:
        """Enter a decision made earlier at the only level."""
        assert self._level is not None
        self._evidence[group], self._decisions[group] = [np.inf], [(decision,)]
        self.to_beat[group] = np.inf
