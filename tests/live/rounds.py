"""Experiments of the tests, and rounds of asking and telling."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mobai import Experiment
from mobai.store.journal import MemoryJournal

ARMS, OBJECTIVES = ["A", "B", "C"], ["click:bernoulli", "latency:min:unknown-variance"]


CHANCES, TIMES = {"A": 0.2, "B": 0.6, "C": 0.4}, {"A": 80.0, "B": 90.0, "C": 60.0}


def measure(number: int, arm: str) -> dict[str, float]:
    """What a pull brings: a function of its number and arm, so that any order of answers gives the same rewards."""
    rng = np.random.default_rng([number, ord(arm[0])])
    return {"click": float(rng.random() < CHANCES.get(arm, 0.3)), "latency": float(rng.normal(TIMES.get(arm, 85), 10))}


def new(storage: Any = None, name: str = "test", **options: Any) -> Experiment:
    return Experiment.create(MemoryJournal() if storage is None else storage, name, ARMS, OBJECTIVES, **options)


def run(test: Experiment, rounds: int) -> None:
    for _ in range(rounds):
        (assignment,) = test.ask()
        test.tell(assignment, measure(*assignment))


def facts(test: Experiment) -> str:
    """Everything that can be said about an experiment, to the last bit."""
    status = test.status()
    tables = (status.intervals.lower, status.intervals.upper, status.means, status.verdict.evidence)
    counts = (status.asked, status.answered, status.rewards, status.active)
    return json.dumps(
        [[np.asarray(table).tobytes().hex() for table in (*tables, *counts)], status.verdict.decisions, status.past]
    )
