"""How many samples will it take? The noise-free forecast for a planned experiment."""

from __future__ import annotations

import math

import numpy as np

from mobai.problem import FloatArray, Instance
from mobai.theory.glr import pair_statistics
from mobai.theory.thresholds import find_threshold, pair_scores


def forecast_samples(
    instance: Instance, weights: FloatArray, log_inv_delta: float, threshold: str = "mixture"
) -> float:
    """Give the total number of samples at which every pair of a noise-free experiment exceeds its threshold.

    Arms are sampled in the proportions of ``weights``, each at least once, and every mean is seen exactly. Real runs
    also pay for estimating the means and for stopping at the last objective; see docs/planning.md for how much.
    """
    rule = find_threshold(threshold)
    level = rule.level(log_inv_delta, *instance.shape)

    def counts(total: float) -> FloatArray:
        return np.maximum(total * weights, 1.0)

    def enough(total: float) -> bool:
        pulls = np.broadcast_to(counts(total)[:, None], instance.shape)
        statistic = pair_statistics(instance.oriented_means, pulls, instance.sd)
        score = pair_scores(rule, statistic, pulls, instance.sd, math.ceil(pulls[:, 0].sum()))
        return bool(score.min() > level)

    high = float(instance.shape[0])
    while not enough(high):
        high *= 2
    low = high / 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(counts(high).sum())
