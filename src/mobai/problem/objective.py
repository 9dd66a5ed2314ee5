"""A metric: its name and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mobai.errors import InputError

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
    """

    name: str
    direction: Direction = "max"

    def __post_init__(self) -> None:
        """Refuse what could not be written to a file and read back."""
        if not is_name(self.name) or (self.name.startswith("sd(") and self.name.endswith(")")):
            raise InputError(
                "objective: the name must be a non-empty string of printable characters, no space at its ends, "
                f"not of the form sd(...), not {self.name!r}"
            )
        if self.direction not in ("max", "min"):
            raise InputError(f"objective {self.name!r}: the direction must be 'max' or 'min', not {self.direction!r}")

    @property
    def sign(self) -> float:
        """+1 when more is better, -1 when less is: multiply rewards by it and always maximise."""
        return 1.0 if self.direction == "max" else -1.0

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Read the short form used in files and on the command line.

        Examples
        --------
        >>> Objective.parse("latency:min")
        Objective(name='latency', direction='min')
        >>> Objective.parse("clicks")
        Objective(name='clicks', direction='max')
        """
        name, colon, direction = text.strip().rpartition(":")
        if colon and direction in ("max", "min"):
            return cls(name.strip(), "max" if direction == "max" else "min")
        return cls(text.strip())

    def __str__(self) -> str:
        """Give the short form that :meth:`parse` reads back."""
        explicit = self.direction == "min" or Objective.parse(self.name).name != self.name
        return f"{self.name}:{self.direction}" if explicit else self.name
