"""How many samples will it take? Forecasts for an experiment that is planned, and for one that is running."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence.costs import renew
from mobai.kernels.evidence.limits import look_at_limits
from mobai.kernels.evidence.scores import Scoring
from mobai.kernels.stats.observations import (
    LimitArrays,
    ObjectiveArrays,
    ObservationArrays,
    QuantileArrays,
    RatioArrays,
)
from mobai.kernels.trials.engine import all_exceed, weigh
from mobai.problem import FloatArray, Instance
from mobai.theory.observations import Observations
from mobai.theory.thresholds import find_threshold, no_prices

# Rewards of each arm before its scatter says anything about what is to come.
_FEWEST = 5
# Where the variance is unknown, every arm needs some rewards before its gap, however large, says anything.
_OPENINGS = {"student", "shared"}
# Nobody plans for more than this.
_MOST_FORECAST = 1e12
_FLOORS = (1, 2, 3, 5, 8, 12, 20)


def forecast_samples(
    instance: Instance, weights: FloatArray, log_inv_delta: float, threshold: str = "mixture"
) -> float:
    """Return the total number of samples at which every pair of a noise-free experiment exceeds its threshold.

    Arms are sampled in the proportions of ``weights``, each at least once, or as often as pays off where the variance
    is unknown; means and variances are seen exactly. Real runs also pay for estimating them and for stopping at the
    last objective; see docs/planning.md for how much.
    """
    unknown = any(metric.family.model in _OPENINGS for metric in instance.problem.metrics)
    floors = _FLOORS if unknown else (1,)
    return min(_forecast(instance, weights, log_inv_delta, threshold, fewest) for fewest in floors)


def _forecast(instance: Instance, weights: FloatArray, log_inv_delta: float, threshold: str, fewest: float) -> float:
    """Return the total number of samples, with at least ``fewest`` of each arm."""
    rule, (pairs, others) = find_threshold(threshold), instance.problem.claims
    level = rule.level(log_inv_delta, *instance.shape) + math.log1p(others / pairs)

    levels = np.full(instance.shape[1], level)

    def counts(total: float) -> FloatArray:
        return np.maximum(total * weights, fewest)

    def enough(total: float) -> bool:
        pulls = np.broadcast_to(counts(total)[:, None], instance.means.shape)
        seen = Observations.of_statistics(instance.problem, instance.oriented_means, pulls, pulls * instance.sd**2)
        scoring = Scoring(rule.kind, no_prices(instance.shape[0]), float(math.ceil(pulls[:, 0].sum())))
        return all_exceed(scoring, seen.arrays, levels)

    high = fewest * float(instance.shape[0])
    while not enough(high):
        high *= 2
        if high > _MOST_FORECAST:
            return math.inf
    low = high / 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(counts(high).sum())


class Remaining(NamedTuple):
    """A forecast from what has been observed: how many more samples, if the means are as they look now.

    Attributes
    ----------
    samples
        In all, until every objective is decided; infinite if a leader is tied.
    per_objective
        Until each objective is decided; 0 if it is. Shape (M,).
    per_arm
        Where they should go. Shape (K,).
    """

    samples: float
    per_objective: FloatArray
    per_arm: FloatArray


def remaining_samples(
    observations: Observations, undecided: npt.NDArray[np.bool_], level: float, scoring: Scoring
) -> Remaining | None:
    """Forecast how many more samples it takes to decide the objectives that are not; None too early.

    Per objective, arms get their shares of the single-objective optimum (Garivier and Kaufmann 2016, approximately),
    and what is to come is like what has been: the same means, scatter and histograms, more often. The evidence is that
    of the family, and metrics come as often as they have. A number to plan with, no more: it forgets what the estimates
    themselves are uncertain of.
    """
    arrays = observations.arrays
    active = arrays.active.astype(np.bool_)
    least = np.where([family.known_noise for family in observations.families], 1, _FEWEST)
    if (arrays.counts[:, active] < least[:, None]).any():
        return None
    more = np.zeros((len(arrays.leaders), len(active)))
    for m in np.flatnonzero(undecided).tolist():
        now = arrays.counts[m]
        # A metric that comes with every fourth pull takes four pulls a reward.
        often = np.where(active, now / np.maximum(arrays.answered, 1), 1.0)
        more[m] = np.maximum(_target(arrays, m, now, level, scoring) - now, 0.0) / often
    per_arm = more.max(axis=0)
    return Remaining(float(per_arm.sum()), more.sum(axis=1), per_arm)


def at_least(found: Remaining, lacking: FloatArray) -> Remaining:
    """Return a forecast of no fewer samples than are lacking of every objective and arm."""
    per_arm = np.maximum(found.per_arm, lacking.max(axis=0))
    return Remaining(float(per_arm.sum()), np.maximum(found.per_objective, lacking.sum(axis=1)), per_arm)


def remaining_with_limits(
    observations: Observations,
    undecided: npt.NDArray[np.bool_],
    free: npt.NDArray[np.bool_],
    level: float,
    scoring: Scoring,
) -> Remaining | None:
    """Forecast the same where there are guardrails, if sampling goes on in the proportions so far.

    ``free`` marks the arms that are still asked for.
    """
    arrays, arms = observations.arrays, observations.arrays.counts.shape[1]
    least = np.where([family.known_noise for family in observations.families], 1, _FEWEST)
    if (arrays.counts[:, free] < least[:, None]).any():
        return None
    now = arrays.answered
    grown = _copied(arrays)

    def exceeds(factor: float, m: int) -> bool:
        for row in range(len(arrays.leaders)):
            _grow_row(arrays, row, grown, row, np.where(free, factor, 1.0))
        renew(grown)
        grown.limits.evidence[:] = arrays.limits.evidence
        look_at_limits(grown)
        renew(grown)
        found = np.empty(len(undecided))
        weigh(scoring, grown, found)
        return bool(found[m] > level)

    needed = np.ones(len(undecided))
    for m in np.flatnonzero(undecided).tolist():
        high = 1.0
        while not exceeds(high, m):
            high *= 1.5
            if high * now.sum() > _MOST_FORECAST:
                return Remaining(math.inf, np.where(undecided, math.inf, 0.0), np.where(free, math.inf, 0.0))
        low = high / 1.5
        while high - low > 0.01 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if exceeds(middle, m) else (middle, high)
        needed[m] = high
    per_arm = np.where(free, (needed.max() - 1) * now, 0.0)
    per_objective = np.array([float(np.where(free, (factor - 1) * now, 0.0).sum()) for factor in needed])
    return Remaining(float(per_arm.sum()), per_objective, per_arm[:arms])


def _copied(arrays: ObservationArrays) -> ObservationArrays:
    """Return a copy of all arrays."""
    others = ("objectives", "quantiles", "ratios", "limits", "work")
    fields = {name: value.copy() for name, value in arrays._asdict().items() if name not in others}
    return ObservationArrays(
        objectives=ObjectiveArrays._make(value.copy() for value in arrays.objectives),
        quantiles=QuantileArrays._make(value.copy() for value in arrays.quantiles),
        ratios=RatioArrays._make(value.copy() for value in arrays.ratios),
        limits=LimitArrays._make(value.copy() for value in arrays.limits),
        work=arrays.work,
        **fields,
    )


def _target(arrays: ObservationArrays, m: int, now: FloatArray, level: float, scoring: Scoring) -> FloatArray:
    """Return how many rewards of each arm decide an objective, none fewer than now; infinite if a leader is tied."""
    best, rivals = arrays.leaders[m], arrays.active.astype(np.bool_)
    rivals[best] = False
    gaps = (arrays.means[m, best] - arrays.means[m] + arrays.objectives.eps[m])[rivals]
    if not (gaps > 0).all():
        return np.where(arrays.active == 1, math.inf, now)
    # In a range the evidence knows how rewards scatter; what sampling goes by does not.
    seen = np.sqrt(arrays.scatter[m] / np.maximum(arrays.counts[m], 1))
    noise = seen if arrays.objectives.bins[m] > 0 else arrays.sd[m]
    sd = np.maximum(noise, 1e-6 * noise.max() + 1e-150)
    shares = np.zeros(len(now))
    shares[rivals] = (sd[rivals] / gaps) ** 2
    shares[best] = sd[best] * math.sqrt(float(((shares[rivals] / sd[rivals]) ** 2).sum()))
    shares /= shares.sum()
    grown = _alone(arrays, m)

    def enough(total: float) -> bool:
        _grow(arrays, m, grown, np.maximum(1.0, total * shares / np.maximum(now, 1.0)))
        return all_exceed(scoring, grown, np.full(1, level))

    high = float(now.sum())
    while not enough(high):
        high *= 1.5
        if high > _MOST_FORECAST:
            return np.where(arrays.active == 1, math.inf, now)
    low = high / 1.5
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return np.maximum(now, high * shares)


def _alone(arrays: ObservationArrays, m: int) -> ObservationArrays:
    """Return a copy of the arrays of one objective."""
    rows = slice(m, m + 1)
    whole = ("active", "asked", "answered", "initial", "unobserved", "costs_by", "cost_of")
    fields = {
        name: value.copy() if name in whole else value[rows].copy()
        for name, value in arrays._asdict().items()
        if name not in ("objectives", "quantiles", "ratios", "limits", "eligible", "work")
    }
    described = ObjectiveArrays._make(value[rows] for value in arrays.objectives)
    quantiles = QuantileArrays._make(value[rows].copy() for value in arrays.quantiles)
    ratios = RatioArrays._make(value[rows].copy() for value in arrays.ratios)
    limits = arrays.limits._asdict().items()
    none = LimitArrays(*(value.copy() if name == "touched" else value[..., :0, :].copy() for name, value in limits))
    return ObservationArrays(
        objectives=described,
        eligible=fields["active"],
        quantiles=quantiles,
        ratios=ratios,
        limits=none,
        work=arrays.work,
        **fields,
    )


def _grow(arrays: ObservationArrays, m: int, grown: ObservationArrays, factors: FloatArray) -> None:
    """Fill in what would be observed with a multiple of the rewards, all like those there are; in place."""
    _grow_row(arrays, m, grown, 0, factors)
    renew(grown)


def _grow_row(arrays: ObservationArrays, m: int, grown: ObservationArrays, row: int, factors: FloatArray) -> None:
    """Fill in counts, sums, scatter and histograms of one metric; in place."""
    for name in ("counts", "sums", "scatter"):
        getattr(grown, name)[row] = getattr(arrays, name)[m] * factors
    grown.histograms[row] = arrays.histograms[m] * factors[:, None]
    grown.quantiles.reached[row] = arrays.quantiles.reached[m] * factors[:, None]
    if arrays.ratios.sums.size:
        grown.ratios.sums[row] = arrays.ratios.sums[m] * factors[:, None]
        grown.ratios.grid[row] = arrays.ratios.grid[m] * factors[:, None]
