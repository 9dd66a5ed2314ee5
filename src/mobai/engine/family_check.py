"""Does the family that was stated visibly not hold? Then a verdict does not call itself certified.

Four things are looked for, none of which a proof can see:

- Rewards of a continuous family that repeat. Rounding makes some of them equal. With a grid of width h and a smooth
  density, a reward equals the one before with probability about h f, and differs from it by at most half a standard
  deviation s/2, but not by nothing, with probability about s f: so of all rewards that are that close, a share of
  h / (s + h) is equal, a third at most as long as h <= s/2. A larger share, or an arm with nothing but equal rewards,
  and they are of another kind: clicks, ratings, times that are cut off, zeros for what is missing.
- Rewards that scatter far more than the standard deviation that was stated, or one arm's far more than those of the
  others where all were said to scatter alike.
- Once something is decided, rewards that are skewed or have heavier or lighter tails than Gaussian ones of unknown
  variance (the tests of D'Agostino 1970 and of Anscombe and Glynn 1983, one in a thousand over all arms).
- Once something is decided, rewards each of which is like the one before it (von Neumann 1941, likewise).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.kernels.programs.dense import Integers
from mobai.kernels.stats.repeats import RepeatArrays, count_repeats
from mobai.problem import FloatArray, Problem
from mobai.theory.observations import Moment, Observations

# How unlikely repeats or scatter must be before they count against a family, and how much sd must be exceeded.
_UNLIKELY_REPEATS = 0.01
_UNLIKELY_SCATTER = 1e-3
_SD_EXCEEDED = 1.25
_LARGEST_SHARE = 1 / 3
_UNLIKELY_SHAPE = 1e-3
_FEWEST_FOR_SHAPE = 20
# Squares below this lose their digits.
_LEAST_SCATTER = 1e-290
_ROUNDED_AWAY = "differ by too little for numbers of 16 digits beside the others; report them in other units, or apart"
_ADVICE = "report it unrounded, or begin a new experiment with bounded=LOW..HIGH"


class FamilyCheck:
    """Follows the rewards of an experiment, and says where they contradict their family."""

    def __init__(self, problem: Problem) -> None:
        shape = len(problem.metrics), problem.shape[0]
        self._found = RepeatArrays(np.full(shape, np.nan), *np.zeros((len(RepeatArrays._fields) - 1, *shape)))

    def tell_all(self, moment: Moment, observations: Observations, *, in_order: bool) -> None:
        """Take in the rewards of several pulls, and what is observed with them; whether their order means anything."""
        arms, rewards, arrays = moment.arms, moment.rewards, observations.arrays
        places = arms.repeat(rewards.shape[1]).reshape(rewards.shape)
        if not in_order:
            places, rewards = _shuffled(places, rewards)
        count_repeats(self._found, places, rewards, arrays.counts, arrays.scatter)

    @property
    def repeats(self) -> RepeatArrays:
        """What was found so far, in the arrays that the kernels read."""
        return self._found

    def add_arm(self) -> None:
        """Make room for one more arm."""
        self._found = RepeatArrays(*(np.hstack([table, np.zeros((len(table), 1))]) for table in self._found))
        self._found.last[:, -1] = np.nan

    def doubts(
        self, problem: Problem, observations: Observations, decided: Sequence[bool] = ()
    ) -> tuple[str | None, ...]:
        """Return, per metric, what speaks against its family and which one to use, or None.

        The shape of rewards is looked at in objectives that are ``decided``.
        """
        found = [self._doubt(problem, observations, m) for m in range(len(problem.metrics))]
        for m, settled in enumerate(decided):
            if settled and found[m] is None:
                found[m] = self._doubt_of_shape(problem, m)
        return tuple(found)

    def _doubt_of_shape(self, problem: Problem, m: int) -> str | None:
        """Return what speaks against independent Gaussian rewards, or None."""
        family, found = problem.metrics[m].family, self._found
        if family.known_noise or not family.continuous:
            return None
        arms, counts = problem.arms, found.told[m]
        arm = _least_likely(_dependence(counts, found.second[m], found.steps[m]))
        if arm is not None:
            return f"rewards of {arms[arm]!r} are like the one before, not independent; begin anew, and tell each once"
        arm = _least_likely(_shape(counts, found.second[m], found.third[m], found.fourth[m]))
        if arm is not None:
            return (
                f"the rewards of {arms[arm]!r} are not bell-shaped (skewed, or with extremes); begin a new experiment "
                "with bounded=LOW..HIGH, where what is beyond counts as the end"
            )
        return None

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything, in arrays."""
        return self._found._asdict()

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`state` returned; ValueError or KeyError if it cannot have."""
        arrays = RepeatArrays(*(state[name] for name in RepeatArrays._fields))
        for array in arrays:
            if array.dtype != np.float64 or array.shape[0] != self._found.last.shape[0]:
                raise ValueError("repeats: not tables of numbers")
        self._found = arrays

    def _doubt(self, problem: Problem, observations: Observations, m: int) -> str | None:
        family, arrays = problem.metrics[m].family, observations.arrays
        neighbours = np.maximum(arrays.counts[m] - 1, 0)
        pairs = float(neighbours.sum())
        if pairs == 0:
            return None
        lost = _lost_in_rounding(observations, m)
        if lost is not None:
            return f"the rewards of {problem.arms[lost]!r} {_ROUNDED_AWAY}"
        if family.known_noise:
            excess = float((arrays.scatter[m] / problem.sd[:, m] ** 2).sum())
            if exceeds(excess, pairs):
                found = math.sqrt(excess / pairs)
                return (
                    f"rewards scatter {found:.3g} times as much as the sd stated; use unknown-variance or a larger sd"
                )
        repeats = self._found.repeats[m]
        constant = (neighbours >= 2) & (repeats == neighbours)
        if family.continuous and (
            constant.any() or repeats_too_often(int(repeats.sum()), int(self._found.near[m].sum()))
        ):
            share = f"{repeats.sum():,.0f} of {pairs:,.0f} rewards equal the one before, more than rounding explains"
            seen = np.isfinite(self._found.last[m])
            zero_or_one = np.isin(np.abs(self._found.last[m][seen]), (0.0, 1.0)).all()
            if zero_or_one and (np.abs(observations.means[seen, m]) <= 1.0).all():
                return f"{share}; if they are 0 or 1, begin a new experiment with bernoulli"
            return f"{share}; {_ADVICE}"
        loud = _noisiest(arrays.scatter[m], neighbours) if family.shares_noise else None
        if loud is not None:
            return (
                f"the rewards of {problem.arms[loud]!r} scatter far more than those of the other arms; begin a new "
                "experiment with unknown-variance"
            )
        return None


def _least_likely(chances: FloatArray) -> int | None:
    """Return the arm with the smallest chance, if that is too small for the smallest of all arms."""
    arm = int(chances.argmin())
    return arm if chances[arm] < _UNLIKELY_SHAPE / len(chances) else None


def _dependence(n: FloatArray, second: FloatArray, steps: FloatArray) -> FloatArray:
    """Return, per arm, the chance of rewards so much like the one before, if they were independent Gaussian ones."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        z = (1 - steps / (2 * second)) * np.sqrt((n * n - 1) / (n - 2))
    return np.where((n >= _FEWEST_FOR_SHAPE) & (second > 0), ndtr(-z), 1.0)


def _shape(n: FloatArray, second: FloatArray, third: FloatArray, fourth: FloatArray) -> FloatArray:
    """Return, per arm, the chance of so much skewness and kurtosis in Gaussian rewards: both transformed to normal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = second / n
        skewness, kurtosis = third / n / variance**1.5, fourth / n / variance**2
        square = _normal_skewness(skewness, n) ** 2 + _normal_kurtosis(kurtosis, n) ** 2
    return np.where((n >= _FEWEST_FOR_SHAPE) & (second > 0), np.exp(-square / 2), 1.0)


def _normal_skewness(skewness: FloatArray, n: FloatArray) -> FloatArray:
    """Return the skewness of Gaussian rewards as a standard normal number (D'Agostino 1970)."""
    y = skewness * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w = np.sqrt(2 * (beta - 1)) - 1
    scaled = y / np.sqrt(2 / (w - 1))
    found: FloatArray = np.arcsinh(scaled) / np.sqrt(0.5 * np.log(w))
    return found


def _normal_kurtosis(kurtosis: FloatArray, n: FloatArray) -> FloatArray:
    """Return the kurtosis of Gaussian rewards as a standard normal number (Anscombe and Glynn 1983)."""
    expected = 3 * (n - 1) / (n + 1)
    spread = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - expected) / np.sqrt(spread)
    skew = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6 + 8 / skew * (2 / skew + np.sqrt(1 + 4 / skew**2))
    root = np.cbrt((1 - 2 / a) / np.abs(1 + x * np.sqrt(2 / (a - 4)))) * np.sign(1 + x * np.sqrt(2 / (a - 4)))
    found: FloatArray = (1 - 2 / (9 * a) - root) / np.sqrt(2 / (9 * a))
    return found


def _lost_in_rounding(observations: Observations, m: int) -> int | None:
    """Return an arm whose mean is not known as well as its rewards scatter, because numbers have 16 digits; or None.

    Means are kept relative to the first reward of all: one that is far from the others takes their last digits.
    """
    arrays, known_noise = observations.arrays, observations.families[m].known_noise
    if observations.families[m].histogram_bins or observations.families[m].functional:
        return None
    several = arrays.counts[m] >= 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.sqrt(arrays.spread[m] if known_noise else arrays.scatter[m]) / 100
        if not known_noise:
            error /= arrays.counts[m]
        rounded = 2e-16 * np.abs(np.where(several, arrays.means[m], 0.0)) > error
    # Equal rewards have no scatter; others whose squares are too small for a number have none either.
    if not known_noise:
        rounded &= arrays.scatter[m] > 0
        rounded |= (arrays.scatter[m] < _LEAST_SCATTER) & (arrays.sums[m] != 0)
    found = np.flatnonzero(several & rounded)
    return int(found[0]) if len(found) else None


def _shuffled(places: Integers, rewards: FloatArray) -> tuple[Integers, FloatArray]:
    """Return each column of a batch in an order that depends on what is in it, not on how it was given."""
    mixed = np.random.default_rng(0).permutation(len(rewards))
    order = np.lexsort((rewards, places), axis=0)[mixed]
    return np.take_along_axis(places, order, 0), np.take_along_axis(rewards, order, 0)


def chance_of_shape(values: FloatArray) -> float:
    """Return the chance of so much skewness and kurtosis in Gaussian numbers."""
    away = values - values.mean()
    moments = (np.array([float((away**power).sum())]) for power in (2, 3, 4))
    return float(_shape(np.array([float(len(values))]), *moments)[0])


def exceeds(excess: float, degrees: float) -> bool:
    """Whether a chi-square variable is far beyond what chance explains."""
    if excess <= _SD_EXCEEDED**2 * degrees:
        return False
    from scipy.special import chdtrc

    return bool(chdtrc(degrees, excess) < _UNLIKELY_SCATTER)


def _noisiest(scatter: FloatArray, degrees: FloatArray) -> int | None:
    """Return the arm that scatters more than chance explains if all have the same variance, None if there is none."""
    others, rest = scatter.sum() - scatter, degrees.sum() - degrees
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (scatter / degrees) / (others / rest)
    arms = np.flatnonzero((degrees > 0) & (rest > 0) & (ratio > _SD_EXCEEDED**2))
    if not len(arms):
        return None
    from scipy.special import fdtrc

    tails = fdtrc(degrees[arms], rest[arms], ratio[arms])
    return int(arms[tails.argmin()]) if tails.min() < _UNLIKELY_SCATTER / len(scatter) else None


def repeats_too_often(equal: int, near: int) -> bool:
    """Whether, of all numbers close to the one before, more are equal to it than rounding explains."""
    close = equal + near
    if equal <= _LARGEST_SHARE * close:
        return False
    from scipy.special import bdtrc

    return bool(bdtrc(equal - 1, close, _LARGEST_SHARE) < _UNLIKELY_REPEATS)
