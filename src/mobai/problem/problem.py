"""What an experimenter knows before the first sample: the arms, the objectives and the noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem.family import choices_for
from mobai.problem.objective import Objective, is_name

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Beyond these, squares of standardised gaps would leave the range of floating point numbers.
_LARGEST = 1e100
_SD_RANGE = (1e-50, 1e50)


class Arm(int):
    """An arm of a problem: its index, and its name.

    Examples
    --------
    >>> arm = Problem(["A", "B"], 1, sd=1.0).arm("B")
    >>> print(arm, arm.name, arm + 0)
    B B 1
    """

    name: str

    def __new__(cls, index: int, name: str) -> Arm:
        """Return the arm of an index."""
        arm = super().__new__(cls, index)
        arm.name = name
        return arm

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    __format__ = object.__format__

    def __repr__(self) -> str:
        """Show both."""
        return f"Arm({int(self)}, {self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle both."""
        return Arm, (int(self), self.name)


class Problem:
    """The arms, the objectives and the known noise: everything but the means.

    Parameters
    ----------
    arms
        The names of the arms, or just how many there are.
    objectives
        :class:`Objective` values, short forms (``"clicks:bernoulli"``), or just how many there are. What the rewards of
        an objective are is always stated: by its family, or by ``sd``.
    sd
        The known standard deviation of the rewards: one number, one per objective, or one per arm and objective.
        It counts for Gaussian and sub-Gaussian objectives that do not state their own, which need it; NaN for others.

    Attributes
    ----------
    shape
        The number of arms and the number of objectives, K and M.
    objective_names
        Without directions and families.
    sd
        A K x M table, NaN in objectives whose family does not know it.
    signs
        -1 for objectives to minimise: times it, rewards are *oriented*, more is better. Shape (M,).
    eps
        The indifference zones. Shape (M,).
    ranges
        The lower end of oriented rewards and the width of their range; 0 and 1 where none is known. Shape (M,) each.

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
        sd: npt.ArrayLike | None = None,
    ) -> None:
        self.arms = _arm_names(arms)
        self.objectives = read_objectives(objectives)
        self.shape = len(self.arms), len(self.objectives)
        self.objective_names = tuple(objective.name for objective in self.objectives)
        self.sd = _known_noise(sd, self.shape, self.objectives)
        self.signs = frozen(np.array([objective.sign for objective in self.objectives]))
        self.eps = frozen(np.array([objective.eps for objective in self.objectives]))
        self.ranges = _oriented_ranges(self.objectives)

    def arm(self, arm: int | str) -> Arm:
        """Return an arm, given by its index or its name."""
        index = self.arm_index(arm)
        return Arm(index, self.arms[index])

    def arm_index(self, arm: int | str) -> int:
        """Return the index of an arm, given by its index or its name, as a plain int."""
        if isinstance(arm, str):
            if arm not in self.arms:
                raise InputError(f"arm must be one of {', '.join(self.arms)}, not {arm!r}")
            return self.arms.index(arm)
        if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < len(self.arms):
            raise InputError(f"arm must be a name or an integer from 0 to {len(self.arms) - 1}, not {arm!r}")
        return int(arm)

    def check_rewards(self, rewards: npt.ArrayLike | Mapping[str, float | None]) -> list[float]:
        """Return one reward per objective, NaN for missing ones, or say which one is not acceptable."""
        values = self._by_name(rewards) if isinstance(rewards, Mapping) else self._in_order(rewards)
        for objective, value in zip(self.objectives, values, strict=True):
            if math.isnan(value):
                continue
            if not abs(value) <= _LARGEST:
                raise InputError(
                    f"rewards: {objective.name!r} must be finite, at most {_LARGEST:g} in size, not {value!r}"
                )
            if not objective.family.accepts(value):
                raise InputError(f"rewards: {objective.name!r} must be {objective.family.accepted}, not {value!r}")
        return values

    def orient(self, rewards: Iterable[float]) -> list[float]:
        """Turn one reward per objective so that more is better."""
        return [reward * sign for reward, sign in zip(rewards, self.signs.tolist(), strict=True)]

    def _by_name(self, rewards: Mapping[str, float | None]) -> list[float]:
        names = self.objective_names
        values = [math.nan] * len(names)
        for name, value in rewards.items():
            if name not in names:
                raise InputError(f"rewards: names must be among {', '.join(names)}, not {name!r}")
            if value is None:
                continue
            if not isinstance(value, Real | np.bool_) or value != value:  # NaN is no number
                raise InputError(f"rewards: {name!r} must be a number, not {value!r}; leave it out if it is missing")
            try:
                values[names.index(name)] = float(value)
            except OverflowError:
                values[names.index(name)] = math.inf
        return values

    def _in_order(self, rewards: npt.ArrayLike) -> list[float]:
        values = _table(rewards, "rewards")
        if values.shape != self.signs.shape:
            raise InputError(
                f"rewards must be {len(self.objectives)} numbers, one per objective, not of shape {values.shape}"
            )
        found: list[float] = values.tolist()
        return found

    def __eq__(self, other: object) -> bool:
        """Two problems are equal when everything known about them is."""
        if not isinstance(other, Problem):
            return NotImplemented
        same_names = (self.arms, self.objectives) == (other.arms, other.objectives)
        return same_names and np.array_equal(self.sd, other.sd, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Name the arms and objectives; the noise is an array and stays out."""
        return f"Problem(arms={list(self.arms)}, objectives={[str(o) for o in self.objectives]})"


def _oriented_ranges(objectives: tuple[Objective, ...]) -> tuple[FloatArray, FloatArray]:
    """Return where oriented rewards begin, and the width of their range."""
    found = []
    for objective in objectives:
        low, high = objective.family.range
        lowest = low if objective.sign > 0 else -high
        found.append((lowest, high - low) if math.isfinite(high - low) else (0.0, 1.0))
    lows, widths = zip(*found, strict=True)
    return frozen(np.array(lows)), frozen(np.array(widths))


def frozen(array: FloatArray) -> FloatArray:
    """Return a private, read-only copy, so that shared objects cannot change under their users."""
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def numbers(value: npt.ArrayLike, name: str) -> FloatArray:
    """Convert to floats or say which argument is not made of finite numbers (of a size whose squares are finite)."""
    array = _table(value, name)
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite numbers: found NaN or infinity")
    if (np.abs(array) > _LARGEST).any():
        raise InputError(f"{name} must be between -{_LARGEST:g} and {_LARGEST:g}")
    return array


def _table(value: Any, name: str) -> FloatArray:
    """Convert to floats, or say which argument cannot be."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers in a rectangular table") from None


def _arm_names(arms: Sequence[str] | int) -> tuple[str, ...]:
    names = tuple(f"arm {i}" for i in range(arms)) if isinstance(arms, int | np.integer) else _sequence(arms, "arms")
    if len(names) < 2:
        raise InputError(f"arms: at least two are needed to look for a best one, not {len(names)}")
    _check_distinct(names, "arms")
    return names


def read_objectives(objectives: Sequence[Objective | str] | int) -> tuple[Objective, ...]:
    """Return objectives given as such, in their short form, or by their number."""
    if isinstance(objectives, int | np.integer):
        return read_objectives([f"objective {m}" for m in range(objectives)])
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


def noise_table(sd: npt.ArrayLike | None, shape: tuple[int, int]) -> FloatArray:
    """Check standard deviations and spread them over a K x M table; NaN where none is stated."""
    if sd is None:
        return np.full(shape, np.nan)
    array = _table(sd, "sd")
    if array.shape not in ((), (shape[1],), shape):
        raise InputError(
            f"sd must be one number, {shape[1]} numbers (one per objective) or a {shape[0]} x {shape[1]} table, "
            f"not of shape {array.shape}"
        )
    if not (np.isnan(array) | ((array >= _SD_RANGE[0]) & (array <= _SD_RANGE[1]))).all():
        raise InputError(f"sd must be positive, between {_SD_RANGE[0]:g} and {_SD_RANGE[1]:g}")
    return np.array(np.broadcast_to(array, shape))


def _known_noise(sd: npt.ArrayLike | None, shape: tuple[int, int], objectives: tuple[Objective, ...]) -> FloatArray:
    """Fill in what the families state and blank what they leave open."""
    table = noise_table(sd, shape)
    for m, objective in enumerate(objectives):
        column, stated = table[:, m], objective.family.scale
        if not objective.family.known_noise:
            column[:] = np.nan
        elif stated is None and sd is None:
            raise InputError(
                f"objectives: {objective.name!r} does not say what its rewards are; write {choices_for(objective.name)}"
            )
        elif stated is None:
            numbers(column, f"sd of objective {objective.name!r}")
        elif not _SD_RANGE[0] <= stated <= _SD_RANGE[1]:
            raise InputError(
                f"objective {objective.name!r}: sd must be positive, between {_SD_RANGE[0]:g} and {_SD_RANGE[1]:g}, "
                f"not {stated!r}"
            )
        elif not (np.isnan(column) | np.isclose(column, stated, rtol=1e-12, atol=0)).all():
            raise InputError(f"sd: objective {objective.name!r} states {stated:g} itself; leave its sd out")
        else:
            column[:] = stated
    return frozen(table)
