"""What files of results hold: numbers of a system on an item of a task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

# What follows a metric's name in an objective: a share, a cost of which the smaller one wins, and any number.
SHARE, LESS_WINS, MORE_WINS = "bounded=0..1", "min:wins", "wins"


class Cell(NamedTuple):
    """What a system brought on an item of a task: a number per metric, None where there is none."""

    system: Mapping[str, str]
    task: str
    item: str
    numbers: Mapping[str, float | None]


@dataclass
class ResultFile:
    """What one file holds.

    Attributes
    ----------
    metrics
        By name: what follows it in an objective; what a tool says about its scores, not what these look like.
    """

    path: Path
    tool: str
    cells: list[Cell] = field(default_factory=list)
    metrics: dict[str, str] = field(default_factory=dict)

    def add(self, system: Mapping[str, str], task: str, item: str, numbers: Mapping[str, float | None]) -> None:
        """Append what a system brought."""
        self.cells.append(Cell(system, task, item, numbers))


def number(value: Any) -> float | None:
    """Return a finite number, or a truth as 0 or 1; None for anything else."""
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


def metric_name(text: Any) -> str:
    """Return what a metric is called, without the colons that an objective is written with."""
    return " ".join(str(text).replace(":", " ").split())
