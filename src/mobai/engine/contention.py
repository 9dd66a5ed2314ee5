"""Who may still be best in an objective, and by how much those left can differ. Proofs: docs/guarantee.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence import contention as kernels
from mobai.kernels.evidence.scores import Scoring
from mobai.problem import FloatArray, Problem
from mobai.rules.stopping import Decision
from mobai.theory.intervals import Intervals
from mobai.theory.observations import Observations

# How many arms are compared pair by pair; of more, their intervals are.
_MOST_COMPARED = 6


class Contention(NamedTuple):
    """Who may still be best in an objective.

    With probability at least 1 - delta, for all objectives and at all times together, a best arm is among those
    ``left``, and not among those that are ``out``. The best mean is above the recommended arm's by at most ``within``,
    and above that of any arm left by at most ``apart``: in the objective's own units, None where nothing is known.
    """

    objective: str
    left: tuple[str, ...]
    out: tuple[str, ...]
    within: float | None
    apart: float | None

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**self._asdict(), "left": list(self.left), "out": list(self.out)}

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Contention:
        """Return what :meth:`json` made plain data of."""
        return cls(row["objective"], tuple(row["left"]), tuple(row["out"]), row["within"], row["apart"])


class Contest(NamedTuple):
    """What is known when somebody asks who may still be best: ``least`` rewards rule out rare extremes."""

    problem: Problem
    observations: Observations
    scoring: Scoring
    level: float
    least: float
    intervals: Intervals
    decisions: Sequence[Decision | None]

    def contention(self) -> tuple[Contention, ...]:
        """Return, per objective, who may still be best."""
        self.observations.refresh()
        return tuple(map(self._of, range(self.problem.shape[1])))

    def _of(self, m: int) -> Contention:
        objective, active, decision = self.problem.objectives[m], self.observations.active, self.decisions[m]
        out = self._out(m)
        if decision is not None and objective.eps == 0 and not self.problem.guardrails:
            # It was decided among all of them. With limits, it may keep them only within their tolerance.
            out = np.arange(len(active)) != decision.arm
        left = np.flatnonzero(active & ~out)
        best = int(self.observations.arrays.leaders[m]) if decision is None else decision.arm
        within, apart = self._differences(m, left, best)
        low, high = objective.family.range
        return Contention(
            objective.name,
            tuple(self.problem.arms[i] for i in left.tolist()),
            tuple(self.problem.arms[i] for i in np.flatnonzero(active & out).tolist()),
            _known(within if decision is None else min(within, objective.eps), high - low),
            _known(apart, high - low),
        )

    def _out(self, m: int) -> npt.NDArray[np.bool_]:
        """Return which arms are out of an objective as the evidence stands."""
        out = np.zeros(self.problem.shape[0], np.int64)
        least = float(self.least) if self.problem.objectives[m].family.hides_extremes else 0.0
        kernels.find_out(self.scoring, self.observations.arrays, self.level, least, m, out)
        return out > 0

    def _differences(self, m: int, left: npt.NDArray[np.intp], best: int) -> tuple[float, float]:
        """Return by how much the best mean can be above that of one arm, and above that of any arm left."""
        if best < 0 or not len(left):
            return math.inf, math.inf
        arms = left if best in left else np.append(left, best)  # an arm decided on within eps may be out by now
        table = _leads_by_intervals(self.problem.signs[m], self.intervals, m, arms)
        if 1 < len(arms) <= _MOST_COMPARED:
            pairs = np.empty((len(arms), len(arms)))
            kernels.bound_leads(self.scoring, self.observations.arrays, self.level, m, arms.astype(np.int64), pairs)
            table = np.minimum(table, pairs)
        most = np.maximum(table[:, : len(left)], 0.0).max(axis=1)
        return float(most[np.flatnonzero(arms == best)[0]]), float(most[: len(left)].max())


def _leads_by_intervals(sign: float, intervals: Intervals, m: int, left: npt.NDArray[np.intp]) -> FloatArray:
    """Return by how much each arm (column) can be above another (row), by their intervals."""
    lower, upper = intervals.lower[left, m], intervals.upper[left, m]
    if sign < 0:
        lower, upper = -upper, -lower
    table: FloatArray = upper[None, :] - lower[:, None]
    np.fill_diagonal(table, 0.0)
    return table


def _known(difference: float, width: float) -> float | None:
    """Return a difference, no larger than the range is wide; None if it is not known."""
    found = min(difference, width)
    return found if math.isfinite(found) else None
