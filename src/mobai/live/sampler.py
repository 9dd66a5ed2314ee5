"""Run an experiment against a real sampler: a command, or a Python function, that measures an arm.

A measurement that fails is tried again, then its assignment is dropped and counted. Nothing that failed is recorded.
"""

from __future__ import annotations

import importlib
import json
import logging
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mobai.engine import Verdict
from mobai.errors import InputError
from mobai.live.experiment import Experiment

_log = logging.getLogger(__name__)

Sampler = Callable[[str], Mapping[str, float]]
# After this many assignments dropped one after the other, the sampler is taken for broken.
_MOST_DROPPED_IN_A_ROW = 5


class SamplerError(Exception):
    """A measurement that failed, with the reason."""


class Outcome(NamedTuple):
    """How a run ended: ``ending`` is ``decided``, ``max-pulls`` or ``interrupted``; attempts failed, pulls dropped."""

    verdict: Verdict
    ending: str
    failures: int
    dropped: int


class Step(NamedTuple):
    """What a watcher is told after every assignment; ``failure`` says why the last attempt failed, if it did."""

    verdict: Verdict
    failures: int
    dropped: int
    failure: str | None


def run_sampler(
    experiment: Experiment,
    sampler: Sampler,
    *,
    max_pulls: int | None = None,
    retries: int = 2,
    watch: Callable[[Step], None] | None = None,
) -> Outcome:
    """Ask, measure and tell until every objective is decided, or ``max_pulls`` are answered."""
    failures = dropped = in_a_row = 0
    verdict = experiment.verdict()
    while not verdict.stopped and (max_pulls is None or verdict.pulls < max_pulls):
        (assignment,) = experiment.ask()
        try:
            metrics, failed, reason = _measure(experiment, sampler, assignment.arm, retries)
        except KeyboardInterrupt:
            experiment.drop(assignment)
            return Outcome(experiment.verdict(), "interrupted", failures, dropped)
        except BaseException:
            experiment.drop(assignment)
            raise
        failures += failed
        if metrics is None:
            experiment.drop(assignment)
            dropped, in_a_row = dropped + 1, in_a_row + 1
        else:
            experiment.tell(assignment, metrics)
            in_a_row = 0
        verdict = experiment.verdict()
        if watch is not None:
            watch(Step(verdict, failures, dropped, reason))
        if in_a_row == _MOST_DROPPED_IN_A_ROW:
            raise SamplerError(f"{in_a_row} assignments failed one after the other, the last one: {reason}")
    return Outcome(verdict, "decided" if verdict.stopped else "max-pulls", failures, dropped)


def _measure(
    experiment: Experiment, sampler: Sampler, arm: str, retries: int
) -> tuple[Mapping[str, float] | None, int, str | None]:
    """Return the metrics, or None after the last attempt; how many attempts failed, and why the last one did."""
    reason = None
    for attempt in range(retries + 1):
        try:
            metrics = sampler(arm)
            check_metrics(experiment, metrics)
            return metrics, attempt, reason
        except (SamplerError, InputError) as error:
            reason = f"{arm}: {error}"
            _log.warning("measurement %d of %d failed: %s", attempt + 1, retries + 1, reason)
    return None, retries + 1, reason


def check_metrics(experiment: Experiment, metrics: Any) -> None:
    """Refuse what cannot be told, or tells nothing."""
    if not isinstance(metrics, Mapping):
        raise SamplerError(f"expected an object of metrics, not {metrics!r}")
    values = experiment.problem.check_rewards(metrics)
    if all(math.isnan(value) for value in values):
        raise SamplerError("no metric was measured")


def command_sampler(command: str, timeout: float | None = None) -> Sampler:
    """Return a sampler that runs a command, with ``{arm}`` for the arm's name; it prints a JSON object of metrics.

    No shell is involved: the words are split once, and the name goes into them as it is. It is in the environment as
    ``MOBAI_ARM``, too.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"command must be words as a shell splits them: {error}") from None
    if not words:
        raise InputError("command must not be empty")

    def measure(arm: str) -> Mapping[str, float]:
        filled = [word.replace("{arm}", arm) for word in words]
        try:
            done = subprocess.run(
                filled,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
                env={**os.environ, "MOBAI_ARM": arm},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SamplerError(str(error)) from None
        if done.returncode != 0:
            raise SamplerError(f"exit code {done.returncode}{_last_line(done.stderr)}")
        return _metrics(done.stdout)

    return measure


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f" ({lines[-1]})" if lines else ""


def _metrics(text: str) -> Mapping[str, float]:
    """Read a JSON object; if the command prints more, its last line that is not empty."""
    lines = text.strip().splitlines()
    for candidate in (text, lines[-1] if lines else ""):
        try:
            found: Mapping[str, float] = json.loads(candidate, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
        return found
    raise SamplerError(f"expected a JSON object on standard output, not {text.strip()[:80]!r}")


def _no_constant(name: str) -> float:
    raise ValueError(name)


def function_sampler(path: str) -> Sampler:
    """Return a sampler that calls the Python function ``package.module:function`` with an arm's name.

    The function returns a mapping of metrics. Adds the current folder to ``sys.path``.
    """
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise InputError(f"sampler must be written package.module:function, not {path!r}")
    # As with "python -m", modules of the current folder are found.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        function = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        raise InputError(f"sampler: {path} cannot be imported: {str(error) or type(error).__name__}") from None
    if not callable(function):
        raise InputError(f"sampler must name a function of an arm; {path} is a {type(function).__name__}")

    def measure(arm: str) -> Mapping[str, float]:
        try:
            found: Mapping[str, float] = function(arm)
        except (Exception, SystemExit) as error:
            raise SamplerError(f"{type(error).__name__}: {error}") from error
        return found

    return measure
