"""Two numbers per pull, of whose totals the ratio is compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mobai.errors import InputError
from mobai.problem.families.base import Family, FloatArray, draw_in_range, is_number, noise_in_range
from mobai.problem.families.bounded import Bounded

# In how many steps each number of a pair is kept, and into how many denominators are divided at most.
_PAIRS, _MOST_STEPS_BELOW = 2**26, 24


@dataclass(frozen=True)
class Ratio(Family):
    """Pairs of numbers, of which the ratio of the totals is compared: revenue per session, where a visitor brings both.

    A reward holds both, in one number (:meth:`packed`); each is kept to a part in 67 million of its range.

    Parameters
    ----------
    low, high
        The range of the numerator; low is 0 or more.
    least, most
        The range of the denominator; least is 0 or more.
    """

    low: float = 0.0
    high: float = 1.0
    least: float = 0.0
    most: float = 1.0
    word: ClassVar[str] = "ratio"
    model: ClassVar[str] = "ratio"

    def __post_init__(self) -> None:
        """Check both ranges."""
        for low, high in ((self.low, self.high), (self.least, self.most)):
            if not is_number(low) or not is_number(high) or not 0 <= low < high:
                raise InputError(
                    "bounded", f"of a ratio must be 0 or more, low < high, in either range, not {low!r} and {high!r}"
                )

    @property
    def functional(self) -> str:
        """What is compared."""
        return "ratio"

    @property
    def range(self) -> tuple[float, float]:
        """Where ratios lie."""
        return self.low / self.most, self.high / self.least if self.least > 0 else math.inf

    @property
    def points(self) -> tuple[int, int]:
        """Into how many steps numerators and denominators are divided; whole numbers at their borders, if few."""
        return Bounded(0, self.high).histogram_bins, self._steps_below

    @property
    def _steps_below(self) -> int:
        return int(self.most) if self.most == round(self.most) <= _MOST_STEPS_BELOW else _MOST_STEPS_BELOW

    def accepts(self, reward: float) -> bool:
        """Whether this is a pair, packed."""
        return reward == reward and 0 <= reward < _PAIRS * _PAIRS and reward == math.floor(reward)

    @property
    def accepted(self) -> str:
        """What a reward must be, in words."""
        return "reported as its two numbers"

    def packed(self, name: str, above: float, below: float) -> float:
        """Return one number for a pair; ``name`` is the metric's, for complaints about one of the two."""
        ranges = (self.low, self.high), (self.least, self.most)
        for part, value, (low, high) in zip(parts_of(name), (above, below), ranges, strict=True):
            if not low <= value <= high:
                raise InputError(None, f"must be a number from {low:g} to {high:g}, not {value!r}", metric=part)
        return _step_of(above, self.high) * float(_PAIRS) + _step_of(below, self.most)

    def unpacked(self, reward: float) -> tuple[float, float]:
        """Return the two numbers of a pair: the shortest ones that are kept so."""
        above, below = divmod(reward, float(_PAIRS))
        return _shortest(above, self.high), _shortest(below, self.most)

    @property
    def middle(self) -> float:
        """The denominator of pairs that are made up."""
        return 0.5 * (self.least + self.most)

    def true_noise(self, name: str, means: FloatArray, stated: FloatArray) -> FloatArray:
        """Return the standard deviation of the numerator over the middle denominator: stated, or the largest."""
        found: FloatArray = noise_in_range(self._above, name, means * self.middle, stated * self.middle) / self.middle
        return found

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return pairs with this ratio, packed: all with the middle denominator, and numerators as in a range."""
        above = draw_in_range(*self._above.range, mean * self.middle, sd * self.middle, noise)
        packed: FloatArray = np.round(above / self.high * (_PAIRS - 1)) * _PAIRS + _step_of(self.middle, self.most)
        return packed

    @property
    def _above(self) -> Bounded:
        return Bounded(self.low, self.high)

    def __str__(self) -> str:
        """Return the short form: both ranges."""
        ends = (repr(float(one)) for one in (self.low, self.high, self.least, self.most))
        return "bounded={}..{}/{}..{}".format(*ends)


def _step_of(value: float, most: float) -> int:
    """Return in which step a number of a pair is kept."""
    return round(value / most * (_PAIRS - 1))


def _shortest(step: float, most: float) -> float:
    """Return the shortest number that is kept in a step."""
    exact = step / (_PAIRS - 1) * most
    for digits in range(18):
        found = float(f"{exact:.{digits}g}") if digits else 0.0
        if 0 <= found <= most and _step_of(found, most) == step:
            return found
    return min(exact, most)


def ranges_of(family: Family) -> tuple[tuple[float, float], ...]:
    """Return where what is reported lies: one number, or the two of a ratio."""
    if isinstance(family, Ratio):
        return (family.low, family.high), (family.least, family.most)
    return (family.range,)


def parts_of(name: str) -> tuple[str, str]:
    """Return what is reported for a ratio: the columns of its two numbers, which its name says."""
    above, slash, below = name.partition("/")
    if not slash or not above.strip() or not below.strip() or "/" in below or above.strip() == below.strip():
        raise InputError("a ratio is called after what is reported for it, as in revenue/sessions", metric=name)
    return above.strip(), below.strip()
