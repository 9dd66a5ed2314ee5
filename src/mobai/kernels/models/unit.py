"""Rewards in a known range, of any distribution; those at its two ends alone, with one bin, are coins."""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.evidence.betting import MARGIN, log_wealth, mean_bounds
from mobai.kernels.evidence.coins import coin_parts, log_likelihood, reach_of, spread_parts
from mobai.kernels.evidence.coupled import coupled_score
from mobai.kernels.jit.compiled import kernel
from mobai.kernels.programs.dense import Matrix, Vector
from mobai.kernels.stats.observations import ObservationArrays, count_of, scatter_of


@kernel
def position(obs: ObservationArrays, m: int, i: int) -> float:
    """Return where an arm's mean lies in the range of its objective, between 0 and 1."""
    return min(max(obs.means[m, i] / obs.objectives.width[m], 0.0), 1.0)


@kernel
def cautious_scatter(obs: ObservationArrays, m: int, i: int) -> float:
    """Return an arm's scatter as if there had been half a reward more at either end of the range.

    Equal first rewards do not look like rewards that never vary. Of coins it is what the mean says.
    """
    n, p, width = max(count_of(obs, m, i), 1.0), position(obs, m, i), obs.objectives.width[m]
    mean = (n * p + 0.5) / (n + 1.0)
    if obs.objectives.bins[m] == 1:
        return width * width * n * mean * (1.0 - mean)
    within = scatter_of(obs, m, i) / (width * width)
    return width * width * n * max((within + n * p * p + 0.5) / (n + 1.0) - mean * mean, 0.0)


@kernel
def add_to_histogram(obs: ObservationArrays, m: int, arm: int, value: float) -> None:
    """Enter a reward into its arm's histogram, spread over the two nearest points, which keeps the mean; in place."""
    last = obs.objectives.bins[m]
    place = min(max(value * last / obs.objectives.width[m], 0.0), float(last))
    j = min(int(place), last - 1)
    obs.histograms[m, arm, j] += 1.0 - (place - j)
    obs.histograms[m, arm, j + 1] += place - j


@kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Estimate an arm's standard deviation and the variance of its mean; in place."""
    count = max(count_of(obs, m, i), 1.0)
    obs.sd[m, i] = math.sqrt(cautious_scatter(obs, m, i) / count)
    obs.spread[m, i] = obs.sd[m, i] * obs.sd[m, i] / count


@kernel
def pair_costs(obs: ObservationArrays, m: int, best: int, i: int) -> tuple[float, float]:
    """Return what each arm contributes to the transport cost of a pair.

    Coins vary most: bets on other rewards grow faster, as fast as their scatter allows.
    """
    if obs.objectives.bins[m] == 1:
        return coin_costs(obs, m, best, i)
    width = obs.objectives.width[m]
    n_b, n_i = max(count_of(obs, m, best), 1.0), max(count_of(obs, m, i), 1.0)
    variance_b = cautious_scatter(obs, m, best) / n_b / (width * width)
    variance_i = cautious_scatter(obs, m, i) / n_i / (width * width)
    mean_b, mean_i = position(obs, m, best), position(obs, m, i)
    return spread_parts(n_b, mean_b, variance_b, n_i, mean_i, variance_i, obs.objectives.eps[m] / width)


@kernel
def coin_costs(obs: ObservationArrays, m: int, best: int, i: int) -> tuple[float, float]:
    """Return the same as if the rewards were those of coins."""
    n_b, n_i = max(count_of(obs, m, best), 1.0), max(count_of(obs, m, i), 1.0)
    eps = obs.objectives.eps[m] / obs.objectives.width[m]
    return coin_parts(n_b, position(obs, m, best), n_i, position(obs, m, i), eps)


@kernel
def is_behind(obs: ObservationArrays, m: int, best: int, i: int) -> bool:
    """Whether an arm's mean is below another's by more than eps."""
    return position(obs, m, best) + obs.objectives.eps[m] / obs.objectives.width[m] < position(obs, m, i)


@kernel
def precision(obs: ObservationArrays, m: int, i: int) -> float:
    """Return about how precisely an arm's mean is known, in units of the range."""
    n, width = obs.counts[m, i], obs.objectives.width[m]
    return n * (n + 1.0) / (obs.scatter[m, i] / width / width + 0.25)


@kernel
def pair_score(obs: ObservationArrays, m: int, b: int, i: int, shift: float, level: float, beyond: float) -> float:
    """Return the evidence of a pair; the search begins where the two would meet if they were Gaussian."""
    eps = shift / obs.objectives.width[m]
    if eps >= 1.0:
        return math.inf
    precision_b, precision_i = precision(obs, m, b), precision(obs, m, i)
    both = precision_b + precision_i
    guess = (precision_b * position(obs, m, b) + precision_i * (position(obs, m, i) - eps)) / both
    last = obs.objectives.bins[m]
    return coupled_score(obs.histograms, obs.worst, obs.work, m, b, i, last, eps, guess, level, beyond)


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, null: float, above: bool) -> float:
    """Return the evidence that an arm's mean is above (or below) a null mean, given relative to the offset."""
    point = min(max(null / obs.objectives.width[m], MARGIN), 1.0 - MARGIN)
    return log_wealth(obs.histograms, obs.worst, m, i, obs.objectives.bins[m], point, above)[0]


@kernel
def claim_cost(obs: ObservationArrays, m: int, i: int, apart: float, above: bool) -> float:
    """Return the cost of moving an arm's mean, which is claimed to be above (or below) a null mean, to it."""
    n, own, towards = count_of(obs, m, i), position(obs, m, i), -1.0 if above else 1.0
    point = min(max(own + towards * apart / obs.objectives.width[m], 0.0), 1.0)
    return max(log_likelihood(n, own, own) - log_likelihood(n, own, point), 0.0)


@kernel
def planning_noise(obs: ObservationArrays, m: int, i: int) -> float:
    """Return the standard deviation of Gaussian rewards on which bets would grow as fast as on an arm's.

    Half-way to the leader, or from it to the next.
    """
    sd, width = obs.sd[m, i], obs.objectives.width[m]
    if obs.objectives.bins[m] == 1:
        return sd
    best, leads = position(obs, m, obs.leaders[m]), i == obs.leaders[m]
    half = 0.5 * (best - position(obs, m, i))
    if leads:
        half = 0.5
        for j in range(obs.means.shape[1]):
            if j != i and obs.active[j]:
                half = min(half, 0.5 * (best - position(obs, m, j)))
    mean = best if leads else 1.0 - position(obs, m, i)
    if not 0.0 < half < mean:
        return sd
    reach = reach_of(mean, sd * sd / (width * width))
    share, null = mean / reach, (mean - half) / reach
    growth = log_likelihood(1.0, share, share) - log_likelihood(1.0, share, null)
    return width * half / math.sqrt(2.0 * growth) if growth > 0.0 else sd


def interval(obs: ObservationArrays, m: int, levels: Vector, known: Matrix) -> tuple[Vector, Vector]:
    """Return between which numbers every arm's true mean lies, relative to the lower end of the range.

    ``known`` keeps counts, levels and the bounds that were found for them last time; it is changed in place.
    """
    counts = obs.counts[m] + obs.worst[m]
    bins, width = int(obs.objectives.bins[m]), obs.objectives.width[m]
    mean_bounds(obs.histograms, obs.worst, m, bins, counts, levels, known[:2], known[2], known[3])
    return width * known[2], width * known[3]


def make_up_histograms(obs: ObservationArrays, m: int) -> None:
    """Make up rewards with the means and the scatter there are, at the ends of the range or at the mean; in place."""
    counts, last, width = obs.counts[m], obs.objectives.bins[m], obs.objectives.width[m]
    variance = obs.scatter[m] / np.maximum(counts, 1.0)
    mean = np.clip(np.where(counts > 0, obs.means[m] / width, 0.5), 0.0, 1.0)
    largest = mean * (1.0 - mean)
    extreme = np.divide(variance / width**2, largest, out=np.ones_like(mean), where=largest > 0).clip(0.0, 1.0)
    obs.histograms[m] = 0.0
    obs.histograms[m, :, 0] = counts * extreme * (1.0 - mean)
    obs.histograms[m, :, last] += counts * extreme * mean
    below = np.minimum((mean * last).astype(np.intp), last - 1)
    above, rows = mean * last - below, np.arange(len(counts))
    obs.histograms[m, rows, below] += counts * (1.0 - extreme) * (1.0 - above)
    obs.histograms[m, rows, below + 1] += counts * (1.0 - extreme) * above
