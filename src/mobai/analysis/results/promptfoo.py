"""Results of promptfoo: ``promptfoo eval --output results.json``.

See https://www.promptfoo.dev/docs/configuration/outputs. A system is a provider with a prompt, an item a test case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobai.analysis.results.cells import LESS_WINS, MORE_WINS, SHARE, ResultFile, metric_name, number

_FAILED = 2  # the reason of a failure that is an error, not an assertion


def read(path: Path, facts: Any) -> ResultFile | None:
    """Return what a file of promptfoo holds; None if it is none."""
    results = facts.get("results") if isinstance(facts, Mapping) else None
    rows = results.get("results") if isinstance(results, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) and "gradingResult" in row for row in rows):
        return None
    found = ResultFile(path, "promptfoo", metrics={"pass": SHARE, "score": MORE_WINS})
    cases: dict[str, set[Any]] = {}
    for row in rows:
        cases.setdefault(_item(row), set()).add(str(row.get("testIdx")))
    for row in rows:
        provider, prompt = _mapping(row.get("provider")), _mapping(row.get("prompt"))
        system = {
            "provider": str(provider.get("label") or provider.get("id") or "provider"),
            "prompt": str(prompt.get("label") or prompt.get("raw") or row.get("promptIdx")),
        }
        item = _item(row)
        item += f", test {row.get('testIdx')}" if len(cases[item]) > 1 else ""
        found.add(system, "", item, _numbers(row, found))
    return found


def _item(row: Mapping[str, Any]) -> str:
    """Return what a test case is told by: its variables, which other files have, too, else its number."""
    variables = _mapping(row.get("vars"))
    texts = {name: value for name, value in variables.items() if value not in (None, "")}
    if not texts:
        return str(row.get("testIdx"))
    return str(next(iter(texts.values()))) if len(texts) == 1 else json.dumps(texts, sort_keys=True, default=str)


def _numbers(row: Mapping[str, Any], found: ResultFile) -> dict[str, float | None]:
    """Return what came of a test case; of one that failed with an error, nothing."""
    if row.get("failureReason") == _FAILED:
        return {}
    numbers = {"pass": number(row.get("success")), "score": number(row.get("score"))}
    numbers |= {metric_name(name): number(value) for name, value in _mapping(row.get("namedScores")).items()}
    for name in numbers:
        found.metrics.setdefault(name, MORE_WINS)  # assertions of one's own may score anything
    taken = {
        "milliseconds": number(row.get("latencyMs")),
        "cost": number(row.get("cost")),
        "tokens": number(_mapping(row.get("tokenUsage")).get("total")),
    }
    for name, value in taken.items():
        if value is not None:
            numbers[name] = value
            found.metrics[name] = LESS_WINS
    return numbers


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
