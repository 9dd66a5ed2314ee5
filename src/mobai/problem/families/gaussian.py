"""Gaussian rewards, or with tails no heavier: of known, unknown and shared standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mobai.errors import InputError
from mobai.problem.families.base import Family, FloatArray, is_number


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
