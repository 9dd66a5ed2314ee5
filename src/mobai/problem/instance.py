"""A problem together with its true means: what a simulation knows and an experimenter looks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError, TieError
from mobai.problem.objective import Objective
from mobai.problem.problem import FloatArray, IntArray, Problem, frozen, noise_table, numbers, read_objectives


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
    ) -> None:
        table = numbers(means, "means")
        if table.ndim != 2:
            raise InputError(f"means must be a table of arms by objectives, not an array of shape {table.shape}")
        names = table.shape[0] if arms is None else arms
        metrics = read_objectives(table.shape[1] if objectives is None else objectives)
        self.problem = Problem(names, metrics, _unit_noise(metrics) if sd is None else sd)
        if self.problem.shape != table.shape:
            raise InputError(
                f"means has {table.shape[0]} rows and {table.shape[1]} columns, "
                f"but there are {self.problem.shape[0]} arms and {self.problem.shape[1]} objectives"
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
    def oriented_means(self) -> FloatArray:
        """The means with minimised objectives negated, so that more is better everywhere."""
        return frozen(self.means * self.problem.signs)

    @cached_property
    def best_arms(self) -> IntArray:
        """The best arm of every objective (the first of them in a tie)."""
        best: IntArray = self.oriented_means.argmax(axis=0)
        return best

    @cached_property
    def gaps(self) -> FloatArray:
        """How far each arm is behind the best one, per objective: never negative, zero for the best."""
        return frozen(self.oriented_means.max(axis=0) - self.oriented_means)

    @cached_property
    def right_arms(self) -> npt.NDArray[np.bool_]:
        """Which arms are right answers, per objective: those within eps of the best. Shape (K, M)."""
        right: npt.NDArray[np.bool_] = self.gaps <= self.problem.eps * (1 + 1e-9)
        return right

    @cached_property
    def pareto_arms(self) -> IntArray:
        """The Pareto-optimal arms: against each other arm, strictly better in some objective (the paper's definition).

        Examples
        --------
        >>> Instance([[1, 0], [0, 1], [0.6, 0.6], [0.5, 0.5]]).pareto_arms
        array([0, 1, 2])
        """
        means = self.oriented_means
        beats_some = [(row > means).any(axis=1).sum() == len(means) - 1 for row in means]
        return np.flatnonzero(beats_some)

    def check_unique_best(self) -> None:
        """Raise :class:`TieError` naming the first objective whose best mean is shared, unless its eps allows it."""
        tied = ((self.gaps == 0).sum(axis=0) > 1) & (self.problem.eps == 0)
        if tied.any():
            m = int(tied.argmax())
            names = ", ".join(repr(self.arms[i]) for i in np.flatnonzero(self.gaps[:, m] == 0))
            raise TieError(
                f"objective {self.objectives[m].name!r} has no single best arm: {names} are tied, "
                "and no number of samples can separate them (say with eps which differences do not matter)"
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
        return f"Instance({len(self.arms)} arms, objectives={[str(o) for o in self.objectives]})"


def _unit_noise(objectives: Sequence[Objective]) -> FloatArray:
    """Return a standard deviation of 1 for every objective that must state one and does not; NaN for the others."""
    families = [objective.family for objective in objectives]
    return np.array([1.0 if family.known_noise and family.scale is None else np.nan for family in families])


def _true_noise(problem: Problem, means: FloatArray, sd: npt.ArrayLike | None) -> FloatArray:
    """Return the standard deviation of every reward: known, stated, or what the family makes of the mean."""
    table = noise_table(sd, problem.shape)
    if np.ndim(sd if sd is not None else 0) == 0:
        # One number for all counts only where it can be chosen.
        table[:, [objective.family.noise_follows_mean for objective in problem.objectives]] = np.nan
    for m, objective in enumerate(problem.objectives):
        known = not np.isnan(problem.sd[:, m]).any()
        stated = problem.sd[:, m] if known else table[:, m]
        table[:, m] = stated if known else objective.family.true_noise(objective.name, means[:, m], stated)
    return table
