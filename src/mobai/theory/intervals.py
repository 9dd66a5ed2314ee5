"""Confidence sequences for every mean: simultaneous over arms, objectives and times, agreeing with the decisions.

An arm's bets on both sides of its true mean are a nonnegative supermartingale from 1, which by Ville's inequality never
exceeds exp(level), but with probability exp(-level): its mean is where they do not. The intervals have a tenth of delta
for themselves, shared out over arms and objectives, so that they and the decisions are right together with probability
1 - delta. Derivation: docs/guarantee.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence import normal, student
from mobai.kernels.evidence.betting import mean_bounds
from mobai.kernels.evidence.shared import noise_bound_of
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Observations
from mobai.theory.thresholds import INTERVAL_SHARE, union_level


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


class IntervalLevels(NamedTuple):
    """How much evidence against a mean leaves it out, in nats.

    ``arms`` are the levels of each arm's bets; ``noise`` is the level at which a shared standard deviation is bounded.
    """

    arms: FloatArray
    noise: float

    @classmethod
    def alone(cls, log_inv_delta: float, arms: int, objectives: int) -> IntervalLevels:
        """Return the levels of intervals that have all of delta; the bounds of shared deviations have a tenth of it."""
        level = math.log(objectives * arms) + log_inv_delta - math.log1p(-INTERVAL_SHARE)
        return cls(np.full(arms, level), union_level(log_inv_delta, arms, objectives))


def confidence_intervals(
    problem: Problem,
    observations: Observations,
    levels: IntervalLevels,
    decided: tuple[int | None, ...] | None = None,
) -> Intervals:
    """Return an interval for every arm and objective; those of active arms are fitted to what was decided, if given."""
    lower, upper = np.empty((2, problem.shape[0], len(problem.metrics)))
    for m, objective in enumerate(problem.metrics):
        lower[:, m], upper[:, m] = _BY_MODEL[objective.family.model](observations, m, levels)
    # Relative to the offsets, in which large means keep their differences.
    contradicted = _fit(lower, upper, problem.eps, decided or (), np.flatnonzero(observations.active))
    lower, upper = lower + observations.offset, upper + observations.offset
    flipped = problem.signs < 0
    lower[:, flipped], upper[:, flipped] = -upper[:, flipped], -lower[:, flipped]
    # Adding zero turns minus zero into zero.
    return Intervals(lower + 0.0, upper + 0.0, contradicted, decided is not None)


_Ends = tuple[FloatArray, FloatArray]


def _normal(observations: Observations, m: int, levels: IntervalLevels) -> _Ends:
    arrays = observations.arrays
    return _around(observations, m, arrays.sd[m] * _half_width(arrays.counts[m], levels.arms))


def _shared(observations: Observations, m: int, levels: IntervalLevels) -> _Ends:
    arrays = observations.arrays
    bound: float = noise_bound_of(arrays, m, levels.noise)
    return _around(observations, m, bound * _half_width(arrays.counts[m], levels.arms))


def _student(observations: Observations, m: int, levels: IntervalLevels) -> _Ends:
    """Take the narrowest interval of the widths, each of which pays for its share; all in closed form."""
    n, scatter = np.maximum(observations.arrays.counts[m], 1), observations.arrays.scatter[m]
    narrowest = np.full(len(n), np.inf)
    for c, weight in zip(student.WIDTHS, student.WEIGHTS, strict=True):
        k, y = c / (n + c), levels.arms - math.log(weight) + 0.5 * np.log1p(n / c)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rise = np.expm1(2 * y / n)
            square = np.where(k * (rise + 1) < 1, scatter * rise / (1 - k * (rise + 1)), np.inf)
        narrowest = np.minimum(narrowest, np.sqrt(square / n))
    return _around(observations, m, narrowest)


def _unit(observations: Observations, m: int, levels: IntervalLevels) -> _Ends:
    arrays, kept = observations.arrays, observations.bounds[m]
    bins = int(arrays.objectives.bins[m])
    counts = arrays.counts[m] + arrays.worst[m]
    mean_bounds(arrays.histograms, arrays.worst, m, bins, counts, levels.arms, kept[:2], kept[2], kept[3])
    width = arrays.objectives.width[m]
    return width * kept[2], width * kept[3]


_BY_MODEL: dict[str, Callable[[Observations, int, IntervalLevels], _Ends]] = {
    "normal": _normal,
    "shared": _shared,
    "student": _student,
    "unit": _unit,
}


def _around(observations: Observations, m: int, half: FloatArray) -> _Ends:
    """Return the ends at a distance from the means, infinite without rewards."""
    arrays = observations.arrays
    seen = arrays.counts[m] > 0
    centre, half = np.where(seen, arrays.means[m], 0.0), np.where(seen, half, np.inf)
    return centre - half, centre + half


def _half_width(counts: FloatArray, levels: FloatArray) -> FloatArray:
    """Solve for the distance d, in standard deviations, at which the two-sided bets of known noise reach the level.

    In ``q = d^2`` they are convex: from above, Newton's method never overshoots.
    """
    n, c = np.maximum(counts, 1), np.array(normal.WIDTHS)[:, None]
    slope = n * n / (2 * (n + c))
    offset = 0.5 * np.log1p(n / c) - np.log(normal.WEIGHTS)[:, None]
    q: FloatArray = ((levels + offset) / slope).min(axis=0)
    for _ in range(60):
        lines = q * slope - offset
        top = lines.max(axis=0)
        parts = np.exp(lines - top)
        excess = top + np.log(parts.sum(axis=0)) - levels
        step = excess / ((parts * slope).sum(axis=0) / parts.sum(axis=0))
        q = q - step
        if (step <= 1e-14 * q).all():
            break
    return np.sqrt(q)


def _fit(
    lower: FloatArray,
    upper: FloatArray,
    eps: FloatArray,
    decided: tuple[int | None, ...],
    rows: npt.NDArray[np.intp],
) -> npt.NDArray[np.bool_]:
    """Use, in place, that a decided arm is within eps of the best; whether that leaves an arm without any mean."""
    contradicted = np.zeros(len(decided) or len(eps), np.bool_)
    for m, b in enumerate(decided):
        if b is not None and b >= 0:
            floor, ceiling = lower[rows, m].max() - eps[m], upper[b, m] + eps[m]
            lower[b, m] = max(lower[b, m], floor)
            upper[rows, m] = np.minimum(upper[rows, m], np.where(rows == b, np.inf, ceiling))
            crossed = lower[:, m] > upper[:, m]
            contradicted[m] = crossed.any()
            middle = 0.5 * (lower[crossed, m] + upper[crossed, m])
            lower[crossed, m], upper[crossed, m] = middle, middle
    return contradicted
