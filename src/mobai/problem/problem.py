"""What an experimenter knows before the first sample: the arms, the objectives and the noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem.costs import Costs
from mobai.problem.design import Design
from mobai.problem.families import Gaussian, Ratio, choices_for
from mobai.problem.guardrail import Guardrail
from mobai.problem.objective import Objective, is_name

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

_NUMBERS = (Real, np.bool_)
# Beyond these, squares of standardised gaps would leave the range of floating point numbers.
_LARGEST = 1e100
_MOST_NUMBERED = 100_000
_SD_RANGE = (1e-50, 1e50)


class Arm(int):
    """An arm of a problem: its index, and its name; and which ask of a session it is of, if it is.

    Examples
    --------
    >>> arm = Problem(["A", "B"], 1, sd=1.0).arm("B")
    >>> print(arm, arm.name, arm + 0)
    B B 1
    """

    name: str
    ask: int | None

    def __new__(cls, index: int, name: str, ask: int | None = None) -> Arm:
        """Return the arm of an index."""
        arm = super().__new__(cls, index)
        arm.name, arm.ask = name, ask
        return arm

    def of_ask(self, number: int) -> Arm:
        """Return the same arm, as that of an ask."""
        return Arm(int(self), self.name, number)

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    __format__ = object.__format__

    def __repr__(self) -> str:
        """Show both."""
        return f"Arm({int(self)}, {self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all of it."""
        return Arm, (int(self), self.name, self.ask)


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
        The known standard deviation of the rewards: one number, one per metric, or one per arm and metric.
        It counts for Gaussian and sub-Gaussian metrics that do not state their own, which need it; NaN for others.
    guardrails
        Limits that an arm must keep: :class:`Guardrail` values or short forms
        (``"errors:bernoulli:at-most=0.02:eps=0.005"``).
    baseline
        An arm that all others are compared with, metric by metric.
    design
        How arms are measured on the same things; None where every sample is one of an arm alone.
    costs
        What a sample of each arm costs, which sampling then saves; None where all cost the same.

    Attributes
    ----------
    shape
        The number of arms and the number of objectives, K and M.
    metrics
        What a pull brings: the objectives, then the metrics that are guardrails only. There are M or more.
    objective_names, metric_names
        Without directions and families.
    columns
        What is reported, and which metrics read it: their own name and, for quantiles, what they are quantiles of.
    sd
        A table of arms by metrics, NaN in those whose family does not know it.
    signs
        -1 for metrics that should be small: times it, rewards are *oriented*, more is better. One per metric.
    eps
        The indifference zones, 0 for metrics that are guardrails only. One per metric.
    ranges
        The lower end of oriented rewards and the width of their range; 0 and 1 where none is known. One per metric.

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
        objectives: Sequence[Objective | str] | Mapping[str, str] | int,
        sd: npt.ArrayLike | None = None,
        *,
        guardrails: Sequence[Guardrail | str] = (),
        baseline: str | None = None,
        design: Design | None = None,
        costs: Costs | None = None,
    ) -> None:
        self.arms = _arm_names(arms)
        self.objectives = read_objectives(objectives)
        self.guardrails = _read_guardrails(guardrails, self.arms, self.objectives)
        self.baseline = baseline
        if baseline is not None and baseline not in self.arms:
            number = "" if isinstance(baseline, str) else ", its name"
            raise InputError("baseline", f"must be one of {', '.join(map(repr, self.arms))}{number}, not {baseline!r}")
        self.shape = len(self.arms), len(self.objectives)
        self.metrics = (*self.objectives, *_guarded_only(self.objectives, self.guardrails))
        self.design = design
        _check_design(design, self.metrics, self.guardrails)
        self.costs = costs
        if costs is not None:
            _check_costs(costs, self.arms, self.metrics, design)
        self.objective_names = tuple(objective.name for objective in self.objectives)
        self.metric_names = tuple(metric.name for metric in self.metrics)
        self.columns = _columns(self.metrics)
        self.sd = _known_noise(sd, (len(self.arms), len(self.metrics)), self.metrics)
        self.signs = frozen(np.array([metric.sign for metric in self.metrics]))
        self.eps = frozen(np.array([metric.eps for metric in self.metrics]))
        self.ranges = _oriented_ranges(self.metrics)

    def __deepcopy__(self, memo: dict[int, Any]) -> Problem:
        """Return the problem itself: it never changes."""
        return self

    @property
    def claims(self) -> tuple[int, int]:
        """How many claims can be false: about pairs of arms, at any level; and about limits and the baseline.

        A guardrail makes one per arm, or one per other arm if it is a margin, and twice as many without a tolerance; a
        baseline makes one per other arm and metric.
        """
        arms = self.shape[0]
        # With wins there may be no best arm, and nobody is right by being the last one left.
        pairs = sum(arms if objective.family.counts_wins else arms - 1 for objective in self.objectives)
        limits = sum(one.claims * (arms if one.of is None else arms - 1) for one in self.guardrails)
        compared = (arms - 1) * len(self.metrics) if self.baseline is not None else 0
        return pairs, limits + compared

    def with_arms(self, arms: Sequence[str], sd: FloatArray) -> Problem:
        """Return the same with other arms, of this noise."""
        guardrails = [one for one in self.guardrails if one.of is None or one.of in arms]
        baseline = self.baseline if self.baseline in arms else None
        costs = None if self.costs is None else self.costs.among(self.arms, arms)
        more: dict[str, Any] = {"baseline": baseline, "design": self.design, "costs": costs}
        return Problem(arms, self.objectives, sd, guardrails=guardrails, **more)

    def costing(self, costs: Costs) -> Problem:
        """Return the same with what samples cost."""
        more: dict[str, Any] = {"baseline": self.baseline, "design": self.design, "costs": costs}
        return Problem(self.arms, self.objectives, self.sd, guardrails=self.guardrails, **more)

    def arm(self, arm: int | str) -> Arm:
        """Return an arm, given by its index or its name."""
        index = self.arm_index(arm)
        return Arm(index, self.arms[index])

    def arm_index(self, arm: int | str) -> int:
        """Return the index of an arm, given by its index or its name, as a plain int."""
        if isinstance(arm, str):
            if arm not in self.arms:
                raise InputError("arm", f"must be one of {', '.join(self.arms)}, not {arm!r}")
            return self.arms.index(arm)
        if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < len(self.arms):
            raise InputError("arm", f"must be a name or an integer from 0 to {len(self.arms) - 1}, not {arm!r}")
        return int(arm)

    def check_rewards(self, rewards: npt.ArrayLike | Mapping[str, float | None]) -> list[float]:
        """Return one reward per metric, NaN for missing ones, or say which one is not acceptable."""
        values = self._by_name(rewards) if isinstance(rewards, Mapping) else self._in_order(rewards)
        for objective, value in zip(self.metrics, values, strict=True):
            if math.isnan(value):
                continue
            if not abs(value) <= _LARGEST:
                raise InputError(
                    None, f"must be finite, at most {_LARGEST:g} in size, not {value!r}", metric=objective.name
                )
            if not objective.family.accepts(value):
                raise InputError(None, f"must be {objective.family.accepted}, not {value!r}", metric=objective.name)
        return values

    def accepts_all(self, metric: Objective, values: FloatArray) -> bool:
        """Whether :meth:`check_rewards` would accept all these numbers for a metric."""
        return bool((np.abs(values) <= _LARGEST).all()) and all(map(metric.family.accepts, values.tolist()))

    def named(self, rewards: Iterable[float]) -> dict[str, float]:
        """Return one reward per metric by name, a ratio as the two numbers that were reported for it.

        Where another metric of that name has a number, that counts: it is kept as exactly as it came.
        """
        found: dict[str, float] = {}
        for metric, reward in zip(self.metrics, rewards, strict=True):
            for name, value in metric.reported(reward).items():
                if not math.isfinite(found.get(name, math.nan)) or (name == metric.name and math.isfinite(value)):
                    found[name] = value
        return found

    def orient(self, rewards: Iterable[float]) -> list[float]:
        """Turn one reward per metric so that more is better."""
        return [reward * sign for reward, sign in zip(rewards, self.signs.tolist(), strict=True)]

    def _by_name(self, rewards: Mapping[str, float | None]) -> list[float]:
        values, pairs = [math.nan] * len(self.metrics), dict[int, dict[str, float]]()
        for name, value in rewards.items():
            readers = self.readers(name)
            if value is None:
                continue
            if (type(value) is not float and not isinstance(value, _NUMBERS)) or value != value:  # NaN is no number
                raise InputError(None, f"must be a number, not {value!r}; leave it out if it is missing", metric=name)
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            for m in readers:
                if isinstance(self.metrics[m].family, Ratio) and name != self.metrics[m].name:
                    pairs.setdefault(m, {})[name] = number
                    continue
                if values[m] == values[m] != number:
                    raise InputError(None, f"is given twice, as {values[m]!r} and {number!r}", metric=name)
                values[m] = number
        for m, parts in pairs.items():
            family, columns = self.metrics[m].family, self.metrics[m].columns
            missing = [column for column in columns if column not in parts]
            if missing and rewards.get(missing[0], 0) is not None:
                raise InputError(None, f"must be reported together with {next(iter(parts))}", metric=missing[0])
            if not missing and isinstance(family, Ratio):
                values[m] = family.packed(self.metrics[m].name, *(parts[column] for column in columns))
        return values

    def readers(self, column: str) -> tuple[int, ...]:
        """Return the metrics that read what is reported under a name."""
        ratio = next((one for one in self.metrics if one.name == column and len(one.columns) > 1), None)
        if column not in self.columns and ratio is not None:
            raise InputError(None, f"is reported as its two numbers, {' and '.join(ratio.columns)}", metric=column)
        if column not in self.columns:
            raise InputError("rewards", f"names must be among {', '.join(self.reported)}, not {column!r}")
        return self.columns[column]

    @property
    def recorded(self) -> tuple[str, ...]:
        """By which names rewards are recorded: those of the metrics, and the two numbers of a ratio."""
        return tuple(self.named([math.nan] * len(self.metrics)))

    @property
    def reported(self) -> tuple[str, ...]:
        """What a pull brings by name, each once: what people report."""
        return tuple(dict.fromkeys(column for metric in self.metrics for column in metric.columns))

    def _in_order(self, rewards: npt.ArrayLike) -> list[float]:
        if np.asarray(rewards).dtype.kind in "US":
            raise InputError("rewards", "must be numbers, not texts")
        values = _table(rewards, "rewards")
        if values.shape != self.signs.shape:
            what = "metric" if self.guardrails else "objective"
            raise InputError(
                "rewards", f"must be {len(self.metrics)} numbers, one per {what}, not of shape {values.shape}"
            )
        found: list[float] = values.tolist()
        return found

    def __eq__(self, other: object) -> bool:
        """Two problems are equal when everything known about them is."""
        if not isinstance(other, Problem):
            return NotImplemented
        mine = (self.arms, self.objectives, self.guardrails, self.baseline, self.design, self.costs)
        same = mine == (other.arms, other.objectives, other.guardrails, other.baseline, other.design, other.costs)
        return same and np.array_equal(self.sd, other.sd, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Name the arms and objectives; the noise is an array and stays out."""
        limits = f", guardrails={[str(one) for one in self.guardrails]}" if self.guardrails else ""
        compared = f", baseline={self.baseline!r}" if self.baseline is not None else ""
        measured = f", design={self.design}" if self.design is not None else ""
        names = f"arms={list(self.arms)}, objectives={[str(o) for o in self.objectives]}"
        return f"Problem({names}{limits}{compared}{measured})"


def _columns(metrics: Sequence[Objective]) -> dict[str, tuple[int, ...]]:
    """Return which metrics read what is reported under a name; a metric of that very name, before any other."""
    read: dict[str, tuple[int, ...]] = {}
    for m, metric in enumerate(metrics):
        for column in metric.columns:
            read[column] = (*read.get(column, ()), m)
    # A ratio is reported as its two numbers, and not under its own name.
    alone = {one.name: (m,) for m, one in enumerate(metrics) if len(one.columns) == 1 and one.name not in read}
    return {**alone, **read}


def _check_costs(costs: Costs, arms: Sequence[str], metrics: Sequence[Objective], design: Design | None) -> None:
    """Refuse costs that nothing reads, or that cannot be read."""
    if costs.by_arm is not None and len(costs.by_arm) != len(arms):
        raise InputError("costs", f"must be {len(arms)} numbers, one for each arm, not {len(costs.by_arm)}")
    if design is not None:
        raise InputError(
            "costs",
            "are for samples of each arm: on the same things every arm that is left is measured, whatever it costs",
        )
    costs.check(metrics)


def _check_design(design: Design | None, metrics: Sequence[Objective], guardrails: Sequence[Guardrail]) -> None:
    """Refuse metrics and limits that a design cannot weigh, and wins without one."""
    for metric in metrics:
        if design is not None:
            design.check(metric, [one for one in guardrails if one.metric == metric.name])
        elif metric.family.counts_wins:
            raise InputError(
                "wins compare arms on the same things: say items=... or rounds=True (--items, --rounds)",
                metric=metric.name,
            )


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
    names = _numbered("arm", arms) if isinstance(arms, int | np.integer) else _sequence(arms, "arms")
    if len(names) < 2:
        raise InputError("arms", f"at least two are needed to look for a best one, not {len(names)}")
    _check_distinct(names, "arms")
    return names


def _numbered(what: str, count: int) -> tuple[str, ...]:
    """Return names for as many arms or objectives as are asked for."""
    if not 0 <= count <= _MOST_NUMBERED:
        raise InputError(f"{what}s must be names, or a number up to {_MOST_NUMBERED:,}")
    return tuple(f"{what} {i}" for i in range(count))


def read_objectives(objectives: Sequence[Objective | str] | Mapping[str, str] | int) -> tuple[Objective, ...]:
    """Return objectives given as such, in their short form, as a mapping from names to the rest of it, or by number."""
    if isinstance(objectives, Mapping):
        objectives = [f"{str(name).replace(':', chr(92) + ':')}:{rest}" for name, rest in objectives.items()]
    if isinstance(objectives, int | np.integer):
        return read_objectives(_numbered("objective", objectives))
    given = _sequence(objectives, "objectives")
    if not all(isinstance(o, Objective | str) for o in given):
        raise InputError("objectives", "must be names or Objective values")
    parsed = tuple(o if isinstance(o, Objective) else Objective.parse(o) for o in given)
    if not parsed:
        raise InputError("objectives", "at least one is needed")
    _check_distinct(tuple(o.name for o in parsed), "objectives")
    return parsed


def metrics_of(
    arms: Sequence[str] | int, objectives: Sequence[Objective], guardrails: Sequence[Guardrail | str]
) -> tuple[Objective, ...]:
    """Return what a pull of a problem with these brings: the objectives, then metrics that are guardrails only."""
    goals = tuple(objectives)
    return (*goals, *_guarded_only(goals, _read_guardrails(guardrails, _arm_names(arms), goals)))


def _read_guardrails(
    guardrails: Sequence[Guardrail | str], arms: tuple[str, ...], objectives: tuple[Objective, ...]
) -> tuple[Guardrail, ...]:
    """Return guardrails given as such or in their short form; the metric of each is an objective or says its family."""
    by_name = {objective.name: objective for objective in objectives}
    found, families = [], dict[str, Guardrail]()
    if isinstance(guardrails, str):
        raise InputError("guardrails", f"must be a list of limits, not {guardrails!r}")
    for one in _sequence(guardrails, "guardrails"):
        guardrail = (one if isinstance(one, Guardrail) else Guardrail.parse(one)).among(objectives)
        name = guardrail.metric
        if guardrail.of is not None and guardrail.of not in arms:
            raise InputError("of", f"must be one of {', '.join(arms)}, not {guardrail.of!r}", metric=name)
        if name in by_name:
            guardrail = guardrail.of_objective(by_name[name])
        elif guardrail.family is None and name not in families:
            raise InputError(f"it is no objective, and must say what its rewards are: {choices_for(name)}", metric=name)
        elif guardrail.family is not None and name in families:
            raise InputError("what its rewards are is stated twice; once is enough", metric=name)
        families.setdefault(name, guardrail)
        found.append(guardrail)
    if len({(one.metric, one.of, one.direction) for one in found}) < len(found):
        raise InputError("guardrails", "a metric has at most one limit of a kind")
    return tuple(found)


def _guarded_only(objectives: tuple[Objective, ...], guardrails: tuple[Guardrail, ...]) -> list[Objective]:
    """Return the metrics of guardrails that are no objectives, each turned so that more is better."""
    names = {objective.name for objective in objectives}
    first = {one.metric: one for one in reversed(guardrails) if one.family is not None and one.metric not in names}
    ordered = dict.fromkeys(one.metric for one in guardrails if one.metric in first)
    return [
        Objective(name, one.direction or "max", one.family or Gaussian(), window=one.window, otherwise=one.otherwise)
        for name, one in ((name, first[name]) for name in ordered)
    ]


def _sequence(values: Sequence[Any], what: str) -> tuple[Any, ...]:
    if isinstance(values, str):
        raise InputError(what, f"must be a list, such as [{values!r}], not one text")
    if not isinstance(values, Iterable) or isinstance(values, set | frozenset):
        raise InputError(what, f"must be a list of names, or how many there are, not {values!r}")
    return tuple(values)


def check_case(what: str, names: Sequence[str]) -> None:
    """Refuse names that only case tells apart: one of them is a slip, or will be."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(what, f"names must differ in more than case, unlike {other!r} and {name!r}")


def _check_distinct(names: tuple[str, ...], what: str) -> None:
    if not all(is_name(name) for name in names):
        raise InputError(what, "every name must be a non-empty string of printable characters, no space at its ends")
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(what, f"names must be distinct, found {repeated[0]!r} more than once")


def noise_table(sd: npt.ArrayLike | None, shape: tuple[int, int]) -> FloatArray:
    """Check standard deviations and spread them over a K x M table; NaN where none is stated."""
    if sd is None:
        return np.full(shape, np.nan)
    array = _table(sd, "sd")
    if array.shape not in ((), (shape[1],), shape):
        raise InputError(
            "sd",
            f"must be one number, {shape[1]} numbers (one per objective) or a {shape[0]} x {shape[1]} table, "
            f"not of shape {array.shape}",
        )
    if not (np.isnan(array) | ((array >= _SD_RANGE[0]) & (array <= _SD_RANGE[1]))).all():
        raise InputError("sd", f"must be positive, between {_SD_RANGE[0]:g} and {_SD_RANGE[1]:g}")
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
                None, f"does not say what its rewards are; write {choices_for(objective.name)}", metric=objective.name
            )
        elif stated is None:
            numbers(column, f"sd of objective {objective.name!r}")
        elif not _SD_RANGE[0] <= stated <= _SD_RANGE[1]:
            raise InputError(
                "sd",
                f"must be positive, between {_SD_RANGE[0]:g} and {_SD_RANGE[1]:g}, not {stated!r}",
                metric=objective.name,
            )
        elif not (np.isnan(column) | np.isclose(column, stated, rtol=1e-12, atol=0)).all():
            raise InputError("sd", f"objective {objective.name!r} states {stated:g} itself; leave its sd out")
        else:
            column[:] = stated
    return frozen(table)
