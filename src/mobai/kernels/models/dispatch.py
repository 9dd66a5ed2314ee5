"""One dispatch over the models of rewards, the only place in which their numbers are compared.

A model has a file beside this one. It says what sampling reads (the noise of an arm, the transport cost of a pair or a
limit, and who contributes what to it), what decisions read (the evidence of a pair or a claim), and where means lie.
What is compared is called a mean, whatever it is. Every function ends with the model ``UNIT``: a new model is a branch
before it. How rewards are drawn is up to the family.
"""

from __future__ import annotations

import math

import numpy as np

from mobai.kernels.jit.compiled import inner_kernel, kernel
from mobai.kernels.models import normal, quantile, ratio, shared, student, unit
from mobai.kernels.programs.dense import Matrix, Vector
from mobai.kernels.stats.observations import NORMAL, QUANTILE, RATIO, SHARED, STUDENT, UNIT, ObservationArrays


@inner_kernel
def knows_noise(obs: ObservationArrays, m: int) -> bool:
    """Whether the standard deviations of an objective are known."""
    return obs.objectives.model[m] == NORMAL


@inner_kernel
def shares_noise(obs: ObservationArrays, m: int) -> bool:
    """Whether a reward of one arm changes what is known of the noise of all, and evidence needs a bound for it."""
    return obs.objectives.model[m] == SHARED


@inner_kernel
def has_range(obs: ObservationArrays, m: int) -> bool:
    """Whether rewards lie in a known range."""
    return obs.objectives.model[m] == UNIT


@inner_kernel
def compares_means(obs: ObservationArrays, m: int) -> bool:
    """Whether what is compared is the mean of the rewards, not another number of theirs."""
    return obs.objectives.model[m] < QUANTILE


@kernel
def take_in(obs: ObservationArrays, m: int, arm: int, reward: float) -> None:
    """Enter a reward of which not the mean is compared; in place."""
    if obs.objectives.model[m] == QUANTILE:
        quantile.count_reward(obs, m, arm, reward)
    else:
        ratio.add_pair(obs, m, arm, reward)
    obs.means[m, arm] = estimate(obs, m, arm)


@kernel
def estimate(obs: ObservationArrays, m: int, arm: int) -> float:
    """Return what is compared, where it is not the mean, as it looks."""
    if obs.objectives.model[m] == QUANTILE:
        return quantile.estimate(obs, m, arm)
    return ratio.estimate(obs, m, arm)


@inner_kernel
def is_gaussian(obs: ObservationArrays, m: int) -> bool:
    """Whether costs are those of Gaussian rewards with the standard deviations in the table."""
    return obs.objectives.model[m] == NORMAL or obs.objectives.model[m] == SHARED


@inner_kernel
def renew_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Renew an arm's standard deviation, where it is not known, and the variance of its mean; in place.

    One that is shared is renewed for all arms.
    """
    if obs.objectives.model[m] == NORMAL:
        normal.renew_noise(obs, m, i)
    else:
        estimate_noise(obs, m, i)


@kernel
def estimate_noise(obs: ObservationArrays, m: int, i: int) -> None:
    """Estimate an arm's standard deviation and the variance of its mean; in place."""
    if obs.objectives.model[m] == SHARED:
        shared.renew_noise(obs, m)
    elif obs.objectives.model[m] == STUDENT:
        student.renew_noise(obs, m, i)
    elif obs.objectives.model[m] == QUANTILE:
        quantile.renew_noise(obs, m, i)
    elif obs.objectives.model[m] == RATIO:
        ratio.renew_noise(obs, m, i)
    else:
        unit.renew_noise(obs, m, i)


@kernel
def gap_between(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return how far an arm is behind the leader, plus eps."""
    if obs.objectives.model[m] == STUDENT:
        return student.gap_between(obs, m, best, i, obs.objectives.eps[m])
    return obs.means[m, best] - obs.means[m, i] + obs.objectives.eps[m]


@kernel
def estimated_cost(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return the transport cost of a pair whose noise is not in the table of standard deviations."""
    if obs.objectives.model[m] == STUDENT:
        return student.pair_cost(obs, m, best, i)
    if obs.objectives.model[m] == QUANTILE:
        own, other = quantile.pair_costs(obs, m, best, i)
        return own + other
    if obs.objectives.model[m] == RATIO:
        return normal.pair_cost(obs, m, best, i)
    if unit.is_behind(obs, m, best, i):
        return 0.0
    own, other = unit.pair_costs(obs, m, best, i)
    return own + other


@kernel
def contributions(obs: ObservationArrays, m: int, best: int, i: int) -> tuple[float, float]:
    """Return what the leader and its challenger contribute to their transport cost, up to a factor.

    Where nothing separates them, and for Gaussian rewards always, that is the variance of their means.
    """
    if obs.objectives.model[m] == STUDENT:
        leaders = student.leaders_share(obs, m, best, i)
        return leaders, 1.0 - leaders
    if obs.objectives.model[m] == QUANTILE and obs.costs[m, i] > 0.0:
        return quantile.pair_costs(obs, m, best, i)
    if obs.objectives.model[m] == UNIT and obs.costs[m, i] > 0.0:
        return unit.pair_costs(obs, m, best, i)
    return obs.spread[m, best], obs.spread[m, i]


@kernel
def likelihood_cost(obs: ObservationArrays, m: int, best: int, i: int) -> float:
    """Return the likelihood ratio statistic of a pair, which the thresholds of the literature are proven for.

    In a range it is that of coins, which no rewards in the range are below; the transport cost must be up to date.
    """
    if obs.objectives.model[m] == UNIT and obs.objectives.bins[m] > 1:
        own, other = unit.coin_costs(obs, m, best, i)
        return own + other
    return obs.costs[m, i]


@kernel
def planning_noise(obs: ObservationArrays, m: int, i: int) -> float:
    """Return the standard deviation to plan an arm with."""
    return unit.planning_noise(obs, m, i) if obs.objectives.model[m] == UNIT else obs.sd[m, i]


@inner_kernel
def largest_score(obs: ObservationArrays, m: int, i: int) -> float:
    """Return what the evidence of an arm's pair with the leader cannot exceed, given its cost; infinite if unknown."""
    model = obs.objectives.model[m]
    if model == NORMAL or (model == UNIT and obs.objectives.bins[m] == 1):
        return obs.costs[m, i]
    return obs.costs[m, i] + 2.0 * math.log(2.0) if model == STUDENT else math.inf


@kernel
def noise_at(obs: ObservationArrays, m: int, level: float) -> float:
    """Return the bound for a shared standard deviation that evidence at a level uses; 1 where there is none."""
    return shared.noise_bound(obs, m, level) if obs.objectives.model[m] == SHARED else 1.0


@kernel
def pair_score(
    obs: ObservationArrays,
    m: int,
    b: int,
    i: int,
    shift: float,
    noise: float,
    rivals: float,
    level: float,
    beyond: float,
) -> float:
    """Return the evidence that one arm's mean, moved up by a shift, is above that of another.

    ``noise`` is the bound of a shared standard deviation, where there is one, and ``rivals`` the number of pairs that
    share the errors of the better arm. Where the evidence is not above ``level``, any number that is not may come back,
    and where it is above ``beyond``, any that is.
    """
    model = obs.objectives.model[m]
    if model == NORMAL:
        return normal.pair_score(obs, m, b, i, shift, level, beyond)
    if model == SHARED:
        return shared.pair_score(obs, m, b, i, shift, noise, level, beyond)
    if model == STUDENT:
        return student.pair_score(obs, m, b, i, shift, rivals, level, beyond)
    if model == QUANTILE:
        return quantile.pair_score(obs, m, b, i, shift, level, beyond)
    if model == RATIO:
        return ratio.pair_score(obs, m, b, i, shift, level, beyond)
    return unit.pair_score(obs, m, b, i, shift, level, beyond)


@kernel
def claim_score(obs: ObservationArrays, m: int, i: int, null: float, apart: float, above: bool, noise: float) -> float:
    """Return the evidence that an arm's mean is above (or below) a null mean, ``apart`` being its distance from it."""
    model = obs.objectives.model[m]
    if model == NORMAL:
        return normal.claim_score(obs, m, i, apart)
    if model == SHARED:
        return shared.claim_score(obs, m, i, apart, noise)
    if model == STUDENT:
        return student.claim_score(obs, m, i, apart)
    if model == QUANTILE:
        return quantile.claim_score(obs, m, i, null, above)
    if model == RATIO:
        return ratio.claim_score(obs, m, i, null, above)
    return unit.claim_score(obs, m, i, null, above)


@kernel
def claim_cost(obs: ObservationArrays, m: int, i: int, apart: float, above: bool) -> float:
    """Return the cost of moving an arm's mean, which is claimed to be above (or below) a null mean, to it."""
    if obs.objectives.model[m] == STUDENT:
        return student.claim_cost(obs, m, i, apart)
    if obs.objectives.model[m] == UNIT:
        return unit.claim_cost(obs, m, i, apart, above)
    if obs.objectives.model[m] == QUANTILE:
        return quantile.claim_cost(obs, m, i, apart, above)
    return normal.claim_cost(obs, m, i, apart)


@kernel
def margin_cost(obs: ObservationArrays, m: int, i: int, base: int, apart: float) -> float:
    """Return the transport cost of a margin between an arm and its baseline."""
    if obs.objectives.model[m] == STUDENT:
        return student.margin_cost(obs, m, i, base, apart)
    return normal.margin_cost(obs, m, i, base, apart)


def interval(
    obs: ObservationArrays, m: int, levels: Vector, noise_level: float, known: Matrix
) -> tuple[Vector, Vector]:
    """Return between which numbers the true means of an objective lie, relative to its offset; infinite if nowhere.

    ``levels`` are those of the arms, ``noise_level`` the one at which a shared standard deviation is bounded. ``known``
    is room to keep what was found for the next time.
    """
    model, seen = obs.objectives.model[m], obs.counts[m] > 0
    if model == UNIT:
        return unit.interval(obs, m, levels, known)
    if model == QUANTILE:
        return quantile.interval(obs, m, levels)
    if model == RATIO:
        return ratio.interval(obs, m, levels)
    if model == SHARED:
        half = shared.half_width(obs, m, levels, noise_level)
    else:
        half = (normal if model == NORMAL else student).half_width(obs, m, levels)
    centre, half = np.where(seen, obs.means[m], 0.0), np.where(seen, half, np.inf)
    return centre - half, centre + half


def make_up_details(obs: ObservationArrays) -> None:
    """Make up what models keep beside counts, means and scatter; in place."""
    for m in range(len(obs.leaders)):
        if obs.objectives.model[m] == SHARED:
            shared.make_up_opening(obs, m)
        elif obs.objectives.model[m] == UNIT:
            unit.make_up_histograms(obs, m)
        elif obs.objectives.model[m] == QUANTILE:
            quantile.make_up_counts(obs, m)
        elif obs.objectives.model[m] == RATIO:
            ratio.make_up_pairs(obs, m)
