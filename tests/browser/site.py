"""A service with experiments in every state, for browsers to look at."""

from __future__ import annotations

import numpy as np

from mobai import Experiment, Segments
from mobai.store.journal import Journal

LONG = "a variant whose name goes on for sixty characters or so, really"
ADVERTS = ["plain", "bold", "price", "story"]
METRICS = ["clicks:gaussian=1", "cost:min:gaussian=1", "dwell:gaussian=1"]
LIMITED = ["errors:bernoulli:at-most=0.1:eps=0.1"]


def tell_some(test: Experiment, count: int, seed: int = 0, gap: float = 1.5) -> None:
    """Answer so many assignments, with means that differ from arm to arm and from metric to metric."""
    rng, arms = np.random.default_rng(seed), list(test.problem.arms)
    for _ in range(0, count, 10):
        reports = []
        for one in test.ask(10):
            place = arms.index(one.arm)
            best = [gap * (place == m % len(arms)) for m in range(len(test.problem.metrics))]
            values = rng.normal(best)
            told = {}
            for m, metric in enumerate(test.problem.metrics):
                told[metric.name] = float(values[m]) * metric.sign
                if metric.name == "errors":
                    told["errors"] = float(rng.random() < 0.02 + 0.6 * (place == 3))
            reports.append((one, told))
        test.tell_all(reports)


def fill(journal: Journal) -> None:
    """Make one experiment per state that a page can show."""
    running = Experiment.create(journal, "running", ADVERTS, METRICS, guardrails=LIMITED, baseline="plain")
    tell_some(running, 150, gap=0.5)
    decided = Experiment.create(journal, "decided", ADVERTS, METRICS)
    tell_some(decided, 200)
    paused = Experiment.create(journal, "paused", ADVERTS, METRICS[:2])
    tell_some(paused, 30, gap=0.3)
    paused.pause()
    closed = Experiment.create(journal, "closed", ADVERTS, METRICS[:1])
    tell_some(closed, 40, gap=0.3)
    closed.retire_arm("plain", by="somebody")
    closed.close()
    Experiment.create(journal, "nothing yet", ["A", "B"], ["click:bernoulli"])
    two = Experiment.create(journal, "two arms", ["A", "B"], ["score:bounded=0..10:eps=0.5", "t:min:unknown-variance"])
    for one in two.ask(30):
        two.tell(one, {"score": 5.0 + 0.1 * (one.id % 7), "t": 30.0 + one.id % 5})
    items = [f"question {number}: <b>?" for number in range(60)]
    race = Experiment.create(
        journal, "on items", ADVERTS, ["score:bounded=0..1", "t:min:wins"], items=items, baseline="bold"
    )
    for _ in range(70):
        for one in race.ask(2, if_decided="stop"):
            place, level = ADVERTS.index(one.arm), (one.index or 0) % 7 / 10
            score = 0.1 + level + 0.1 * (place == 1) + 0.01 * ((place * 7 + (one.index or 0)) % 5)
            race.tell(one, {"score": score, "t": 5.0 + place + 3 * ((place + (one.index or 0)) % 3)})
    ages = Segments.create(
        journal,
        "by age",
        ["small", "large"],
        ["seconds:min:p90", "spent/visits:bounded=0..20/0..4"],
        ["young", "old"],
        shares={"young": 0.3, "old": 0.7},
        costs={"small": 1, "large": 20},
        cost_unit="EUR",
        max_cost=5000,
    )
    for one in ages["young"].ask(150):
        slow, number = 1 + (one.arm == "large"), one.id % 5
        ages["young"].tell(one, {"seconds": slow * (1 + number), "spent": 2.0 * number, "visits": 1 + number % 3})
    names = [LONG, *(f"arm {number}" for number in range(2, 41))]
    metrics = [f"{LONG}:gaussian=1", "b:min:gaussian=1"]
    many = Experiment.create(journal, f"forty: {LONG}", names, metrics, baseline=LONG)
    tell_some(many, 200, gap=0.7)


NAMES = [
    "running",
    "decided",
    "paused",
    "closed",
    "nothing yet",
    "two arms",
    "on items",
    "by age@young",
    f"forty: {LONG}",
]
