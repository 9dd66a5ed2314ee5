"""What results of evaluations prove, task by task, all under one delta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobai import views
from mobai.analysis.analyse import Analysis, analyse_log
from mobai.analysis.guess import guess, without_range
from mobai.analysis.items import calls_of_a_race
from mobai.analysis.logs import Columns, Log, columns_of, read_log
from mobai.analysis.results.find import Evaluation, find_results
from mobai.engine import RARE
from mobai.errors import InputError, did_you_mean
from mobai.problem import Objective
from mobai.problem.problem import read_objectives
from mobai.theory.confidence import check_small, resolve_log_inv_delta

# Columns that say what was measured, unless somebody names another one.
_ITEM_NAMES = ("item", "id", "question", "sample", "case", "doc_id", "task", "split", "file")


@dataclass(frozen=True, eq=False)
class TaskAnalysis:
    """What the results of a task prove.

    Attributes
    ----------
    task
        What it is called; empty where there is only one.
    analysis
        Who is best in every metric, who is out, intervals.
    enough
        How many measurements a race over the same items, in a random order, would have made.
    made
        How many there are.
    """

    task: str
    analysis: Analysis
    enough: int
    made: int

    @property
    def facts(self) -> dict[str, Any]:
        """What there is, as plain data."""
        return {"task": self.task, "made": self.made, "enough": self.enough, **views.analysis_json(self.analysis)}

    @property
    def saving(self) -> str:
        """How many of the measurements would have been enough, in a sentence."""
        ended = "" if self.analysis.verdict.stopped else ", and would still be open"
        return f"A race would have made {self.enough:,} of these {self.made:,} measurements{ended}."

    def __str__(self) -> str:
        """Say it in a few lines."""
        title = f"{self.task}:\n" if self.task else ""
        return f"{title}{self.analysis}\n{self.saving}"


def analyse_results(
    path: str | Path,
    objectives: Sequence[Objective | str] | None = None,
    *,
    task: str | None = None,
    delta: float = 0.05,
    all_items: bool = False,
    rare: float | None = RARE,
    goal: str | None = None,
    **options: Any,
) -> list[TaskAnalysis]:
    """Say what results of evaluations prove: of Inspect, promptfoo, lm-evaluation-harness or DeepEval.

    Parameters
    ----------
    path
        A file of one of these tools, or a folder with any number of them.
    objectives
        What to compare; all metrics, as their tools describe them, unless given: grades and shares by their means,
        seconds, tokens and costs by who is better on more items.
    task
        Which task; all of them, under one delta, unless given.
    delta, all_items, rare, goal, options
        As for :func:`mobai.analyse`.
    """
    check_small(delta)
    found = find_results(path, task)
    if not found:
        raise InputError("path", f"{str(path)!r} is no file of results that is known; give a table to mobai.analyse")
    return _of_tasks(found, objectives, delta=delta, all_items=all_items, rare=rare, goal=goal, **options)


def _of_tasks(
    found: Sequence[Evaluation],
    objectives: Sequence[Objective | str] | None,
    *,
    delta: float,
    rare: float | None,
    goal: str | None,
    **options: Any,
) -> list[TaskAnalysis]:
    """Say what every task proves, all under one delta."""
    level, analyses = resolve_log_inv_delta(delta) + math.log(len(found)), []
    for one in found:
        log = read_log(one.rows, _stated(objectives, one), arm="arm", item="item", **options)
        analyses.append(_of_log(one.task, log, level, rare, goal))
    return analyses


def _stated(objectives: Sequence[Objective | str] | None, found: Evaluation) -> Sequence[Objective | str]:
    """Return what to compare: metrics that are named alone are what their tool says they are."""
    known = {one.partition(":")[0]: one for one in found.objectives}
    return [known.get(one, one) if isinstance(one, str) else one for one in objectives or found.objectives]


def _of_log(task: str, log: Log, log_inv_delta: float, rare: float | None, goal: str | None) -> TaskAnalysis:
    analysis = analyse_log(log, log_inv_delta, ordered=False, rare=rare, goal=goal)
    return TaskAnalysis(task, analysis, calls_of_a_race(log, log_inv_delta, rare), len(log.arms))


def of_items_in(
    path: str,
    objectives: Sequence[Objective | str],
    arm: str | None,
    item: str | None,
    task: str | None,
    **options: Any,
) -> list[TaskAnalysis]:
    """Say what a file or folder proves: results of a tool, or else a table with a row per arm and item."""
    found = find_results(path, task) if path != "-" and arm is None and item is None else []
    if found:
        return _of_tasks(found, objectives, **options)
    if task is not None:
        raise InputError("task", f"{path!r} is a table, which has no tasks")
    columns = columns_of(path)
    item = item or next((name for name in _ITEM_NAMES if name in columns), None)
    if item is None:
        raise InputError("item", f"which of the columns {', '.join(columns)} says what was measured? Name it")
    if not objectives:
        guessed = (one.replace("unknown-variance", "wins") for one in guess(path, arm, [item]).objectives)
        seem = ", ".join(map(without_range, guessed))
        raise InputError("objectives", f"must be stated for a table; they seem to be {seem}")
    return [_of_table(columns, objectives, item, arm=arm or guess(path, None, [item]).arm, **options)]


def of_columns(
    path: str, objectives: Sequence[Objective | str], arms: Sequence[str], item: str | None, **options: Any
) -> list[TaskAnalysis]:
    """Say what a table with a row per item, and a column per arm of one metric, proves."""
    if len(objectives) != 1:
        raise InputError("objectives", "must be one, with a column per arm: that of the cells, as score:bounded=0..1")
    columns = columns_of(path)
    for name in ([] if item is None else [item], arms):
        missing = [one for one in name if one not in columns]
        if missing:
            hint = did_you_mean(missing[0], list(columns))
            raise InputError("arms", f"there is no column {missing[0]!r}; there are {', '.join(columns)}{hint}")
    metric = read_objectives(objectives)[0]
    length = len(columns[arms[0]])
    items = columns[item] if item is not None else list(range(1, length + 1))
    long: dict[str, list[Any]] = {
        "arm": [arm for arm in arms for _ in range(length)],
        "item": list(items) * len(arms),
        metric.column: [cell for arm in arms for cell in columns[arm]],
    }
    return [_of_table(long, objectives, "item", arm="arm", **options)]


def _of_table(
    columns: Columns,
    objectives: Sequence[Objective | str],
    item: str,
    *,
    arm: str,
    delta: float,
    rare: float | None,
    goal: str | None,
    all_items: bool,
    **options: Any,
) -> TaskAnalysis:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    log = read_log(rows, objectives, arm=arm, item=item, all_items=all_items, **options)
    return _of_log("", log, resolve_log_inv_delta(delta), rare, goal)
