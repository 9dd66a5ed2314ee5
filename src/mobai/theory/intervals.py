"""Confidence sequences for every mean: simultaneous over arms, objectives and times, agreeing with the decisions.

They come from the very event on which decisions are right. With probability at least 1 - delta, for every objective
with best arm b and every other arm i, the product of the two arms' martingales at their *true* means stays below
M (K - 1) / delta at all times. An arm's martingale at its true mean is therefore below that number over the smallest
value that some other arm's martingale has, and its mean is where that holds. Derivation: docs/guarantee.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence import WIDTHS as NORMAL_WIDTHS
from mobai.kernels.student import WIDTHS as STUDENT_WIDTHS
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations


class Intervals(NamedTuple):
    """Where the true means lie, in the objectives' own units.

    ``fitted`` says whether they use what was decided: only decisions of the event they come from may tighten them, and
    then intervals and decisions are right together with probability 1 - delta. Otherwise that is the probability of the
    intervals alone. ``certified`` is False where rewards visibly contradict their family.
    ``contradicted`` marks objectives whose present data speak against an earlier decision: while the assumptions hold,
    that has a probability of at most delta.
    """

    lower: FloatArray
    upper: FloatArray
    contradicted: npt.NDArray[np.bool_]
    fitted: bool
    certified: bool = True

    @property
    def event(self) -> str:
        """What holds with probability 1 - delta."""
        return "all intervals and all decisions" if self.fitted else "all intervals"


def confidence_intervals(
    problem: Problem,
    observations: Observations,
    levels: float | FloatArray,
    decided: tuple[int | None, ...] | None = None,
) -> Intervals:
    """Return an interval for every arm and objective; those of active arms are fitted to what was decided, if given.

    ``levels`` are the nats that pairs of each arm stay below, with probability 1 - delta.
    """
    x = np.broadcast_to(np.asarray(levels, np.float64), problem.shape[:1])
    lower, upper = np.empty(problem.shape), np.empty(problem.shape)
    for m, objective in enumerate(problem.objectives):
        lower[:, m], upper[:, m] = _BY_MODEL[objective.family.model](_Column.of(problem, observations, m), x)
    # Relative to the offsets, in which large means keep their differences.
    contradicted = _fit(lower, upper, problem.eps, decided or (), np.flatnonzero(observations.active))
    lower, upper = lower + observations.offset, upper + observations.offset
    flipped = problem.signs < 0
    lower[:, flipped], upper[:, flipped] = -upper[:, flipped], -lower[:, flipped]
    # Adding zero turns minus zero into zero.
    return Intervals(lower + 0.0, upper + 0.0, contradicted, decided is not None)


class _Column(NamedTuple):
    """The statistics of one objective, by arm, relative to its offset; how wide the range of its rewards is."""

    counts: FloatArray
    means: FloatArray
    scatter: FloatArray
    sd: FloatArray
    width: float

    @classmethod
    def of(cls, problem: Problem, observations: Observations, m: int) -> _Column:
        arrays, (_, widths) = observations.arrays, problem.ranges
        return cls(arrays.counts[m], arrays.means[m], arrays.scatter[m], problem.sd[:, m], widths[m])


_Ends = tuple[FloatArray, FloatArray]


def _around(column: _Column, half: FloatArray) -> _Ends:
    """Return the ends at a distance from the means, infinite without rewards."""
    seen = column.counts > 0
    centre, half = np.where(seen, column.means, 0.0), np.where(seen, half, np.inf)
    return centre - half, centre + half


def _normal_ends(column: _Column, x: FloatArray) -> _Ends:
    return _around(column, _normal(column.counts, column.sd, x))


def _student_ends(column: _Column, x: FloatArray) -> _Ends:
    return _around(column, _student(column.counts, column.scatter, x))


def _unit_ends(column: _Column, x: FloatArray) -> _Ends:
    low, high = _unit(column.counts, column.means / column.width, x)
    return column.width * low, column.width * high


_BY_MODEL: dict[str, Callable[[_Column, FloatArray], _Ends]] = {
    "normal": _normal_ends,
    "student": _student_ends,
    "unit": _unit_ends,
}


def _normal(counts: FloatArray, sd: FloatArray, x: FloatArray) -> FloatArray:
    """Return half widths for known noise: the widest over the partners an arm may have."""
    widest = np.zeros(len(counts))
    for noise in np.unique(sd):
        group = np.flatnonzero(sd == noise)
        # Among partners of equal noise the one with the most rewards allows the most.
        first, second = _two_most(counts, group)
        partner = np.where(np.arange(len(counts)) == first, second, counts[first])
        ratio = noise / sd
        alone = partner < 0
        q = _normal_cost(counts * ratio, np.maximum(partner, 0) / ratio, x)
        half = sd * np.sqrt(2 * q / np.maximum(counts, 1))
        widest = np.where(alone, widest, np.maximum(widest, half))
    return widest


def _two_most(counts: FloatArray, group: npt.NDArray[np.intp]) -> tuple[int, float]:
    """Return the arm of a group with the most rewards, and how many the next one has (-1 if there is none)."""
    order = group[np.argsort(-counts[group], kind="stable")]
    return int(order[0]), float(counts[order[1]]) if len(order) > 1 else -1.0


def _normal_cost(own: FloatArray, partner: FloatArray, x: FloatArray) -> FloatArray:
    """Solve for q: the average over c of ``exp(q n/(n+c)) / sqrt((1 + n/c) (1 + n'/c))`` equals exp(x)."""
    c = np.array(NORMAL_WIDTHS)[:, None]
    slope = own / (own + c)
    offset = 0.5 * (np.log1p(own / c) + np.log1p(partner / c)) + math.log(len(c))
    with np.errstate(divide="ignore"):
        high = ((x + offset) / slope).min(axis=0)
    low = np.zeros_like(high)
    high = np.where(np.isfinite(high), high, 0.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = np.logaddexp.reduce(middle * slope - offset, axis=0) < x
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def _student(counts: FloatArray, scatter: FloatArray, x: FloatArray) -> FloatArray:
    """Return half widths for unknown variances, in closed form for each width."""
    n, narrowest = np.maximum(counts, 1), np.full(len(counts), np.inf)
    most = _most_of_others(counts)
    by_level = {one: gamma_level(one + math.log(len(STUDENT_WIDTHS))) for one in set(x.tolist())}
    level = np.array([by_level[one] for one in x.tolist()])
    for c in STUDENT_WIDTHS:
        k, y = c / (n + c), level + 0.5 * np.log1p(n / c) + 0.5 * np.log1p(most / c)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rise = np.expm1(2 * y / n)
            square = np.where(k * (rise + 1) < 1, scatter * rise / (1 - k * (rise + 1)), np.inf)
        narrowest = np.minimum(narrowest, np.sqrt(square / n))
    return narrowest


def gamma_level(x: float) -> float:
    """Solve ``L - log(1 + L) = x``: where the tail (1 + L) exp(-L) of a Gamma(2) variable equals exp(-x)."""
    level = x + math.log1p(x + math.sqrt(2 * x))
    for _ in range(60):
        step = (level - math.log1p(level) - x) * (1 + level) / level
        level -= step
        if abs(step) <= 1e-15 * level:
            break
    return level


def _unit(counts: FloatArray, places: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ends between 0 and 1 for means at these places: where ``n kl(p, q)`` is below what is allowed."""
    p = np.clip(np.where(counts > 0, places, 0.5), 0, 1)
    heads, tails = counts * p, counts * (1 - p)
    best = _xlogy(heads, p) + _xlogy(tails, 1 - p)
    mixed = _log_gamma(heads + 0.5) + _log_gamma(tails + 0.5) - _log_gamma(counts + 1) - math.log(math.pi)
    price = best - mixed
    allowed = x + price + _most_of_others(price)
    ends = []
    for end in (0.0, 1.0):
        inside, outside = p.copy(), np.full_like(p, end)
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            allows = best - _xlogy(heads, middle) - _xlogy(tails, 1 - middle) < allowed
            inside, outside = np.where(allows, middle, inside), np.where(allows, outside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def _log_gamma(values: FloatArray) -> FloatArray:
    """Return the logarithm of the gamma function; SciPy's would have to be imported, which takes longer."""
    return np.array([math.lgamma(value) for value in values.tolist()])


def _xlogy(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return ``x log y``, 0 for x = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x == 0, 0.0, x * np.log(y))


def _most_of_others(values: FloatArray) -> FloatArray:
    """Return the largest value among the other arms."""
    first = int(values.argmax())
    rest = np.full(len(values), values[first])
    rest[first] = np.delete(values, first).max()
    return rest


def _fit(
    lower: FloatArray,
    upper: FloatArray,
    eps: FloatArray,
    decided: tuple[int | None, ...],
    rows: npt.NDArray[np.intp],
) -> npt.NDArray[np.bool_]:
    """Use, in place, that a decided arm is within eps of the best; whether that leaves an arm without any mean."""
    contradicted = np.zeros(len(eps), np.bool_)
    for m, b in enumerate(decided):
        if b is not None:
            floor, ceiling = lower[rows, m].max() - eps[m], upper[b, m] + eps[m]
            lower[b, m] = max(lower[b, m], floor)
            upper[rows, m] = np.minimum(upper[rows, m], np.where(rows == b, np.inf, ceiling))
            crossed = lower[:, m] > upper[:, m]
            contradicted[m] = crossed.any()
            middle = 0.5 * (lower[crossed, m] + upper[crossed, m])
            lower[crossed, m], upper[crossed, m] = middle, middle
    return contradicted
