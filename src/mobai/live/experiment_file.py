"""Experiments as code: a TOML file with the fields of :meth:`mobai.Experiment.create`, read and written."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobai.errors import InputError, did_you_mean
from mobai.problem.codec import problem_json
from mobai.views.data import time_text

if TYPE_CHECKING:
    from mobai.live.settings import Settings

_NEEDED = ("name", "arms", "objectives")
_OPTIONS = (
    *("delta", "rule", "seed", "focus", "expire_after", "reserve", "on_broken", "max_samples", "until", "order"),
    *("rare", "interval_share", "allow_large_delta", "items", "rounds", "ahead", "items_digest"),
    *("costs", "cost_metric", "cost_unit", "max_cost"),
)
# Of Experiment.create: written out, so that reading a file does not import the kernels.
FIELDS = (*_NEEDED, "sd", "guardrails", "baseline", *_OPTIONS)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# What fields must be; those that are not here are checked where they are used.
_TEXT = (lambda value: isinstance(value, str), "a text")
_FLAG = (lambda value: isinstance(value, bool), "true or false")
_TEXTS = (_are_texts, "a list of texts")
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": _TEXT,
    "arms": _TEXTS,
    "objectives": (lambda value: _are_texts(value) or isinstance(value, dict), "a list of texts, or a table of them"),
    "guardrails": _TEXTS,
    "baseline": _TEXT,
    "sd": (lambda value: isinstance(value, int | float | list) and not isinstance(value, bool), "a number or a table"),
    "focus": _FLAG,
    "allow_large_delta": _FLAG,
    "rounds": _FLAG,
    "costs": (lambda value: isinstance(value, list | dict), "a list of numbers, or a table of them by arm"),
    "cost_metric": _TEXT,
    "cost_unit": _TEXT,
}
EXAMPLE = """\
# An experiment as code: `mobai create landing.toml` begins it, `mobai create landing.toml --check` only reads it.
name = "landing page"
arms = ["plain", "bold", "story"]                # the variants

# Metrics: a name, then after colons min (less is better), what is measured, eps, and when it is over.
objectives = [
  "signup:bernoulli:window=1h:otherwise=0",      # yes or no, within an hour
  "seconds:min:bounded=0..30:window=30s:otherwise=30",
]
guardrails = ["error:bernoulli:at-most=0.02:eps=0.01"]   # an arm that breaks it is shown no more
baseline = "plain"                               # the others are compared with it

delta = 0.05                                     # the chance that any decision is ever wrong
# max_samples = 20000
# until = "2030-01-31T12:00"
"""


def read_experiment(path: str | Path) -> dict[str, Any]:
    """Return what a file says of an experiment; InputError, with the file and the field, for what it cannot be."""
    try:
        found = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", source=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(None, f"is not a file in TOML ({error})", source=str(path)) from None
    for name in found:
        if name not in FIELDS:
            raise InputError(None, f"there is no field {name!r}{did_you_mean(name, FIELDS)}", source=str(path))
    for name in _NEEDED:
        if name not in found:
            raise InputError(None, f"lacks the field {name!r}; `mobai create --example` has one", source=str(path))
    for name, value in found.items():
        if name in _KINDS and not _KINDS[name][0](value):
            raise InputError(name, f"must be {_KINDS[name][1]}, not {value!r}", source=str(path))
    if found.get("rare") is False:
        found["rare"] = None
    if isinstance(found.get("until"), date):
        found["until"] = found["until"].isoformat()
    return found


def experiment_toml(name: str, settings: Settings) -> str:
    """Return an experiment as such a file: what was stated, and every option."""
    from mobai.theory.confidence import LARGE_DELTA, delta_of

    delta = delta_of(settings.log_inv_delta)
    facts: dict[str, Any] = {"name": name, **problem_json(settings.problem)}
    facts["sd"] = None if np.isnan(settings.problem.sd).all() else settings.problem.sd.tolist()
    options: dict[str, Any] = {
        "delta": delta,
        "rule": settings.rule_address,
        "seed": settings.seed,
        "focus": settings.focus,
        "reserve": settings.reserve,
        "on_broken": settings.on_broken,
        "order": settings.order,
        "interval_share": settings.interval_share,
        "expire_after": settings.expire_after,
        "max_samples": settings.max_samples,
        "until": time_text(settings.until),
        "rare": False if settings.rare is None else settings.rare,  # TOML has no null
        "allow_large_delta": True if delta >= LARGE_DELTA else None,
        "ahead": settings.ahead,
        "items_digest": settings.items_digest,
        "max_cost": settings.max_cost,
    }
    lines = [f"{key} = {_value(value)}" for key, value in {**facts, **options}.items() if value is not None]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """Return a value as TOML writes it; its texts are written as those of JSON."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
