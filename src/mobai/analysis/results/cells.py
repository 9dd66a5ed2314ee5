"""What files of results hold: numbers of a system on an item of a task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = ("arm", "item")  # of the table that all of them become
_LARGEST = 1e100
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
        """Append what a system brought. Of a metric that leaves its range after all, wins count."""
        for name, value in numbers.items():
            if self.metrics.get(name) == SHARE and value is not None and not 0 <= value <= 1:
                self.metrics[name] = MORE_WINS
        self.cells.append(Cell(system, task, item, numbers))


def number(value: Any) -> float | None:
    """Return a finite number, or a truth as 0 or 1; None for anything else."""
    if not isinstance(value, bool | int | float) or abs(value) > _LARGEST or math.isnan(value):
        return None
    return float(value)


def metric_name(text: Any) -> str:
    """Return what a metric is called, without the colons that an objective is written with, and never like a column."""
    name = plain(str(text).replace(":", " ")) or "no name"
    return f"{name} (metric)" if name in COLUMNS else name


def plain(text: str) -> str:
    """Return a text in one line, without characters that cannot be seen."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
