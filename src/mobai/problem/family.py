"""What is known about the rewards of an objective: the family that their distribution belongs to.

A family says everything that depends on it: how it is written, which rewards are possible, how to draw them in a
simulation, and which *model* the kernels weigh its evidence with (one of :data:`MODELS`). A family of your own derives
from :class:`Family` and names a model whose assumption it satisfies.
"""

from __future__ import annotations

import math
import re
from dataclasses import Field, dataclass, fields
from numbers import Real
from statistics import NormalDist
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
LARGEST_BINS = 10_000
# Cells that grow: how wide one is, relative to where it lies, and over how many powers of ten they go unless stated.
_CELL, _DECADES = 0.0125, 6
# Between which sizes values are told apart where no range is stated.
_SIZES = (1e-5, 1e9)
_EVEN_CELLS = 1_000
_LEAST_LEVEL, _LEAST_SIZE = 1e-6, 1e-50
# In how many steps each number of a pair is kept, and into how many denominators are divided at most.
_PAIRS, _MOST_STEPS_BELOW = 2**26, 24


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
            return _noise_in_range(self, name, means, stated)
        return np.where(np.isnan(stated), 1.0, stated)

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return rewards with this mean and standard deviation, made of standard normal noise.

        In a range they are at one of its ends, with the probability that gives the sd, else at the mean; elsewhere they
        are Gaussian.
        """
        if self.model == "unit":
            return _draw_in_range(*self.range, mean, sd, noise)
        rewards: FloatArray = mean + sd * noise
        return rewards

    def __str__(self) -> str:
        """Return the short form."""
        values = [getattr(self, field.name) for field in stated_fields(self)]
        stated = [repr(float(value)) for value in values if value is not None]
        return f"{self.word}={'..'.join(stated)}" if stated else self.word


def _noise_in_range(family: Family, name: str, means: FloatArray, stated: FloatArray) -> FloatArray:
    low, high = family.range
    if not ((means > low) & (means < high)).all():
        raise InputError("means", f"must lie between {low:g} and {high:g}, both excluded", metric=name)
    largest: FloatArray = np.sqrt((means - low) * (high - means))
    given, exactly = np.where(np.isnan(stated), largest, stated), family.noise_follows_mean
    if (given > largest * (1 + 1e-9)).any() or (exactly and (given < largest * (1 - 1e-9)).any()):
        what = "is that of its means; leave it out" if exactly else "is too large for rewards within their range"
        raise InputError("sd", what, metric=name)
    return np.minimum(given, largest)


def _draw_in_range(low: float, high: float, mean: float, sd: float, noise: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    extreme = min(sd**2 / ((mean - low) * (high - mean)), 1.0)
    top = extreme * (mean - low) / (high - low)
    # Ties between the two quantiles belong to the upper end: then there is no middle.
    at_top, at_bottom = noise >= -ndtri(top), noise < ndtri(extreme - top)
    if extreme == 1.0:
        at_bottom = ~at_top
    rewards: FloatArray = np.where(at_top, high, np.where(at_bottom, low, mean))
    return rewards


@dataclass(frozen=True)
class _Scaled(Family):
    """Families with a standard deviation, or a scale in its place, that may be stated."""

    sd: float | None = None
    model: ClassVar[str] = "normal"
    known_noise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the scale."""
        if self.sd is not None and not (is_number(self.sd) and self.sd > 0):
            raise InputError(self.word, f"sd must be a positive number, at most 1e50, not {self.sd!r}")

    @property
    def scale(self) -> float | None:
        """The standard deviation stated with the family, None if it is not."""
        return self.sd


@dataclass(frozen=True)
class Gaussian(_Scaled):
    """Gaussian rewards of known standard deviation.

    Parameters
    ----------
    sd
        The standard deviation of every arm; left out, it is what the problem's ``sd`` says.
    """

    word: ClassVar[str] = "gaussian"
    exactly_gaussian: ClassVar[bool] = True
    continuous: ClassVar[bool] = True


@dataclass(frozen=True)
class SubGaussian(_Scaled):
    """Rewards with ``E exp(t (X - mean)) <= exp(t^2 sd^2 / 2)`` for every t: tails no heavier than a Gaussian's.

    Parameters
    ----------
    sd
        That scale; left out, it is what the problem's ``sd`` says.
    """

    word: ClassVar[str] = "subgaussian"


@dataclass(frozen=True)
class UnknownVariance(Family):
    """Gaussian rewards whose standard deviation nobody knows; it may differ from arm to arm."""

    word: ClassVar[str] = "unknown-variance"
    model: ClassVar[str] = "student"
    continuous: ClassVar[bool] = True
    hides_extremes: ClassVar[bool] = True


@dataclass(frozen=True)
class SharedVariance(Family):
    """Gaussian rewards with one standard deviation for all arms, which nobody knows."""

    word: ClassVar[str] = "shared-variance"
    model: ClassVar[str] = "shared"
    continuous: ClassVar[bool] = True
    hides_extremes: ClassVar[bool] = True

    def true_noise(self, name: str, means: FloatArray, stated: FloatArray) -> FloatArray:
        """Return the standard deviation of rewards with these means, which must be the same for all arms."""
        noise = super().true_noise(name, means, stated)
        if (noise != noise.flat[0]).any():
            raise InputError("sd", f"must be the same for all arms: its family is {self.word}", metric=name)
        return noise


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
        found: FloatArray = _noise_in_range(self._above, name, means * self.middle, stated * self.middle) / self.middle
        return found

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return pairs with this ratio, packed: all with the middle denominator, and numerators as in a range."""
        above = _draw_in_range(*self._above.range, mean * self.middle, sd * self.middle, noise)
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


@dataclass(frozen=True)
class Wins(Family):
    """Any numbers: an arm is better if it is so on more of the things that both are measured on, by however much."""

    word: ClassVar[str] = "wins"
    model: ClassVar[str] = "student"  # which keeps means and their scatter, to be looked at
    counts_wins: ClassVar[bool] = True


FAMILIES: dict[str, type[Family]] = {
    family.word: family for family in (Gaussian, SubGaussian, UnknownVariance, SharedVariance, Bernoulli, Bounded, Wins)
}


def stated_fields(family: Family | type[Family]) -> list[Field[Any]]:
    """Return the fields that the short form states after the word."""
    return [field for field in fields(family) if field.name != "bins"]


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


def parse_family(text: str) -> Family | None:
    """Read the short form of a family; None if it is not one.

    Examples
    --------
    >>> parse_family("bounded=1..5"), parse_family("gaussian=20"), parse_family("clicks")
    (Bounded(low=1.0, high=5.0, bins=None), Gaussian(sd=20.0), None)
    """
    word, equals, value = text.partition("=")
    if word not in FAMILIES:
        return None
    family = FAMILIES[word]
    if not equals:
        if family is Bounded:
            raise InputError("bounded", "needs the range that no reward leaves: bounded=0..1, bounded=0..200")
        return family()
    if family is Bounded and "/" in value:
        return _ratio_of(value)
    try:
        numbers = [float(part) for part in value.split("..")] if "..." not in value else []
    except ValueError:
        return None
    return family(*numbers) if len(numbers) == len(stated_fields(family)) else None


def _ratio_of(value: str) -> Ratio | None:
    """Read the two ranges of a ratio, ``0..200/1..20``; None if they are not."""
    try:
        (low, high), (least, most) = (map(float, part.split("..")) for part in value.split("/"))
    except ValueError:
        return None
    return Ratio(low, high, least, most)


def short_forms() -> list[str]:
    """Return how each family is written.

    Examples
    --------
    >>> short_forms()
    ['gaussian=SD', 'subgaussian=SD', 'unknown-variance', 'shared-variance', 'bernoulli', 'bounded=LOW..HIGH', 'wins',
    'p95']
    """
    names = {
        word: "..".join(field.name.upper() for field in stated_fields(family)) for word, family in FAMILIES.items()
    }
    return [*(f"{word}={parameters}" if parameters else word for word, parameters in names.items()), "p95"]


def choices_for(name: str) -> str:
    """Return how an objective may say what its rewards are, in plain words."""
    return (
        f"{name}:bernoulli (0 or 1), {name}:bounded=LOW..HIGH (scores, ratings, times and money with a cap), "
        f"{name}:unknown-variance (nearly Gaussian: averages), {name}:shared-variance (the same, equally noisy "
        f"in all arms), {name}:gaussian=SD, or {name}:p95 (a quantile of any numbers)"
    )


def check_family(family: object, name: str) -> None:
    """Refuse what cannot be the family of an objective, and say what it lacks."""
    if not isinstance(family, Family):
        raise InputError(f"the family must be one such as Bernoulli(), not {family!r}", metric=name)
    if not family.word:
        raise InputError(f"the family {type(family).__name__} lacks a word, its name in files", metric=name)
    if family.model not in MODELS:
        raise InputError(
            f"the family {family.word!r} lacks a model, one of {', '.join(MODELS)}, to weigh its evidence with",
            metric=name,
        )
    if (family.model == "normal") != family.known_noise:
        fact = "must say known_noise = True" if family.model == "normal" else "must leave known_noise False"
        raise InputError(f"the family {family.word!r} {fact}, having the model {family.model!r}", metric=name)
    for model, kind in (("quantile", Quantile), ("ratio", Ratio)):
        if family.model == model and not isinstance(family, kind):
            raise InputError(
                f"the family {family.word!r} must derive from {kind.__name__} to have its model", metric=name
            )
    if isinstance(family, Ratio):
        parts_of(name)
    values = [getattr(family, field.name) for field in fields(family)]
    if not all(value is None or is_number(value) for value in values):
        raise InputError(f"the fields of the family {family.word!r} must be numbers, or None", metric=name)
    low, high = family.range
    if not low < high:
        raise InputError(f"the range of the family {family.word!r} must be two numbers, low < high", metric=name)
    if family.model == "unit" and not high - low < math.inf:
        raise InputError(f"the family {family.word!r} lacks a finite range, which 'unit' needs", metric=name)
