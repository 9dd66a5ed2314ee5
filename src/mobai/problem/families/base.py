"""What all families of rewards have, and what those in a known range share."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError

FloatArray = npt.NDArray[np.float64]

_LARGEST = 1e100
# normal: known standard deviation. student: Gaussian, unknown variance per arm. unit: a known range, scaled to [0, 1].
# shared: Gaussian, one unknown variance for all arms. quantile: any distribution, of which a quantile is compared.
# ratio: pairs of numbers in known ranges, of which the ratio of the totals is.
MODELS = ("normal", "student", "unit", "shared", "quantile", "ratio")
_MOST_BINS = 64


def is_number(value: object) -> bool:
    """Whether this is a real number of a usual size."""
    return isinstance(value, Real) and not isinstance(value, bool) and abs(value) <= _LARGEST  # type: ignore[operator]


@dataclass(frozen=True)
class Family:
    """What all families have. The fields of a family are the numbers of its short form, ``word=FIELD..FIELD``.

    Attributes
    ----------
    word
        Its name in files and on the command line.
    model
        The model that weighs its evidence, one of :data:`MODELS`.
    known_noise
        Whether the standard deviation of its rewards is stated beforehand.
    exactly_gaussian
        Whether its rewards are Gaussian of known noise: what some thresholds are proven for.
    noise_follows_mean
        Whether the mean determines the standard deviation.
    continuous
        Whether two rewards are never equal, but for rounding.
    hides_extremes
        Whether the noise is estimated from the rewards alone, so that extremes that have not come yet are not in it.
    counts_wins
        Whether only counts which of two arms is better on the same thing, not by how much.
    """

    word: ClassVar[str] = ""
    model: ClassVar[str] = ""
    known_noise: ClassVar[bool] = False
    exactly_gaussian: ClassVar[bool] = False
    noise_follows_mean: ClassVar[bool] = False
    continuous: ClassVar[bool] = False
    hides_extremes: ClassVar[bool] = False
    counts_wins: ClassVar[bool] = False

    @property
    def scale(self) -> float | None:
        """The standard deviation stated with the family, None if it is not."""
        return None

    @property
    def shares_noise(self) -> bool:
        """Whether all arms have the same standard deviation, which nobody knows."""
        return self.model == "shared"

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return -math.inf, math.inf

    @property
    def functional(self) -> str:
        """What of its rewards is compared: empty for the mean, else how it is written, such as ``p95``."""
        return ""

    def noise_of(self, spread: float) -> float:
        """Return the standard deviation of what is compared, per reward, given that of the rewards."""
        return spread

    @property
    def histogram_bins(self) -> int:
        """Into how many bins the range is divided to weigh evidence: about 64, and whole numbers at their borders.

        0 where there is no range.
        """
        low, high = self.range
        if self.model != "unit":
            return 0
        width = high - low
        whole = width <= _MOST_BINS and width == round(width)
        return int(width) * (_MOST_BINS // int(width)) if whole else _MOST_BINS

    def accepts(self, reward: float) -> bool:
        """Whether this can be a reward."""
        low, high = self.range
        return low <= reward <= high

    @property
    def accepted(self) -> str:
        """What a reward must be, in words."""
        low, high = self.range
        return "a number" if high - low == math.inf else f"a number from {low:g} to {high:g}"

    def true_noise(self, name: str, means: FloatArray, stated: FloatArray) -> FloatArray:
        """Return the standard deviation of rewards with these means, given what was stated (NaN where nothing was).

        In a range it is that of two points at its ends, or less if so stated; elsewhere what was stated, or 1. ``name``
        is the objective's, for error messages.
        """
        if self.model == "unit":
            return noise_in_range(self, name, means, stated)
        return np.where(np.isnan(stated), 1.0, stated)

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return rewards with this mean and standard deviation, made of standard normal noise.

        In a range they are at one of its ends, with the probability that gives the sd, else at the mean; elsewhere they
        are Gaussian.
        """
        if self.model == "unit":
            return draw_in_range(*self.range, mean, sd, noise)
        rewards: FloatArray = mean + sd * noise
        return rewards

    def __str__(self) -> str:
        """Return the short form."""
        values = [getattr(self, field.name) for field in stated_fields(self)]
        stated = [repr(float(value)) for value in values if value is not None]
        return f"{self.word}={'..'.join(stated)}" if stated else self.word


def noise_in_range(family: Family, name: str, means: FloatArray, stated: FloatArray) -> FloatArray:
    """Return the standard deviation of rewards in a range: that of its ends, or less if so stated."""
    low, high = family.range
    if not ((means > low) & (means < high)).all():
        raise InputError("means", f"must lie between {low:g} and {high:g}, both excluded", metric=name)
    largest: FloatArray = np.sqrt((means - low) * (high - means))
    given, exactly = np.where(np.isnan(stated), largest, stated), family.noise_follows_mean
    if (given > largest * (1 + 1e-9)).any() or (exactly and (given < largest * (1 - 1e-9)).any()):
        what = "is that of its means; leave it out" if exactly else "is too large for rewards within their range"
        raise InputError("sd", what, metric=name)
    return np.minimum(given, largest)


def draw_in_range(low: float, high: float, mean: float, sd: float, noise: FloatArray) -> FloatArray:
    """Return rewards at the ends of a range or at their mean, made of standard normal noise."""
    from scipy.special import ndtri

    extreme = min(sd**2 / ((mean - low) * (high - mean)), 1.0)
    top = extreme * (mean - low) / (high - low)
    # Ties between the two quantiles belong to the upper end: then there is no middle.
    at_top, at_bottom = noise >= -ndtri(top), noise < ndtri(extreme - top)
    if extreme == 1.0:
        at_bottom = ~at_top
    rewards: FloatArray = np.where(at_top, high, np.where(at_bottom, low, mean))
    return rewards


def stated_fields(family: Family | type[Family]) -> list[Field[Any]]:
    """Return the fields that the short form states after the word."""
    return [field for field in fields(family) if field.name != "bins"]
