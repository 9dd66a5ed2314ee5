"""A problem together with its true means: what a simulation knows and an experimenter looks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError, TieError
from mobai.problem.objective import Objective
from mobai.problem.problem import FloatArray, IntArray, Problem, frozen, numbers


class Instance:
    """K arms with known means in M objectives.

    Parameters
    ----------
    means
        The true means, a K x M table.
    sd
        The standard deviation of the rewards: one number, M numbers or a K x M table.
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
        sd: npt.ArrayLike = 1.0,
        arms: Sequence[str] | None = None,
        objectives: Sequence[Objective | str] | None = None,
    ) -> None:
        table = numbers(means, "means")
        if table.ndim != 2:
            raise InputError(f"means must be a table of arms by objectives, not an array of shape {table.shape}")
        names = table.shape[0] if arms is None else arms
        metrics = table.shape[1] if objectives is None else objectives
        self.problem = Problem(names, metrics, sd)
        if self.problem.shape != table.shape:
            raise InputError(
                f"means has {table.shape[0]} rows and {table.shape[1]} columns, "
                f"but there are {self.problem.shape[0]} arms and {self.problem.shape[1]} objectives"
            )
        self.means = frozen(table)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self.problem.arms

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives with their directions."""
        return self.problem.objectives

    @property
    def sd(self) -> FloatArray:
        """The standard deviations, always K x M."""
        return self.problem.sd

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
    def pareto_arms(self) -> IntArray:
        """The arms that beat every other arm in at least one objective (the paper's definition).

        Examples
        --------
        >>> Instance([[1, 0], [0, 1], [0.6, 0.6], [0.5, 0.5]]).pareto_arms
        array([0, 1, 2])
        """
        means = self.oriented_means
        beats_some = [(row > means).any(axis=1).sum() == len(means) - 1 for row in means]
        return np.flatnonzero(beats_some)

    def check_unique_best(self) -> None:
        """Raise :class:`TieError` naming the first objective whose best mean is shared."""
        tied = (self.gaps == 0).sum(axis=0) > 1
        if tied.any():
            m = int(tied.argmax())
            names = ", ".join(repr(self.arms[i]) for i in np.flatnonzero(self.gaps[:, m] == 0))
            raise TieError(
                f"objective {self.objectives[m].name!r} has no single best arm: {names} are tied, "
                "and no number of samples can separate them"
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
        return self.problem == other.problem and np.array_equal(self.means, other.means)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Say the size and what is being looked for."""
        return f"Instance({len(self.arms)} arms, objectives={[str(o) for o in self.objectives]})"
