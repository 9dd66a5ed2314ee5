"""A problem together with its true means: what a simulation knows and an experimenter looks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError, TieError
from mobai.problem.costs import costs_of
from mobai.problem.guardrail import NOBODY, Guardrail
from mobai.problem.objective import Objective
from mobai.problem.problem import (
    FloatArray,
    IntArray,
    Problem,
    frozen,
    metrics_of,
    noise_table,
    numbers,
    read_objectives,
)


class Instance:
    """K arms with known means in M objectives.

    Parameters
    ----------
    means
        The true means, a K x M table.
    sd
        The standard deviation of the rewards: one number, M numbers or a K x M table. Left out (or NaN) it is 1,
        ``sqrt(p (1 - p))`` for Bernoulli objectives of mean p, and the largest possible one for bounded objectives.
    arms, objectives
        Names; objectives may carry a direction (``"latency:min"`` or an :class:`Objective`).
    guardrails, baseline
        As for :class:`Problem`. The means of metrics that are guardrails only follow those of the objectives.
    costs, cost_metric, cost_unit
        What a sample of each arm costs: by arm, or the metric whose mean it is; and the unit.

    Examples
    --------
    >>> ads = Instance([[0.3, 80], [0.5, 95]], sd=[1, 20], arms=["A", "B"], objectives=["ctr", "latency:min"])
    >>> ads.best_arms
    array([1, 0])
    >>> ads.gaps
    array([[ 0.2,  0. ],
           [ 0. , 15. ]])
    """

    def __init__(
        self,
        means: npt.ArrayLike,
        sd: npt.ArrayLike | None = None,
        arms: Sequence[str] | None = None,
        objectives: Sequence[Objective | str] | None = None,
        *,
        guardrails: Sequence[Guardrail | str] = (),
        baseline: str | None = None,
        costs: Mapping[str, float] | Sequence[float] | None = None,
        cost_metric: str | None = None,
        cost_unit: str | None = None,
    ) -> None:
        table = numbers(means, "means")
        if table.ndim != 2:
            raise InputError("means", f"must be a table of arms by objectives, not an array of shape {table.shape}")
        names = table.shape[0] if arms is None else arms
        goals = read_objectives(table.shape[1] if objectives is None else objectives)
        self.problem = instance_problem(names, goals, sd, guardrails, baseline)
        paid = costs_of(self.problem.arms, costs, cost_metric, cost_unit)
        if paid is not None:
            self.problem = self.problem.costing(paid)
        if (len(self.problem.arms), len(self.problem.metrics)) != table.shape:
            what = "metrics, guardrails included" if guardrails else "objectives"
            raise InputError(
                f"means has {table.shape[0]} rows and {table.shape[1]} columns, "
                f"but there are {self.problem.shape[0]} arms and {len(self.problem.metrics)} {what}"
            )
        self.means = frozen(table)
        self.sd = frozen(_true_noise(self.problem, table, sd))

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self.problem.arms

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives with their directions."""
        return self.problem.objectives

    @property
    def shape(self) -> tuple[int, int]:
        """The number of arms and the number of objectives."""
        return self.problem.shape

    @cached_property
    def costs(self) -> FloatArray | None:
        """What a sample of each arm costs; None where all cost the same. Shape (K,)."""
        costs = self.problem.costs
        if costs is None:
            return None
        if costs.by_arm is not None:
            return frozen(np.array(costs.by_arm))
        found = self.means[:, self.problem.metric_names.index(str(costs.metric))]
        if not (found > 0).all():
            raise InputError("cost_metric", "must have means above 0", metric=costs.metric)
        return frozen(found)

    @cached_property
    def oriented_means(self) -> FloatArray:
        """The means with minimised objectives negated, so that more is better everywhere."""
        return frozen(self.means * self.problem.signs)

    def keeping_limits(self, tolerated: bool = False) -> npt.NDArray[np.bool_]:
        """Return which arms keep each limit, or are beyond it by no more than its tolerance. Shape (K, guardrails)."""
        found = np.ones((len(self.arms), len(self.problem.guardrails)), np.bool_)
        for c, guardrail in enumerate(self.problem.guardrails):
            column = self.means[:, self.problem.metric_names.index(guardrail.metric)]
            base = 0.0 if guardrail.of is None else column[self.arms.index(guardrail.of)]
            eps = guardrail.eps if tolerated else 0.0
            found[:, c] = [guardrail.keeps(mean, base, eps) for mean in column.tolist()]
            if guardrail.of is not None:
                found[self.arms.index(guardrail.of), c] = True
        return found

    @cached_property
    def _qualified(self) -> FloatArray:
        """The oriented means of the objectives, minus infinity for arms that break a limit. Shape (K, M)."""
        keeps = np.where(self.keeping_limits().all(axis=1, keepdims=True), 0.0, -np.inf)
        return self.oriented_means[:, : self.shape[1]] + keeps

    @cached_property
    def best_arms(self) -> IntArray:
        """The best arm of every objective, of those that keep every limit (the first of them in a tie); -2 if none."""
        best: IntArray = self._qualified.argmax(axis=0)
        return best if np.isfinite(self._qualified).any() else np.full_like(best, NOBODY)

    @cached_property
    def gaps(self) -> FloatArray:
        """How far each arm is behind the best one, per objective: zero for the best. Shape (K, M).

        Negative only for arms that break a limit, and infinite if every arm does.
        """
        best = self._qualified.max(axis=0)
        return frozen(np.where(np.isfinite(best), best, np.inf) - self.oriented_means[:, : self.shape[1]])

    @cached_property
    def right_arms(self) -> npt.NDArray[np.bool_]:
        """Which arms are right answers, per objective: within eps of the best, and beyond no limit by its tolerance.

        Shape (K, M).
        """
        close = self.gaps <= self.problem.eps[: self.shape[1]] * (1 + 1e-9)
        right: npt.NDArray[np.bool_] = close & self.keeping_limits(tolerated=True).all(axis=1, keepdims=True)
        return right

    def is_right(self, arm: int, m: int) -> bool:
        """Whether an arm is a right answer for an objective; ``NOBODY`` is if no arm keeps every limit."""
        return bool((self.best_arms < 0).all() if arm == NOBODY else self.right_arms[arm, m])

    @cached_property
    def pareto_arms(self) -> IntArray:
        """The Pareto-optimal arms: against each other arm, strictly better in some objective (the paper's definition).

        Examples
        --------
        >>> Instance([[1, 0], [0, 1], [0.6, 0.6], [0.5, 0.5]]).pareto_arms
        array([0, 1, 2])
        """
        means = self.oriented_means[:, : self.shape[1]]
        beats_some = [(row > means).any(axis=1).sum() == len(means) - 1 for row in means]
        return np.flatnonzero(beats_some)

    def check_unique_best(self) -> None:
        """Raise :class:`TieError` naming the first objective whose best mean is shared, unless its eps allows it."""
        if (self.best_arms < 0).any():
            raise TieError("guardrails", "no arm keeps every limit, and there is no best one")
        tied = ((self.gaps == 0).sum(axis=0) > 1) & (self.problem.eps[: self.shape[1]] == 0)
        if tied.any():
            m = int(tied.argmax())
            names = ", ".join(repr(self.arms[i]) for i in np.flatnonzero(self.gaps[:, m] == 0))
            raise TieError(
                None,
                f"has no single best arm: {names} are tied, "
                "and no number of samples can separate them (say with eps which differences do not matter)",
                metric=self.objectives[m].name,
            )

    @classmethod
    def load(cls, path: str | Path) -> Instance:
        """Read an instance from a ``.csv`` or ``.json`` file (see :mod:`mobai.problem.files`)."""
        from mobai.problem import files

        return files.load(Path(path))

    def save(self, path: str | Path) -> None:
        """Write the instance, with its names and noise, to a ``.csv`` or ``.json`` file."""
        from mobai.problem import files

        files.save(self, Path(path))

    def __eq__(self, other: object) -> bool:
        """Two instances are equal when their problems and means are."""
        if not isinstance(other, Instance):
            return NotImplemented
        same_truth = np.array_equal(self.means, other.means) and np.array_equal(self.sd, other.sd)
        return self.problem == other.problem and same_truth

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Say the size and what is being looked for."""
        limits = f", guardrails={[str(one) for one in self.problem.guardrails]}" if self.problem.guardrails else ""
        return f"Instance({len(self.arms)} arms, objectives={[str(o) for o in self.objectives]}{limits})"


def _unit_noise(objectives: Sequence[Objective]) -> FloatArray:
    """Return a standard deviation of 1 for every objective that must state one and does not; NaN for the others."""
    families = [objective.family for objective in objectives]
    return np.array([1.0 if family.known_noise and family.scale is None else np.nan for family in families])


def instance_problem(
    arms: Sequence[str] | int,
    objectives: Sequence[Objective],
    sd: npt.ArrayLike | None,
    guardrails: Sequence[Guardrail | str],
    baseline: str | None,
) -> Problem:
    """Return the problem of an instance; known noise that nobody states is 1."""
    limits: dict[str, Any] = {"guardrails": guardrails, "baseline": baseline}
    if sd is not None:
        return Problem(arms, objectives, sd, **limits)
    return Problem(arms, objectives, _unit_noise(metrics_of(arms, objectives, guardrails)), **limits)


def _true_noise(problem: Problem, means: FloatArray, sd: npt.ArrayLike | None) -> FloatArray:
    """Return the standard deviation of every reward: known, stated, or what the family makes of the mean."""
    table = noise_table(sd, means.shape)
    if np.ndim(sd if sd is not None else 0) == 0:
        # One number for all counts only where it can be chosen.
        table[:, [objective.family.noise_follows_mean for objective in problem.metrics]] = np.nan
    for m, objective in enumerate(problem.metrics):
        known = not np.isnan(problem.sd[:, m]).any()
        stated = problem.sd[:, m] if known else table[:, m]
        table[:, m] = stated if known else objective.family.true_noise(objective.name, means[:, m], stated)
    return table
