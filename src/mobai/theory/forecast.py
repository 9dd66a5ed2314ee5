"""How many samples will it take? The noise-free forecast for a planned experiment."""

from __future__ import annotations

import math

import numpy as np

from mobai.problem import FloatArray, Instance
from mobai.theory.observations import Observations
from mobai.theory.thresholds import evidence_of, find_threshold


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
