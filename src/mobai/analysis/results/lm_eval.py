"""Results of lm-evaluation-harness: the samples that ``--log_samples --output_path results/`` writes.

A system is a model with its arguments, an item a document of a task. Which metrics are shares is what the library's own
metrics are; of any other one, wins are counted, in the direction that the task states.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mobai.analysis.results.cells import LESS_WINS, MORE_WINS, SHARE, ResultFile, metric_name, number
from mobai.errors import InputError
from mobai.rows import decoded

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.jsonl")
_SHARES = {"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em", "f1", "pass@1"}
_ERRORS = {"brier_score", "perplexity", "ppl", "loss", "wer", "ter"}


def read(path: Path, facts: Any) -> ResultFile | None:  # noqa: ARG001
    """Return what a file of samples holds; None if it is none."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        return None
    task, about = named["task"], _about(path, named["time"])
    better = about.get("higher_is_better")
    directions = better.get(task, {}) if isinstance(better, Mapping) else {}
    system = _system(path, about)
    rows = list(_rows(path))
    filters = {str(row.get("filter")) for row in rows}
    found, numbers = ResultFile(path, "lm-evaluation-harness"), dict[str, dict[str, float | None]]()
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        which = str(row.get("filter"))
        after = f"/{which}" if len(filters) > 1 else ""
        name = str(row.get("doc_hash") or row.get("doc_id"))
        seen[which, name] += 1
        again = seen[which, name]  # a document may be in a task twice
        told = numbers.setdefault(name if again == 1 else f"{name}, {again}", {})
        metrics = row.get("metrics")
        for metric in map(str, metrics if isinstance(metrics, list) else []):
            shown = metric_name(f"{metric}{after}")
            told[shown] = number(row.get(metric))
            found.metrics[shown] = _kind(metric, directions)
    for item, told in numbers.items():
        found.add(system, task, item, told)
    return found


def _kind(metric: str, directions: Any) -> str:
    if metric in _SHARES:
        return SHARE
    better = directions.get(metric) if isinstance(directions, Mapping) else None
    return MORE_WINS if (metric not in _ERRORS if better is None else better) else LESS_WINS


def _about(path: Path, time: str) -> Mapping[str, Any]:
    """Return what the file of results beside the samples says about the model."""
    beside = path.with_name(f"results_{time}.json")
    if not beside.is_file():
        return {}
    try:
        facts = json.loads(decoded(beside.read_bytes()))
    except ValueError:
        return {}
    return facts if isinstance(facts, Mapping) else {}


def _system(path: Path, about: Mapping[str, Any]) -> dict[str, str]:
    config = about.get("config")
    stated = config.get("model_args") if isinstance(config, Mapping) else None
    system = {"model": str(about.get("model_name") or path.parent.name)}
    if isinstance(stated, Mapping):
        system |= {str(key): str(value) for key, value in stated.items() if str(value) != system["model"]}
    for key in ("chat_template_sha", "system_instruction_sha", "fewshot_as_multiturn"):
        if about.get(key):
            system[key] = str(about[key])[:8]
    return system


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        lines = decoded(path.read_bytes()).splitlines()
    except ValueError:
        raise InputError(str(path), "is no text") from None
    for place, line in enumerate(lines, start=1):
        try:
            row = json.loads(line) if line.strip() else None
        except ValueError:
            raise InputError(str(path), "is no JSON object", row=place) from None
        if isinstance(row, Mapping):
            yield row
