"""Find files of results, whatever tool wrote them, and put them into one table per task."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobai.analysis.results import deepeval, inspect, lm_eval, promptfoo
from mobai.analysis.results.cells import LESS_WINS, MORE_WINS, SHARE, Cell, ResultFile, plain
from mobai.errors import InputError, did_you_mean
from mobai.rows import decoded

_READERS = (inspect.read, promptfoo.read, lm_eval.read, deepeval.read)
_LONGEST = 40  # characters of a prompt in the name of a system
_SUFFIXES = (".eval", ".json", ".jsonl")
_TOOLS = "Inspect, promptfoo, lm-evaluation-harness (with --log_samples) or DeepEval"


@dataclass(frozen=True)
class Evaluation:
    """Systems on the items of one task.

    Attributes
    ----------
    task
        What it is called; empty where there is only one.
    rows
        A row per system and item: ``arm``, ``item``, and a number per metric.
    objectives
        What to compare, unless somebody says something else: every metric, as its tool describes it.
    """

    task: str
    rows: list[dict[str, Any]]
    objectives: tuple[str, ...]


def find_results(path: str | Path, task: str | None = None) -> list[Evaluation]:
    """Return the results in a file, or in a folder and all folders in it, task by task; none if they are of no tool.

    Systems are called by what they differ in.
    """
    if not isinstance(path, str | Path):
        raise InputError("path", f"must be a file or folder, not {path!r}")
    place = Path(path)
    if task is not None and not isinstance(task, str):
        raise InputError("task", f"must be the name of a task, not {task!r}")
    if not place.exists():
        raise InputError("data", f"there is no file or folder {str(path)!r}")
    inside = sorted(one for one in place.rglob("*") if one.suffix in _SUFFIXES and one.is_file())
    files = [found for one in (inside if place.is_dir() else [place]) if (found := _read(one)) is not None]
    if not files and place.is_dir():
        raise InputError("data", f"there are no results of {_TOOLS} in {str(path)!r}")
    cells = _named([cell for one in files for cell in one.cells])
    tasks = sorted({cell.task for _, cell in cells})
    if task is not None and task not in tasks:
        raise InputError("task", f"there is no task {task!r}; there are {', '.join(tasks)}{did_you_mean(task, tasks)}")
    kinds = _kinds(files)
    if files and not kinds:
        raise InputError("data", f"there are no scores in {str(path)!r}")
    wanted = {one: {arm for arm, cell in cells if cell.task == one} for one in tasks if task in (None, one)}
    alone = [one for one, arms in wanted.items() if len(arms) < 2]
    if files and len(alone) == len(wanted):
        raise InputError("data", f"there is one system alone in {str(path)!r}; two at least can be compared")
    for one in alone:
        warnings.warn(f"task {one} is left out: there is one system alone", stacklevel=2)
    return [_evaluation(one, cells, kinds) for one in wanted if one not in alone]


def _read(path: Path) -> ResultFile | None:
    facts = None
    if path.suffix == ".json":
        try:
            facts = json.loads(decoded(path.read_bytes()))
        except (ValueError, RecursionError):
            return None
    return next((found for read in _READERS if (found := read(path, facts)) is not None), None)


def _named(cells: Sequence[Cell]) -> list[tuple[str, Cell]]:
    """Return the name of every cell's system: the facts in which systems differ."""
    keys = dict.fromkeys(key for cell in cells for key in cell.system)
    differ = [key for key in keys if len({cell.system.get(key, "") for cell in cells}) > 1]
    # What another fact says already is left out: the same number of groups, one by one.
    kept: list[str] = []
    for key in differ:
        before = {tuple(cell.system.get(one, "") for one in kept) for cell in cells}
        after = {tuple(cell.system.get(one, "") for one in [*kept, key]) for cell in cells}
        kept += [key] if len(after) > len(before) else []
    said = {key: _shortened({cell.system.get(key, "") for cell in cells}) for key in kept}
    return [
        (", ".join(filter(None, (said[key][cell.system.get(key, "")] for key in kept))) or "-", cell) for cell in cells
    ]


def _shortened(values: Iterable[str]) -> dict[str, str]:
    """Return values in one line and not too long, each another one."""
    found: dict[str, str] = {}
    for value in sorted(values):
        line = plain(value)
        short = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
        again = sum(one == short or one.startswith(f"{short} (") for one in found.values())
        found[value] = short if not again else f"{short} ({again + 1})"
    return found


def _kinds(files: Iterable[ResultFile]) -> dict[str, str]:
    """Return what follows each metric's name: wins where files do not agree that it is a share."""
    found: dict[str, str] = {}
    for one in files:
        for name, kind in one.metrics.items():
            known = found.setdefault(name, kind)
            found[name] = MORE_WINS if {known, kind} == {SHARE, MORE_WINS} else known
    return found


def _evaluation(task: str, cells: Sequence[tuple[str, Cell]], kinds: Mapping[str, str]) -> Evaluation:
    """Return the table of a task; what a system brought on an item several times is averaged."""
    told: dict[tuple[str, str], dict[str, list[float]]] = {}
    for arm, cell in cells:
        if cell.task == task:
            numbers = told.setdefault((arm, cell.item), defaultdict(list))
            for name, value in cell.numbers.items():
                numbers[name] += [] if value is None else [value]
    # Tools write a cost of 0 where they know none.
    seen = {
        name
        for numbers in told.values()
        for name, values in numbers.items()
        if any(values) or (values and kinds[name] != LESS_WINS)
    }
    names = [name for name in kinds if name in seen]
    rows = [
        {
            "arm": arm,
            "item": item,
            **{name: sum(values) / len(values) if (values := numbers.get(name)) else None for name in names},
        }
        for (arm, item), numbers in told.items()
    ]
    order = {SHARE: 0, MORE_WINS: 1, LESS_WINS: 2}
    stated = sorted(names, key=lambda name: order[kinds[name]])
    return Evaluation(task, rows, tuple(f"{name}:{kinds[name]}" for name in stated))
