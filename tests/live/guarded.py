"""An experiment of the tests with a limit and a baseline, and rounds of asking and telling."""

from __future__ import annotations

from typing import Any

import numpy as np

from mobai import Experiment
from mobai.store.journal import MemoryJournal

CLICK, ERRORS = {"control": 0.2, "B": 0.6, "C": 0.45}, {"control": 0.02, "B": 0.5, "C": 0.03}


def new(storage: Any = None, **options: Any) -> Experiment:
    return Experiment.create(
        MemoryJournal() if storage is None else storage,
        "test",
        ["control", "B", "C"],
        ["click:bernoulli"],
        guardrails=["errors:bernoulli:at-most=0.1:eps=0.1"],
        baseline="control",
        delta=0.1,
        **options,
    )


def measure(number: int, arm: str) -> dict[str, float]:
    rng = np.random.default_rng([number, ord(arm[0])])
    return {"click": float(rng.random() < CLICK[arm]), "errors": float(rng.random() < ERRORS[arm])}


def run(test: Experiment, rounds: int, **options: Any) -> None:
    for _ in range(rounds):
        for one in test.ask(**options):
            test.tell(one, measure(*one))
