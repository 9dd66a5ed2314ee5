"""What looks wrong about rewards: their drift, outliers, and ends of ranges. Each is a test with a stated rate.

- *drift*: the mean of an arm's early rewards differs from that of its late ones, by the evidence of a pair of arms. The
  border moves on when the rewards have doubled.
- *outliers*: a reward further from its arm's mean than the stated sd allows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.engine.reward_health import FIRST_BORDER, RATE
from mobai.kernels.evidence.scores import MIXTURE, Scoring
from mobai.kernels.stats.health import HealthArrays
from mobai.kernels.trials.engine import weigh
from mobai.problem import Family, FloatArray, Objective, Problem, UnknownVariance
from mobai.theory.observations import Observations
from mobai.theory.thresholds import no_prices

# How much of an arm's rewards must be at the end of a range to be remarked on.
_EDGE_SHARE, _EDGE_OF_SCORES, _EDGE_LEAST = 0.05, 0.4, 100


class Concern(NamedTuple):
    """Something that looks wrong: its kind, what it is in a sentence, and which metric and arm it is about, if any."""

    kind: str
    text: str
    metric: str | None = None
    arm: str | None = None


def reward_concerns(problem: Problem, observations: Observations, health: HealthArrays) -> list[Concern]:
    """Return what looks wrong about the rewards."""
    return [*_drift(problem, observations, health), *_edges(problem, observations, health)]


def _drift(problem: Problem, observations: Observations, health: HealthArrays) -> list[Concern]:
    found: list[Concern] = []
    if problem.design is not None and problem.design.kind == "rounds":
        return found  # which are there because levels drift
    tests = len(problem.metrics) * problem.shape[0]
    both = health.earlier, health.early
    apart = [_may_differ(problem, observations, early, math.log(tests / RATE)) for early in both]
    means = np.array([not metric.family.counts_wins for metric in problem.metrics])  # what wins do not compare
    for m, arm in np.argwhere((apart[0] | apart[1]) & means[:, None]).tolist():
        for early in (health.earlier[m, arm], health.early[m, arm]):
            if not (early[0] > 0 and _is_change(problem, observations, m, arm, early, tests)):
                continue
            text = (
                f"{problem.metric_names[m]}: the mean of {problem.arms[arm]} has changed: its first "
                f"{early[0]:,.0f} rewards and the later ones differ"
            )
            found.append(Concern("drift", text, problem.metric_names[m], problem.arms[arm]))
            break
    return found


def _is_change(problem: Problem, observations: Observations, m: int, arm: int, early: FloatArray, tests: int) -> bool:
    """Whether rewards before and after a border differ beyond chance, for all borders and arms together."""
    border = math.log2(early[0] / FIRST_BORDER) + 1
    needed = math.log(tests / RATE) + math.log(math.pi**2 / 6) + 2 * math.log(border) + math.log(2)
    return _evidence_of_change(problem, observations, m, arm, early) > needed


def _edges(problem: Problem, observations: Observations, health: HealthArrays) -> list[Concern]:
    counts, found = observations.arrays.counts, []
    for m, metric in enumerate(problem.metrics):
        whole = _whole_numbers(metric.family, observations.arrays.histograms[m])
        share = health.at_top[m] / np.maximum(counts[m], 1)
        perfect = metric.direction == "max" and metric.family.range == (0.0, 1.0)  # scores, of which 1 is not unusual
        many = (counts[m] >= _EDGE_LEAST) & (share > (_EDGE_OF_SCORES if perfect else _EDGE_SHARE))
        if many.any() and not whole and metric.otherwise != metric.family.range[1]:
            arm = int(np.argmax(np.where(many, share, 0)))
            text = (
                f"{metric.name}: {share[arm]:.0%} of the rewards of {problem.arms[arm]} are at the upper end of "
                "the range, as if they were cut off there"
            )
            found.append(Concern("edge", text, metric.name, problem.arms[arm]))
        if health.far[m].any():
            arm = int(health.far[m].argmax())
            count = f"{health.far[m, arm]:,} rewards of {problem.arms[arm]}"
            text = f"{metric.name}: {count} are far outside the stated sd"
            found.append(Concern("outliers", text, metric.name))
    return found


def _whole_numbers(family: Family, histogram: FloatArray) -> bool:
    """Whether rewards seem to be ratings or coins, which are often at the upper end without having been cut off."""
    bins, steps = family.histogram_bins, family.range[1] - family.range[0]
    if not bins or steps != round(steps) or bins % steps:
        return False
    between = np.arange(bins + 1) % int(bins // steps) > 0
    return not histogram[:, : bins + 1][:, between].any()


def _may_differ(
    problem: Problem, observations: Observations, early: FloatArray, needed: float
) -> npt.NDArray[np.bool_]:
    """Return where early and late rewards are far enough apart for the evidence to be worth computing. Shape (M, K).

    Of Gaussian rewards the evidence is below half the square of their distance in standard errors, of others not far
    above: a quarter of what is needed is asked for.
    """
    arrays = observations.arrays
    n, mean, scatter = early[:, :, 0], early[:, :, 1], early[:, :, 2]
    later = arrays.counts - n
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (arrays.means - mean) * arrays.counts / later
        rest = np.maximum(arrays.scatter - scatter - n * later / (n + later) * apart**2, 0.0)
        known = np.isfinite(problem.sd.T)
        one, two = (np.where(known, problem.sd.T**2, found / count) for found, count in ((scatter, n), (rest, later)))
        # A little for what few rewards of a known range do not show.
        slack = np.where(arrays.objectives.bins[:, None] > 0, (arrays.objectives.width**2)[:, None] / 4, 0.0)
        square = apart**2 / ((one + slack / n) / n + (two + slack / later) / later)
    # How quantiles of early and of late rewards differ is not in what is noted.
    found: npt.NDArray[np.bool_] = (n > 0) & (later >= 2) & ~(square / 2 < needed / 2)
    found &= (arrays.quantiles.last == 0)[:, None]
    return found


def _evidence_of_change(problem: Problem, observations: Observations, m: int, arm: int, early: FloatArray) -> float:
    """Return the evidence that an arm's rewards after a border have another mean than those before, in nats."""
    arrays, metric = observations.arrays, problem.metrics[m]
    n, mean, scatter = early[:3]
    later = float(arrays.counts[m, arm]) - n
    if later < 2:
        return -math.inf
    rest = mean + (float(arrays.means[m, arm]) - mean) * float(arrays.counts[m, arm]) / later
    between = n * later / (n + later) * (rest - mean) ** 2
    family = UnknownVariance() if metric.family.shares_noise else metric.family
    known = None if np.isnan(problem.sd[arm, m]) else float(problem.sd[arm, m])
    pair = Observations(Problem(2, [Objective("x", "max", family)], known))
    made = pair.arrays
    made.objectives.offset[0] = arrays.objectives.offset[m]
    made.counts[0], made.means[0] = (n, later), (mean, rest)
    made.first[0], made.sums[0] = arrays.objectives.offset[m], made.means[0] * made.counts[0]
    made.scatter[0] = scatter, max(float(arrays.scatter[m, arm]) - scatter - between, 0.0)
    if metric.family.histogram_bins:
        points = made.histograms.shape[2]
        made.histograms[0, 0] = early[3 : 3 + points]
        made.histograms[0, 1] = np.maximum(arrays.histograms[m, arm, :points] - early[3 : 3 + points], 0.0)
    pair.refresh()
    found = np.empty(1)
    weigh(Scoring(MIXTURE, no_prices(2), 0.0), made, found)
    return float(found[0])
