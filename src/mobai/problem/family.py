"""What is known about the rewards of an objective: the family that their distribution belongs to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from mobai.errors import InputError

_LARGEST = 1e100


def is_number(value: object) -> bool:
    """Whether this is a real number of a usual size."""
    return isinstance(value, Real) and not isinstance(value, bool) and abs(value) <= _LARGEST  # type: ignore[operator]


@dataclass(frozen=True)
class Family:
    """What all families have: a name, a range that rewards stay in, and the standard deviation if it is stated."""

    @property
    def scale(self) -> float | None:
        """The standard deviation stated with the family, None if it is not."""
        return None

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return -math.inf, math.inf

    def accepts(self, reward: float) -> bool:
        """Whether this can be a reward."""
        low, high = self.range
        return low <= reward <= high


@dataclass(frozen=True)
class _Scaled(Family):
    """Families with a standard deviation, or a scale in its place, that may be stated."""

    sd: float | None = None
    word: ClassVar[str]

    def __post_init__(self) -> None:
        """Check the scale."""
        if self.sd is not None and not (is_number(self.sd) and self.sd > 0):
            raise InputError(f"{self.word}: sd must be a positive number, not {self.sd!r}")

    @property
    def scale(self) -> float | None:
        """The standard deviation stated with the family, None if it is not."""
        return self.sd

    def __str__(self) -> str:
        """Give the short form."""
        return self.word if self.sd is None else f"{self.word}={float(self.sd)!r}"


@dataclass(frozen=True)
class Gaussian(_Scaled):
    """Gaussian rewards of known standard deviation.

    Parameters
    ----------
    sd
        The standard deviation of every arm; left out, it is what the problem's ``sd`` says (1 if that says nothing).
    """

    word: ClassVar[str] = "gaussian"


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

    def __str__(self) -> str:
        """Give the short form."""
        return "unknown-variance"


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards that are 0 or 1."""

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return 0.0, 1.0

    def accepts(self, reward: float) -> bool:
        """Whether this can be a reward."""
        return reward in (0.0, 1.0)

    def __str__(self) -> str:
        """Give the short form."""
        return "bernoulli"


@dataclass(frozen=True)
class Bounded(Family):
    """Rewards between two known numbers, of any distribution."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Check the ends."""
        if not is_number(self.low) or not is_number(self.high) or not self.low < self.high:
            raise InputError(
                f"bounded: low must be a number below high, at most 1e100 in size, not {self.low!r} and {self.high!r}"
            )

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return float(self.low), float(self.high)

    def __str__(self) -> str:
        """Give the short form."""
        return f"bounded={float(self.low)!r}..{float(self.high)!r}"


_PLAIN: dict[str, Callable[[], Family]] = {
    "gaussian": Gaussian,
    "subgaussian": SubGaussian,
    "unknown-variance": UnknownVariance,
    "bernoulli": Bernoulli,
    "bounded": Bounded,
}
FAMILIES = tuple(_PLAIN)


def parse_family(text: str) -> Family | None:
    """Read the short form of a family; None if it is not one.

    Examples
    --------
    >>> parse_family("bounded=1..5"), parse_family("gaussian=20"), parse_family("clicks")
    (Bounded(low=1.0, high=5.0), Gaussian(sd=20.0), None)
    """
    name, equals, value = text.partition("=")
    if not equals:
        return _PLAIN[name]() if name in _PLAIN else None
    wanted = {"gaussian": 1, "subgaussian": 1, "bounded": 2}.get(name)
    try:
        numbers = [float(part) for part in value.split("..")]
    except ValueError:
        return None
    if len(numbers) != wanted:
        return None
    if name == "bounded":
        return Bounded(*numbers)
    return Gaussian(*numbers) if name == "gaussian" else SubGaussian(*numbers)
