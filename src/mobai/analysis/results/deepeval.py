"""Results of DeepEval: the test runs that ``DEEPEVAL_RESULTS_FOLDER`` collects, a file per call of ``evaluate``.

A system is a run, told by its identifier and hyperparameters; an item is a test case, told by its input.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobai.analysis.results.cells import LESS_WINS, SHARE, ResultFile, metric_name, number


def read(path: Path, facts: Any) -> ResultFile | None:
    """Return what a test run holds; None if it is none."""
    if not isinstance(facts, Mapping) or not {"testCases", "metricsScores"} <= set(facts):
        return None
    found = ResultFile(path, "DeepEval")
    stated = facts.get("hyperparameters")
    system = {str(key): str(value) for key, value in stated.items()} if isinstance(stated, Mapping) else {}
    if facts.get("identifier"):
        system["identifier"] = str(facts["identifier"])
    cases = [*_rows(facts.get("testCases")), *_rows(facts.get("conversationalTestCases"))]
    inputs = [case.get("input") for case in cases]
    told_by_input = None not in inputs and len(set(map(str, inputs))) == len(inputs)
    for place, case in enumerate(cases):
        item = str(case["input"]) if told_by_input else str(case.get("name") or place)
        scores = {metric_name(one.get("name")): _score(one) for one in _rows(case.get("metricsData"))}
        found.metrics |= dict.fromkeys(scores, SHARE)
        cost = number(case.get("evaluationCost"))
        if cost:
            scores["evaluation cost"] = cost
            found.metrics["evaluation cost"] = LESS_WINS
        found.add(system, "", item, scores)
    return found


def _score(metric: Mapping[str, Any]) -> float | None:
    """Return a score, None where the metric failed or was skipped."""
    return None if metric.get("error") or metric.get("skipped") else number(metric.get("score"))


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
