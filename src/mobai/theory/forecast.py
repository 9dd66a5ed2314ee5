"""How many samples will it take? Forecasts for an experiment that is planned, and for one that is running."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.normal import all_above
from mobai.kernels.observations import NORMAL, UNIT
from mobai.problem import FloatArray, Instance
from mobai.theory.observations import Observations
from mobai.theory.thresholds import evidence_of, find_threshold

# Rewards of each arm before its scatter says anything about what is to come.
_FEWEST = 5


def forecast_samples(
    instance: Instance, weights: FloatArray, log_inv_delta: float, threshold: str = "mixture"
) -> float:
    """Return the total number of samples at which every pair of a noise-free experiment exceeds its threshold.

    Arms are sampled in the proportions of ``weights``, each at least once; means and variances are seen exactly. Real
    runs also pay for estimating them and for stopping at the last objective; see docs/planning.md for how much.
    """
    rule = find_threshold(threshold)
    level = rule.level(log_inv_delta, *instance.shape)

    def counts(total: float) -> FloatArray:
        return np.maximum(total * weights, 1.0)

    def enough(total: float) -> bool:
        pulls = np.broadcast_to(counts(total)[:, None], instance.shape)
        seen = Observations.of_statistics(instance.problem, instance.oriented_means, pulls, pulls * instance.sd**2)
        return bool(evidence_of(rule, seen, math.ceil(pulls[:, 0].sum())).min() > level)

    high = float(instance.shape[0])
    while not enough(high):
        high *= 2
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
    observations: Observations, undecided: npt.NDArray[np.bool_], level: float | FloatArray
) -> Remaining | None:
    """Forecast how many more samples it takes to decide the objectives that are not; None too early.

    Per objective, arms get their shares of the single-objective optimum (Garivier and Kaufmann 2016, approximately),
    and the evidence is that of Gaussian rewards whose standard deviations are those seen. A number to plan with, no
    more: it forgets what the estimates themselves are uncertain of.
    """
    arrays = observations.arrays
    active = arrays.active.astype(np.bool_)
    least = np.where(arrays.objectives.model == NORMAL, 1, _FEWEST)
    if (arrays.counts[:, active] < least[:, None]).any():
        return None
    levels = np.broadcast_to(np.asarray(level, np.float64), arrays.active.shape)
    now = arrays.counts.min(axis=0)
    targets = np.array(
        [_target(observations, m, now, levels) if undecided[m] else now for m in range(len(arrays.leaders))]
    )
    more = np.maximum(targets - now, 0.0)
    per_arm = more.max(axis=0)
    return Remaining(float(per_arm.sum()), more.sum(axis=1), per_arm)


def _target(observations: Observations, m: int, now: FloatArray, levels: FloatArray) -> FloatArray:
    """Return how many rewards of each arm decide an objective, none fewer than now; infinite if a leader is tied."""
    arrays, best = observations.arrays, observations.arrays.leaders[m]
    rivals = arrays.active.astype(np.bool_)
    rivals[best] = False
    gaps = (arrays.means[m, best] - arrays.means[m] + arrays.objectives.eps[m])[rivals]
    # In a range the evidence knows how rewards scatter; what sampling goes by does not.
    seen = np.sqrt(arrays.scatter[m] / np.maximum(arrays.counts[m], 1))
    noise = seen if arrays.objectives.model[m] == UNIT else arrays.sd[m]
    sd = np.maximum(noise, 1e-6 * noise.max() + 1e-150)
    if not (gaps > 0).all():
        return np.where(arrays.active == 1, math.inf, now)
    shares = np.zeros(len(now))
    shares[rivals] = (sd[rivals] / gaps) ** 2
    shares[best] = sd[best] * math.sqrt(float(((shares[rivals] / sd[rivals]) ** 2).sum()))
    shares /= shares.sum()

    def enough(total: float) -> bool:
        counts = np.maximum(now, total * shares)
        ratio = sd[rivals] / sd[best]
        apart = gaps / np.sqrt(sd[rivals] * sd[best])
        return all_above(apart, counts[best] * ratio, counts[rivals] / ratio, np.maximum(levels[rivals], levels[best]))

    high = float(now.sum())
    while not enough(high) and high < 1e15:
        high *= 1.5
    low = high / 1.5
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return np.maximum(now, high * shares)
