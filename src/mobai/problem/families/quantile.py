"""A quantile of rewards of any distribution."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from mobai.errors import InputError
from mobai.problem.families.base import Family, FloatArray, is_number
from mobai.problem.families.bounded import Bounded

# Cells that grow: how wide one is, relative to where it lies, and over how many powers of ten they go unless stated.
_CELL, _DECADES = 0.0125, 6
# Between which sizes values are told apart where no range is stated.
_SIZES = (1e-5, 1e9)
_EVEN_CELLS = 1_000
_LEAST_LEVEL, _LEAST_SIZE = 1e-6, 1e-50


@dataclass(frozen=True)
class Quantile(Family):
    """Any numbers, of which a quantile is compared: the median, the slowest twentieth.

    The standard deviation of an instance is here that of the quantile, per reward.

    Parameters
    ----------
    level
        Which quantile, between 0 and 1: 0.95 for what 95 in 100 rewards stay below.
    low, high
        The range that no reward leaves; left out, rewards are not negative, and those above a billion are counted, but
        not told apart.
    bins
        In how many cells rewards are counted; left out, they are 1.25 % wide, or a thousand where numbers may be
        negative. Quantiles that lie in one cell are not told apart.
    """

    level: float = 0.5
    low: float | None = None
    high: float | None = None
    bins: int | None = None
    word: ClassVar[str] = "quantile"
    model: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        """Check the level and the range; a level has ten digits, as it is written."""
        if not is_number(self.level) or not _LEAST_LEVEL <= self.level <= 1 - _LEAST_LEVEL:
            least, most = 100 * _LEAST_LEVEL, 100 * (1 - _LEAST_LEVEL)
            said = f"level must be from p{least:.6g} to p{most:.6g}, such as p95, not {self.level!r}"
            raise InputError("quantile", said)
        object.__setattr__(self, "level", level_of(self.functional))
        if (self.low is None) != (self.high is None):
            raise InputError("quantile", "low and high go together: state both, or none")
        if self.low is not None and self.high is not None:
            Bounded(self.low, self.high, self.bins)
            if not max(abs(self.low), abs(self.high)) >= _LEAST_SIZE:
                raise InputError("quantile", f"the range must reach {_LEAST_SIZE:g} in size at least")
        elif self.bins is not None:
            raise InputError("quantile", "bins go with a range")

    @property
    def functional(self) -> str:
        """``p95`` for the level 0.95."""
        return f"p{100 * self.level:.10g}"

    @property
    def range(self) -> tuple[float, float]:
        """Where quantiles lie."""
        return (0.0, math.inf) if self.low is None or self.high is None else (float(self.low), float(self.high))

    @property
    def edges(self) -> FloatArray:
        """The borders of the cells, from the lower end of the range to the upper."""
        low, high = (0.0, _SIZES[1]) if self.low is None or self.high is None else (self.low, self.high)
        if low < 0:
            return np.linspace(low, high, (self.bins or _EVEN_CELLS) + 1)
        first = _SIZES[0] if self.low is None else max(low, high * 10.0**-_DECADES)
        cells = self.bins or math.ceil(math.log(high / first) / math.log1p(_CELL))
        if first == low:
            return np.geomspace(low, high, cells + 1)
        beyond = [math.inf] if self.low is None else []
        return np.concatenate([[low], np.geomspace(first, high, max(cells, 2)), beyond])

    @property
    def accepted(self) -> str:
        """What a reward must be, in words."""
        return super().accepted if self.low is not None else "a number, 0 or more, unless a range is stated"

    def true_noise(self, name: str, means: FloatArray, stated: FloatArray) -> FloatArray:
        """Return the standard deviation of the quantile, per reward: what was stated, or 1."""
        low, high = self.range
        if not ((means >= low) & (means <= high)).all():
            raise InputError("means", f"must lie between {low:g} and {high:g}", metric=name)
        return super().true_noise(name, means, stated)

    def noise_of(self, spread: float) -> float:
        """Return the standard deviation of the quantile, per reward, of Gaussian rewards with a standard deviation."""
        normal = NormalDist()
        return spread * math.sqrt(self.level * (1 - self.level)) / normal.pdf(normal.inv_cdf(self.level))

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return Gaussian rewards with this quantile, of which the quantile has this standard deviation per reward."""
        rewards: FloatArray = mean + sd / self.noise_of(1.0) * (noise - NormalDist().inv_cdf(self.level))
        return np.clip(rewards, *self.range)

    def __str__(self) -> str:
        """Return the short form, without the name of the family."""
        if self.low is None or self.high is None:
            return self.functional
        return f"{self.functional}:{Bounded(self.low, self.high, self.bins)}"


def level_of(word: str) -> float | None:
    """Return the level of a quantile that is written ``p95``; None for any other word.

    Examples
    --------
    >>> level_of("p95"), level_of("p99.9"), level_of("price")
    (0.95, 0.999, None)
    """
    digits = word[1:] if word[:1] == "p" else ""
    return float(f"{digits}e-2") if re.fullmatch(r"\d+(\.\d+)?", digits) else None


def quantile_of(name: str, level: float, family: object) -> Quantile:
    """Return the family of a quantile, with the range that is stated beside it, if one is."""
    try:
        if family is None:
            return Quantile(level)
        if isinstance(family, Bounded):
            return Quantile(level, family.low, family.high, family.bins)
    except InputError as error:
        raise error.within(metric=name) from None
    raise InputError("a quantile is one of any rewards: state nothing but a range, bounded=LOW..HIGH", metric=name)
