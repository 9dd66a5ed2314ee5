"""What the columns of a log seem to be: which names the arm, which are metrics, and of what kind."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from mobai.analysis.logs import Columns, columns_of
from mobai.errors import InputError
from mobai.problem import FloatArray
from mobai.rows import numbers_in

GUESSED = "what the columns are was guessed from their values"
_ARM_NAMES = (
    "arm", "variant", "variation", "group", "treatment", "version", "prompt", "model", "page", "ad", "condition",
)  # fmt: skip
_NO_METRIC = (
    "id", "index", "row", "timestamp", "date", "datetime", "at", "day", "user", "visitor", "session", "unit",
)  # fmt: skip
_LESS_IS_BETTER = (
    "time", "seconds", "sec", "secs", "ms", "latency", "duration", "cost", "price", "error", "errors", "loss", "memory",
    "size", "bounce", "churn", "refund", "refunds", "complaint", "complaints",
)  # fmt: skip
_MOST_ARMS = 50
_ANSWERS = ("yes", "no", "y", "n", "true", "false")
# Values of a rating; and which share of all is one value, as with money that most do not spend.
_FEW_VALUES, _OFTEN = 11, 0.1


class Guess(NamedTuple):
    """The column that seems to name the arm, what seem to be metrics, as short forms, and columns that may be some.

    Of these it is said which cell is no number.
    """

    arm: str
    objectives: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def command(self, file: str) -> str:
        """Return the command that states what was guessed, but for ranges: those of the data are not to be stated."""
        metrics = [word for one in self.objectives for word in ("--objective", without_range(one))]
        arm = [] if self.arm == "arm" else ["--arm-column", self.arm]
        return shlex.join(["mobai", "analyse", file, *arm, *metrics])


def guess(data: Any, arm: str | None = None, but: Collection[str | None] = ()) -> Guess:
    """Guess which column names the arm, unless it is given, and which are metrics, ``but`` for some.

    InputError if none seems to.
    """
    columns = columns_of(data)
    found = _arm_column(columns) if arm is None else arm
    objectives = [
        text for name, cells in columns.items() if name not in (found, *but) and (text := _objective(name, cells))
    ]
    if not objectives:
        raise InputError("objectives", f"none of the columns {', '.join(columns)} seems to be a metric; name them")
    others = [name for name in columns if name not in (found, *but)]
    left_out = [text for name in others if (text := _not_a_number(name, columns[name]))]
    return Guess(found, tuple(objectives), tuple(left_out))


def without_range(objective: str) -> str:
    """Return a short form with the range left to be filled in: one that is taken from the data proves nothing."""
    return re.sub(r":bounded=[^:]*", ":bounded=LOW..HIGH", objective)


def _not_a_number(name: str, cells: Sequence[Any]) -> str:
    """Return which cell keeps a column, most of whose cells are numbers, from being a metric; nothing if none does."""
    wrong = [n for n, cell in enumerate(cells) if isinstance(cell, str) and cell and not _is_number(cell)]
    if not wrong or (len(wrong) > len(cells) / 2 and not all(_looks_like_one(cells[n]) for n in wrong)):
        return ""
    return f"{name} is left out: row {wrong[0] + 1} is {cells[wrong[0]]!r}, which is no number"


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _looks_like_one(cell: str) -> bool:
    """Whether a text is yes or no, or a number as people write it: 3,5 or 1,000 or with a sign of money."""
    return cell.lower() in _ANSWERS or any(c.isdigit() for c in cell)


def _arm_column(columns: Columns) -> str:
    """Return the column that names the arm: by its own name, else the only one with a few different texts."""
    named = [name for word in _ARM_NAMES for name in columns if word in _words(name) and _is_few(columns[name])]
    texts = [name for name, cells in columns.items() if numbers_in(cells) is None and _is_few(cells)]
    if named or len(texts) == 1:
        return (named or texts)[0]
    which = f"{' or '.join(texts)} may be" if texts else f"none of {', '.join(columns)} seems to be"
    raise InputError("arm", f"which column names the arm? {which}; name it with --arm-column, or arm=")


def _is_few(cells: Sequence[Any]) -> bool:
    """Whether cells have as many different values as there may be arms."""
    kinds = {str(cell) for cell in cells}
    return 2 <= len(kinds) <= min(_MOST_ARMS, max(len(cells) // 2, 2)) and "" not in kinds and "None" not in kinds


def _objective(name: str, cells: Sequence[Any]) -> str | None:
    """Return what a column seems to measure; None for texts, times, numbers of rows and columns of one value."""
    numbers, words = numbers_in([None if cell == "" else cell for cell in cells]), _words(name)
    if numbers is None and all(isinstance(cell, str) for cell in cells):
        numbers = _numbers_among(cells)
    if numbers is None or (words and words[-1] in _NO_METRIC) or ":" in name:
        return None
    told = numbers[~np.isnan(numbers)]
    if len(told) == 0 or (told == told[0]).all() or _counts_rows(told):
        return None
    direction = ":min" if any(word in _LESS_IS_BETTER for word in words) else ""
    return f"{name}{direction}:{_family_of(told)}"


def _family_of(told: FloatArray) -> str:
    """Return the family that numbers seem to be of: coins, a range where a few values come again and again, or none."""
    values, counts = np.unique(told, return_counts=True)
    if set(values.tolist()) <= {0.0, 1.0}:
        return "bernoulli"
    if len(values) <= _FEW_VALUES or counts.max() >= _OFTEN * len(told):
        return f"bounded={values[0]:g}..{values[-1]:g}"
    return "unknown-variance"


def _numbers_among(cells: Sequence[str]) -> FloatArray | None:
    """Return texts as numbers, NaN for empty ones; None if one is neither."""
    if not all(_is_number(cell) for cell in cells if cell):
        return None
    return np.array([float(cell) if cell else np.nan for cell in cells])


def _counts_rows(numbers: FloatArray) -> bool:
    """Whether these are numbers of rows, or times: whole, or large, and never falling."""
    return len(numbers) > 2 and bool((np.diff(numbers) > 0).all())


def _words(name: str) -> list[str]:
    """Return the words of a column's name, such as load and ms in ``loadMs`` or ``load_ms``."""
    spaced = "".join(f" {c}" if c.isupper() and n and name[n - 1].islower() else c for n, c in enumerate(name))
    return "".join(c if c.isalnum() else " " for c in spaced).lower().split()
