"""Who is better more often, by however much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mobai.problem.families.base import Family


@dataclass(frozen=True)
class Wins(Family):
    """Any numbers: an arm is better if it is so on more of the things that both are measured on, by however much."""

    word: ClassVar[str] = "wins"
    model: ClassVar[str] = "student"  # which keeps means and their scatter, to be looked at
    counts_wins: ClassVar[bool] = True
