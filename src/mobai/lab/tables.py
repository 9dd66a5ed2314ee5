"""Races over tables of results that are there: what would it have cost, and how often would it have been wrong?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.kernels.trials.race import race_on
from mobai.problem import Design, FloatArray, Guardrail, Objective, Problem
from mobai.problem.guardrail import NOBODY
from mobai.rules.stopping import Paired
from mobai.rules.stopping.comparison import Comparison
from mobai.seeds import stream
from mobai.theory.confidence import resolve_log_inv_delta


@dataclass(frozen=True, eq=False)
class TableInstance:
    """What every arm brings on every item: a table to race over again and again.

    Parameters
    ----------
    values
        By item, arm and metric, in the metrics' own units. Shape (N, K, metrics), without gaps.
    arms, objectives, guardrails
        As for :class:`mobai.Problem`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = 0.6 * rng.random((400, 1, 1)) + [[0.15], [0.2], [0.1]] + 0.1 * rng.random((400, 3, 1))
    >>> table = TableInstance(values, ["a", "b", "c"], ["score:bounded=0..1"])
    >>> table.best_arms, table.race(delta=0.05, trials=20).errors
    ((1,), 0)
    """

    values: FloatArray
    arms: Sequence[str]
    objectives: Sequence[Objective | str] | Mapping[str, str]
    guardrails: Sequence[Guardrail | str] = ()

    def __post_init__(self) -> None:
        """Check the table."""
        problem = self.problem(Design("stream"))
        values = np.asarray(self.values, np.float64)
        arms, metrics = problem.shape[0], len(problem.metrics)
        if values.ndim != 3 or values.shape[1:] != (arms, metrics) or not len(values) or not np.isfinite(values).all():
            raise InputError("values", f"must be a table of items by {arms} arms by {metrics} metrics, without gaps")
        for m, metric in enumerate(problem.metrics):
            if not problem.accepts_all(metric, values[:, :, m].ravel()):
                raise InputError("values", f"must be {metric.family.accepted}", metric=metric.name)
        object.__setattr__(self, "values", values)

    def problem(self, design: Design) -> Problem:
        """Return the problem that it is in a design."""
        return Problem(self.arms, self.objectives, guardrails=self.guardrails, design=design)

    @property
    def best_arms(self) -> tuple[int | None, ...]:
        """The best arm of every objective: that of the best mean, or the one that beats every other; None if none."""
        return tuple(next(iter(right), None) for right in self.right_arms())

    def right_arms(self) -> list[list[int]]:
        """Return, per objective, the arms that are right answers."""
        problem, found = self.problem(Design("stream")), []
        free, strictly = self._keep_limits(problem, tolerant=True), self._keep_limits(problem, tolerant=False)
        nobody = [] if strictly.any() else [NOBODY]
        for m, objective in enumerate(problem.objectives):
            values = self.values[:, :, m] * objective.sign
            if objective.family.counts_wins:
                ahead = values[:, :, None] - values[:, None, :]
                wins = (ahead > objective.eps).sum(axis=0) > (ahead < -objective.eps).sum(axis=0)
                beats_all = (wins | np.eye(len(wins), dtype=bool) | ~strictly).all(axis=1)
                found.append([*np.flatnonzero(beats_all & free).tolist(), *nobody])
                continue
            means = values.mean(axis=0)
            best = means[strictly].max(initial=-np.inf)
            close = free & (means >= best - objective.eps - 1e-12 * np.abs(means).max())
            found.append([*sorted(np.flatnonzero(close).tolist(), key=lambda i: -means[i]), *nobody])
        return found

    def _keep_limits(self, problem: Problem, *, tolerant: bool) -> npt.NDArray[np.bool_]:
        """Return which arms keep every limit, or are beyond it by no more than its tolerance. Shape (K,)."""
        found, means = np.ones(problem.shape[0], np.bool_), self.values.mean(axis=0)
        for one in problem.guardrails:
            m, base = problem.metric_names.index(one.metric), -1 if one.of is None else problem.arms.index(one.of)
            for i in range(len(found)):
                found[i] &= i == base or one.keeps(means[i, m], means[base, m], one.eps if tolerant else 0.0)
        return found

    def race(
        self,
        design: str = "items",
        *,
        delta: float = 0.05,
        trials: int = 100,
        seed: int = 0,
        rare: float | None = None,
    ) -> TableRaces:
        """Race over the items in random orders: as a finite benchmark (``items``), or as a ``stream`` of them.

        A stream is drawn from the table with replacement, for as long as it takes.
        """
        if design not in ("items", "stream"):
            raise InputError("design", f"must be items or stream, not {design!r}")
        if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
            raise InputError("trials", f"must be a whole number, 1 or more, not {trials!r}")
        x, right = resolve_log_inv_delta(delta), self.right_arms()
        outcomes = [self._trial(design, x, stream(seed, "table", design, trial), rare) for trial in range(trials)]
        made = np.array([outcome.made for outcome in outcomes])
        answers = np.array([outcome.answers for outcome in outcomes])
        return TableRaces(self, design, made, answers, right)

    def _trial(self, design: str, x: float, rng: np.random.Generator, rare: float | None) -> TableOutcome:
        size = len(self.values)
        problem = self.problem(Design("items", size) if design == "items" else Design("stream"))
        least = 0.0 if rare is None else np.ceil(x / rare)
        seen = Comparison(problem, Paired().level(problem, x), least)
        oriented = self.values * problem.signs
        order = rng.permutation(size)
        made = race_over(seen, oriented[order])
        while design == "stream" and seen.open_arms().any() and len(order) < _MOST_ITEMS:
            order = np.append(order, rng.integers(size, size=len(order)))
            made += race_over(seen, oriented[order], begin=len(order) // 2)
        return TableOutcome(made, tuple(-1 if one is None else one.arm for one in seen.decided))


_MOST_ITEMS = 1_000_000


class TableOutcome(NamedTuple):
    """How one race ended: measurements made, and the arm decided on per objective, -1 where it is open."""

    made: int
    answers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TableRaces:
    """Races over one table in many orders.

    Attributes
    ----------
    measurements
        How many measurements every race made. Shape (trials,).
    answers
        The arm decided on, -1 where it is open, -2 where no arm keeps every limit. Shape (trials, M).
    """

    table: TableInstance
    design: str
    measurements: npt.NDArray[np.intp]
    answers: npt.NDArray[np.intp]
    right: list[list[int]]

    @property
    def errors(self) -> int:
        """In how many races some objective was decided for an arm that is no right answer."""
        wrong = [[arm != -1 and arm not in self.right[m] for m, arm in enumerate(row)] for row in self.answers.tolist()]
        return int(np.any(wrong, axis=1).sum())

    @property
    def undecided(self) -> int:
        """In how many races some objective was left open."""
        return int((self.answers == -1).any(axis=1).sum())

    @property
    def whole(self) -> int:
        """How many measurements all arms on all items are."""
        return int(np.prod(self.table.values.shape[:2]))

    def __str__(self) -> str:
        """Say it in one line."""
        mean, count = self.measurements.mean(), len(self.measurements)
        return (
            f"{self.design}: {mean:,.0f} measurements on average in {count:,} races "
            f"(all arms on all items: {self.whole:,}), {self.errors} wrong, {self.undecided} undecided"
        )


def race_over(seen: Comparison, values: FloatArray, begin: int = 0) -> int:
    """Race over rows that are in their order; return how many measurements were made from one row on."""
    seen.fill(values)
    made, index = 0, begin
    while index < len(values):
        open_arms = seen.open_arms()
        if not open_arms.any():
            break
        flags, closed = open_arms.astype(np.uint8), seen.closed()
        after = race_on(*seen.arrays(), flags, closed, seen.level, index, len(values))
        made += (after - index) * int(open_arms.sum())
        index = after
        seen.settle(made)
    return made
