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

ASSUMPTION_OF_ITEMS = (
    "This holds if the items are like those you want to know about, drawn independently of each other, and if what is "
    "missing has nothing to do with results; their order does not matter, they are read in a random one."
)


def engine_of_items(log: Log, log_inv_delta: float, rare: float | None) -> PairedEngine:
    """Return an engine that has read a table of results: items in a random order, those that all arms have first."""
    assert log.items is not None
    engine = PairedEngine(log.problem, Paired(), log_inv_delta=log_inv_delta, rare=rare, ahead=None)
    engine.read_table(table_of(log, log.items))
    return engine


def table_of(log: Log, items: Sequence[Any]) -> FloatArray:
    """Return the rewards of a log by item, arm and metric, NaN where there is none."""
    place: dict[Any, int] = {}
    for number, item in enumerate(items, start=1):
        if item is None or item == "" or (isinstance(item, float) and math.isnan(item)):
            raise InputError("the item is missing", row=number)
        place.setdefault(item, len(place))
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
    order = stream(0, "items", "analyse").permutation(len(found))
    complete = ~np.isnan(found[order]).any(axis=(1, 2))
    return np.asarray(found[np.concatenate([order[complete], order[~complete]])])
