"""What an experimenter knows before the first sample: the arms, the objectives and the noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem.objective import Objective, is_name

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Beyond these, squares of standardised gaps would leave the range of floating point numbers.
_LARGEST = 1e100
_SD_RANGE = (1e-50, 1e50)


class Problem:
    """The arms, the objectives and the known noise: everything but the means.

    Parameters
    ----------
    arms
        The names of the arms, or just how many there are.
    objectives
        :class:`Objective` values, names (``"clicks"``, ``"latency:min"``), or just how many there are.
    sd
        The known standard deviation of the rewards: one number, one per objective, or one per arm and objective.

    Examples
    --------
    >>> problem = Problem(arms=["A", "B"], objectives=["clicks", "latency:min"], sd=[1.0, 20.0])
    >>> problem.shape
    (2, 2)
    >>> problem.sd
    array([[ 1., 20.],
           [ 1., 20.]])
    """

    def __init__(
        self,
        arms: Sequence[str] | int,
        objectives: Sequence[Objective | str] | int,
        sd: npt.ArrayLike = 1.0,
    ) -> None:
        self.arms = _arm_names(arms)
        self.objectives = _objectives(objectives)
        self.sd = _noise(sd, self.shape)
        self.signs = frozen(np.array([objective.sign for objective in self.objectives]))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of arms and the number of objectives."""
        return len(self.arms), len(self.objectives)

    @property
    def objective_names(self) -> tuple[str, ...]:
        """The names of the objectives, without their directions."""
        return tuple(objective.name for objective in self.objectives)

    def arm_index(self, arm: int) -> int:
        """Check that ``arm`` is the index of an arm, and give it as a plain int."""
        if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < len(self.arms):
            raise InputError(f"arm must be an integer from 0 to {len(self.arms) - 1}, not {arm!r}")
        return int(arm)

    def __eq__(self, other: object) -> bool:
        """Two problems are equal when everything known about them is."""
        if not isinstance(other, Problem):
            return NotImplemented
        same_names = (self.arms, self.objectives) == (other.arms, other.objectives)
        return same_names and np.array_equal(self.sd, other.sd)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Name the arms and objectives; the noise is an array and stays out."""
        return f"Problem(arms={list(self.arms)}, objectives={[str(o) for o in self.objectives]})"


def frozen(array: FloatArray) -> FloatArray:
    """Give a private, read-only copy, so that shared objects cannot change under their users."""
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def numbers(value: npt.ArrayLike, name: str) -> FloatArray:
    """Convert to floats or say which argument is not made of finite numbers (of a size whose squares are finite)."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers in a rectangular table") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite numbers: found NaN or infinity")
    if (np.abs(array) > _LARGEST).any():
        raise InputError(f"{name} must be between -{_LARGEST:g} and {_LARGEST:g}")
    return array


def _arm_names(arms: Sequence[str] | int) -> tuple[str, ...]:
    names = tuple(f"arm {i}" for i in range(arms)) if isinstance(arms, int | np.integer) else _sequence(arms, "arms")
    if len(names) < 2:
        raise InputError(f"arms: at least two are needed to look for a best one, not {len(names)}")
    _check_distinct(names, "arms")
    return names


def _objectives(objectives: Sequence[Objective | str] | int) -> tuple[Objective, ...]:
    if isinstance(objectives, int | np.integer):
        return _objectives([f"objective {m}" for m in range(objectives)])
    given = _sequence(objectives, "objectives")
    if not all(isinstance(o, Objective | str) for o in given):
        raise InputError("objectives must be names or Objective values")
    parsed = tuple(o if isinstance(o, Objective) else Objective.parse(o) for o in given)
    if not parsed:
        raise InputError("objectives: at least one is needed")
    _check_distinct(tuple(o.name for o in parsed), "objectives")
    return parsed


def _sequence(values: Sequence[Any], what: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{what} must be a list of names, or how many there are, not {values!r}")
    return tuple(values)


def _check_distinct(names: tuple[str, ...], what: str) -> None:
    if not all(is_name(name) for name in names):
        raise InputError(f"{what}: every name must be a non-empty string of printable characters, no space at its ends")
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(f"{what}: names must be distinct, found {repeated[0]!r} more than once")


def _noise(sd: npt.ArrayLike, shape: tuple[int, int]) -> FloatArray:
    array = numbers(sd, "sd")
    if array.shape not in ((), (shape[1],), shape):
        raise InputError(
            f"sd must be one number, {shape[1]} numbers (one per objective) or a {shape[0]} x {shape[1]} table, "
            f"not of shape {array.shape}"
        )
    if not ((array >= _SD_RANGE[0]) & (array <= _SD_RANGE[1])).all():
        raise InputError(f"sd must be positive, between {_SD_RANGE[0]:g} and {_SD_RANGE[1]:g}")
    return frozen(np.broadcast_to(array, shape))
