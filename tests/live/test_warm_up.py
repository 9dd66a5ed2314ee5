"""After an experiment was created or loaded, nothing is compiled any more: a call would stand still for seconds."""

from __future__ import annotations

import sys
from typing import Any

from mobai import Experiment
from mobai.engine.warm_up import warm_up_following
from mobai.store.journal import MemoryJournal


def compiled() -> dict[str, int]:
    """How many versions of each kernel there are."""
    found: dict[str, int] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("mobai.kernels"):
            for key, value in vars(module).items():
                if hasattr(value, "signatures"):
                    found[f"{name}.{key}"] = len(value.signatures)
    return found


def live(rule: str, **options: Any) -> Experiment:
    objectives = ["click:bernoulli", "seconds:min:unknown-variance", "load:shared-variance", "score:gaussian=1"]
    return Experiment.create(MemoryJournal(), "x", ["A", "B", "C"], objectives, rule=rule, **options)


def drive(test: Experiment) -> None:
    """Everything a service may be asked to do: batches, late and lost metrics, arms that come and go, questions."""
    rewards = {"click": 1.0, "seconds": 3.5, "load": 1.5, "score": 0.5}
    for step in range(6):
        one, two, three, four = test.ask(4)
        test.tell(one, {**rewards, "seconds": float(step)})
        test.tell_all([(two, {"click": 0.0}), (three, rewards)])
        test.tell_all([(four, {"seconds": 2.0}), (two, {"seconds": 3.0 + step, "load": None, "score": 1.0})])
        test.drop(four)
        test.record_all([("A", rewards), ("B", {"click": 0.0})])
        if step == 2:
            test.add_arm("D")
            test.retire_arm("C")
        test.status()
        test.explain()
        test.series()
        test.concerns()


def test_nothing_is_compiled_later() -> None:
    for options in ({}, {"guardrails": ["errors:bernoulli:at-most=0.5:eps=0.1"], "baseline": "A"}):
        test = live("top-two", **options)
        warm_up_following()
        before = compiled()
        drive(test)
        later = {name: count - before.get(name, 0) for name, count in compiled().items() if count > before.get(name, 0)}
        assert later == {}
