"""Rewards in a known range: coins, and anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mobai.errors import InputError
from mobai.problem.families.base import Family, is_number

LARGEST_BINS = 10_000


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards that are 0 or 1."""

    word: ClassVar[str] = "bernoulli"
    model: ClassVar[str] = "unit"
    noise_follows_mean: ClassVar[bool] = True

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return 0.0, 1.0

    @property
    def histogram_bins(self) -> int:
        """One: rewards are at its two ends."""
        return 1

    def accepts(self, reward: float) -> bool:
        """Whether this can be a reward."""
        return reward in (0.0, 1.0)

    @property
    def accepted(self) -> str:
        """What a reward must be, in words."""
        return "0 or 1"


@dataclass(frozen=True)
class Bounded(Family):
    """Rewards between two known numbers, of any distribution.

    Parameters
    ----------
    low, high
        The ends of the range.
    bins
        Into how many bins it is divided to weigh evidence; left out, about 64. A tighter range helps more than more
        bins.
    """

    low: float = 0.0
    high: float = 1.0
    bins: int | None = None
    word: ClassVar[str] = "bounded"
    model: ClassVar[str] = "unit"

    def __post_init__(self) -> None:
        """Check the ends."""
        if not is_number(self.low) or not is_number(self.high) or not self.low < self.high:
            raise InputError(
                "bounded", f"low must be a number below high, at most 1e100 in size, not {self.low!r} and {self.high!r}"
            )
        is_integer = isinstance(self.bins, int | np.integer) and not isinstance(self.bins, bool)
        if self.bins is not None and not (is_integer and 1 <= self.bins <= LARGEST_BINS):
            raise InputError("bounded", f"bins must be an integer from 1 to {LARGEST_BINS:,}, not {self.bins!r}")

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return float(self.low), float(self.high)

    @property
    def histogram_bins(self) -> int:
        """What was stated, or about 64."""
        return super().histogram_bins if self.bins is None else self.bins

    def __str__(self) -> str:
        """Return the short form; bins are an option of their own."""
        return super().__str__() + ("" if self.bins is None else f":bins={self.bins}")
