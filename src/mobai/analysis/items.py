"""Tables of results on items: every row says which arm was measured on which item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mobai.analysis.logs import Log
from mobai.engine.paired import PairedEngine
from mobai.errors import InputError
from mobai.problem import FloatArray
from mobai.rules.stopping import Paired
from mobai.seeds import stream

_OF_A_SAMPLE = (
    "This holds if the items are like those you want to know about, drawn independently of each other; their order "
    "does not matter, they are read in a random one."
)
_OF_ALL = "This is about these items alone, and nothing is assumed about them; they are read in a random order."


def assumption_of_items(log: Log) -> str:
    """Return what the guarantee rests on, and what is made of cells that are missing."""
    assert log.items is not None
    assert log.problem.design is not None
    said = [_OF_A_SAMPLE if log.problem.design.size is None else _OF_ALL]
    table = table_of(log, log.items)
    metrics = [metric for m, metric in enumerate(log.problem.metrics) if np.isnan(table[:, :, m]).any()]
    worst = [metric.name for metric in metrics if metric.has_worst]
    left_out = [metric.name for metric in metrics if not metric.has_worst]
    if worst:
        said.append(f"What is missing of {', '.join(worst)} counts as the worst there could be, against either arm.")
    if left_out:
        said.append(f"What is missing of {', '.join(left_out)} must have nothing to do with results.")
    return " ".join(said)


def engine_of_items(log: Log, log_inv_delta: float, rare: float | None) -> PairedEngine:
    """Return an engine that has read a table of results, items in a random order."""
    assert log.items is not None
    engine = PairedEngine(log.problem, Paired(), log_inv_delta=log_inv_delta, rare=rare, ahead=None)
    engine.read_table(table_of(log, log.items))
    return engine


def calls_of_a_race(log: Log, log_inv_delta: float, rare: float | None) -> int:
    """Return how many of these measurements a race would have made, the items in a random order."""
    assert log.items is not None
    engine = PairedEngine(log.problem, Paired(), log_inv_delta=log_inv_delta, rare=rare, ahead=None)
    return engine.race_over(table_of(log, log.items))


def table_of(log: Log, items: Sequence[Any]) -> FloatArray:
    """Return the rewards of a log by item, arm and metric, NaN where there is none."""
    place: dict[Any, int] = {}
    for number, item in enumerate(items, start=1):
        if item is None or item == "" or (isinstance(item, float) and math.isnan(item)):
            raise InputError("the item is missing", row=number)
        place.setdefault(item, len(place))
    if len(place) == len(items) and len(set(log.arms.tolist())) > 1:
        raise InputError("item", "no item was measured for two arms, so that nothing can be compared")
    found: FloatArray = np.full((len(place), log.problem.shape[0], len(log.problem.metrics)), np.nan)
    seen: set[tuple[int, int]] = set()
    for number, (item, arm, rewards) in enumerate(zip(items, log.arms.tolist(), log.rewards, strict=True), start=1):
        if (place[item], arm) in seen:
            name = log.problem.arms[arm]
            raise InputError(
                "item", f"{name!r} has {item!r} twice; give its average, or each repeat a name", row=number
            )
        seen.add((place[item], arm))
        found[place[item], arm] = rewards
    return np.asarray(found[stream(0, "items", "analyse").permutation(len(found))])
