"""Logs of Inspect: ``.eval`` and ``.json``, read by Inspect itself.

A system is a model with its solver and arguments, an item a sample. Epochs of a sample are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobai.analysis.results.cells import LESS_WINS, MORE_WINS, SHARE, ResultFile, metric_name, number
from mobai.errors import InputError
from mobai.extras import need

_LETTERS = {"C", "I", "P", "N"}


def read(path: Path, facts: Any) -> ResultFile | None:
    """Return what a log holds; None if it is none."""
    if path.suffix != ".eval" and not (isinstance(facts, Mapping) and {"eval", "plan"} <= set(facts)):
        return None
    try:
        log = need("inspect_ai.log").read_eval_log(str(path))
    except InputError:
        raise
    except Exception as error:
        raise InputError(str(path), f"is no log that Inspect can read: {error}") from None
    found, spec = ResultFile(path, "Inspect"), log.eval
    system = {
        "model": str(spec.model),
        "solver": str(spec.solver or ""),
        **{str(key): str(value) for key, value in {**spec.task_args, **spec.model_args}.items()},
    }
    for sample in log.samples or []:
        numbers: dict[str, float | None] = {}
        for name, score in (sample.scores or {}).items():
            several = score.value.items() if isinstance(score.value, Mapping) else [(None, score.value)]
            for key, value in several:
                metric = metric_name(name if key is None else f"{name}/{key}")
                numbers[metric], kind = _of_value(value)
                if kind is not None and found.metrics.get(metric) != MORE_WINS:
                    found.metrics[metric] = kind
        if sample.error is None:
            numbers["seconds"] = number(sample.working_time)
            numbers["tokens"] = number(sum(usage.total_tokens for usage in sample.model_usage.values()))
            found.metrics |= {name: LESS_WINS for name in ("seconds", "tokens") if numbers[name]}
        found.add(system, str(spec.task), str(sample.id), numbers)
    return found


def _of_value(value: Any) -> tuple[float | None, str | None]:
    """Return a score as a number, and what it is: a grade or a truth is a share, of other numbers wins count."""
    if isinstance(value, bool) or (isinstance(value, str) and value in _LETTERS):
        found: float = need("inspect_ai.scorer").value_to_float()(value)
        return found, SHARE
    known = number(value)
    return known, None if known is None else MORE_WINS
