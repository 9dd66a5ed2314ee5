"""Built-in instances, those of the paper among them, and the names by which the command line knows them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mobai.errors import InputError
from mobai.problem import Guardrail, Instance
from mobai.rules.catalogue import parse_spec
from mobai.seeds import stream


def synthetic(seed: int = 0, arms: int = 20, objectives: int = 10) -> Instance:
    """Draw the paper's synthetic instance: means uniform on [0, 1], on [1.2, 2] for the best arm m of objective m.

    Examples
    --------
    >>> synthetic(seed=0).best_arms
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if not 1 <= objectives <= arms:
        raise InputError("objectives", f"must be between 1 and the number of arms ({arms}), not {objectives!r}")
    rng = stream(seed, "instance", "synthetic")
    means = rng.uniform(0.0, 1.0, (arms, objectives))
    means[np.arange(objectives), np.arange(objectives)] = rng.uniform(1.2, 2.0, objectives)
    return Instance(means)


def snw(scale: float = 10.0, negate_area: bool = True) -> Instance:
    """Return 206 hardware designs of a sorting network: log2 area and log2 throughput, times ``scale``, unit noise.

    The measurements are Zuluaga, Milder and Püschel's (Computer generation of streaming sorting networks, DAC 2012),
    used as a benchmark by Zuluaga, Krause and Püschel (JMLR 2016); docs/data.md says where the table comes from. The
    paper's text says the area is negated and the rewards are multiplied by 10.
    """
    table = (files("mobai.lab") / "snw.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    area = np.array([float(row["log2_area"]) for row in rows])
    throughput = np.array([float(row["log2_throughput"]) for row in rows])
    means = scale * np.column_stack([-area if negate_area else area, throughput])
    names = [f"{row['p1']}-{row['p2']}-{row['p3']}" for row in rows]
    return Instance(means, arms=names, objectives=["-area" if negate_area else "area", "throughput"])


def remark2(eps: float = 0.1) -> Instance:
    """Build the two-arm instance of the paper's Remark 2, which costs of the order of 1/eps^2 samples."""
    return Instance([[100.0, 0.0, 50.0], [0.0, 100.0, 50.0 + eps]])


def ads() -> Instance:
    """Return six variants of an advert, three metrics: the demonstration. Invented figures.

    One sample is a batch of visitors: click-through in percent, cost per click in cents (less is better), seconds
    on the page.
    """
    means = [
        [2.10, 34.0, 41.0],
        [2.95, 36.5, 38.0],
        [2.40, 29.0, 36.5],
        [1.90, 31.0, 46.0],
        [2.62, 33.5, 43.2],
        [2.25, 38.0, 39.5],
    ]
    arms = ["plain", "bold", "price", "story", "video", "quiz"]
    return Instance(means, sd=[1.0, 10.0, 8.0], arms=arms, objectives=["clicks", "cost:min", "dwell"])


def guarded_ads() -> Instance:
    """Return the six adverts with a limit: too many visitors complain about the one with the most clicks."""
    plain = ads()
    means = plain.means.copy()
    means[-1, 0] = 3.3
    complaints = np.array([[0.01], [0.02], [0.02], [0.01], [0.02], [0.2]])
    sd = np.hstack([plain.sd, np.sqrt(complaints * (1 - complaints))])
    limits = ["complaints:bernoulli:at-most=0.05:eps=0.03"]
    return Instance(np.hstack([means, complaints]), sd, plain.arms, plain.objectives, guardrails=limits)


BUILT_IN = {"ads": ads, "remark2": remark2, "snw": snw, "synthetic": synthetic}


def find_instance(text: str, guardrails: Sequence[str] = (), baseline: str | None = None, **costs: Any) -> Instance:
    """Load an instance file, or build one of the built-in instances by name (``synthetic:seed=3``).

    Limits of its objectives, a baseline and what samples cost may be added to it.
    """
    found = _find(text)
    if not guardrails and baseline is None and not any(costs.values()):
        return found
    if not any(costs.values()) and found.problem.costs is not None:
        costs = {"costs": found.problem.costs.by_arm, "cost_metric": found.problem.costs.metric}
    for one in map(Guardrail.parse, guardrails):
        found = _with_guardrail(found, one)
    base = found.problem.baseline if baseline is None else baseline
    limits = found.problem.guardrails
    return Instance(found.means, found.sd, found.arms, found.objectives, guardrails=limits, baseline=base, **costs)


def _with_guardrail(found: Instance, guardrail: Guardrail) -> Instance:
    """Return an instance with one more limit; one that says its family takes the column of its metric for itself."""
    names = list(found.problem.metric_names)
    if guardrail.metric not in names:
        known = ", ".join(names)
        raise InputError(f"the instance has no metric of that name; it has {known}", metric=guardrail.metric)
    limits, objectives, order = [*found.problem.guardrails, guardrail], found.objectives, list(range(len(names)))
    if guardrail.family is not None and guardrail.metric in found.problem.objective_names:
        place = names.index(guardrail.metric)
        objectives = objectives[:place] + objectives[place + 1 :]
        order = [*order[:place], *order[place + 1 :], place]
        if not objectives:
            raise InputError("it is the only metric, and no objective would be left", metric=guardrail.metric)
    return Instance(found.means[:, order], found.sd[:, order], found.arms, objectives, guardrails=limits)


def _find(text: str) -> Instance:
    name, _, _ = text.partition(":")
    if name not in BUILT_IN:
        if not Path(text).suffix:
            raise InputError(f"{text}: neither an instance file (.csv, .json) nor one of {', '.join(BUILT_IN)}")
        return Instance.load(text)
    _, options = parse_spec(text)
    try:
        return BUILT_IN[name](**options)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(f"{text}: the instance {name!r} does not take these options") from None
