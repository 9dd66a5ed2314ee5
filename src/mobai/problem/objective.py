"""A metric: its name, which direction is better, what is known of its rewards, and which differences matter."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from mobai.errors import InputError
from mobai.problem.family import FAMILIES, Family, Gaussian, check_family, is_number, parse_family, short_forms

Direction = Literal["max", "min"]


def is_name(value: object) -> bool:
    """Whether this can be a name in a file: printable, not empty, without space at its ends."""
    return isinstance(value, str) and value == value.strip() != "" and value.isprintable()


@dataclass(frozen=True)
class Objective:
    """A metric to be optimised.

    Parameters
    ----------
    name
        How the metric is called in files and reports.
    direction
        ``"max"`` when more is better, ``"min"`` when less is.
    family
        What is known about its rewards: :class:`Gaussian`, :class:`UnknownVariance`, :class:`Bernoulli`,
        :class:`Bounded` or :class:`SubGaussian`.
    eps
        Differences that do not matter: any arm within eps of the best is a right answer.
    """

    name: str
    direction: Direction = "max"
    family: Family = field(default_factory=Gaussian)
    eps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what could not be written to a file and read back."""
        if not is_name(self.name) or (self.name.startswith("sd(") and self.name.endswith(")")):
            raise InputError(
                "objective: the name must be a non-empty string of printable characters, no space at its ends, "
                f"not of the form sd(...), not {self.name!r}"
            )
        if self.direction not in ("max", "min"):
            raise InputError(f"objective {self.name!r}: the direction must be 'max' or 'min', not {self.direction!r}")
        check_family(self.family, self.name)
        low, high = self.family.range
        if not is_number(self.eps) or not 0 <= self.eps < high - low:
            width = "" if high == math.inf else f", less than {high - low:g}"
            raise InputError(f"objective {self.name!r}: eps must be a number, 0 or more{width}, not {self.eps!r}")

    @property
    def sign(self) -> float:
        """+1 when more is better, -1 when less is: multiply rewards by it and always maximise."""
        return 1.0 if self.direction == "max" else -1.0

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Read the short form used in files and on the command line: the name, then options after colons.

        Options are a direction (``max``, ``min``), a family (``gaussian=20``, ``unknown-variance``, ``bernoulli``,
        ``bounded=1..5``, ``subgaussian=2``) and ``eps=0.1``, in any order.

        Examples
        --------
        >>> Objective.parse("latency:min")
        Objective(name='latency', direction='min', family=Gaussian(sd=None), eps=0.0)
        >>> Objective.parse("rating:bounded=1..5:eps=0.1").family
        Bounded(low=1.0, high=5.0)
        """
        name, options = text.strip(), dict[str, Any]()
        while True:
            rest, colon, last = name.rpartition(":")
            option = _option(last.strip()) if colon else None
            if option is None or option[0] in options:
                return cls(name, **options)
            options[option[0]] = option[1]
            name = rest.strip()

    def __str__(self) -> str:
        """Return the short form that :meth:`parse` reads back."""
        # A name that looks like a short form is protected by stating every option.
        explicit = Objective.parse(self.name).name != self.name
        parts = [self.name]
        if self.direction == "min" or explicit:
            parts.append(self.direction)
        if self.family != Gaussian() or explicit:
            parts.append(str(self.family))
        if self.eps or explicit:
            parts.append(f"eps={float(self.eps)!r}")
        return ":".join(parts)


def _option(text: str) -> tuple[str, Any] | None:
    """Read one option of the short form; None if it is part of the name."""
    if text in ("max", "min"):
        return "direction", text
    family = parse_family(text)
    if family is not None:
        return "family", family
    key, equals, value = text.partition("=")
    if equals and key == "eps":
        try:
            return "eps", float(value)
        except ValueError:
            raise InputError(f"objective: eps must be a number, not {value!r}") from None
    if equals and key in FAMILIES:
        raise InputError(f"objective: {text!r} must be one of {', '.join(short_forms())}")
    return None
