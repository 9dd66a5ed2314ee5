"""Run an experiment against a real sampler: a command, or a Python function, that measures an arm.

A measurement that fails is tried again, then its assignment is dropped and counted. Nothing that failed is recorded.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from mobai.engine import Verdict
from mobai.errors import InputError, visible
from mobai.extras import find_object
from mobai.live.assigning import LONGEST_NAME
from mobai.live.assignments import Assignment
from mobai.live.experiment import Experiment

_log = logging.getLogger(__name__)

Sampler = Callable[[str], Mapping[str, float]]
# After this many assignments dropped one after the other, the sampler is taken for broken.
_MOST_DROPPED_IN_A_ROW = 5


class SamplerError(Exception):
    """A measurement that failed, with the reason."""


class RefusedError(SamplerError):
    """A measurement whose value its family does not accept, of an assignment that goes on waiting for it."""

    def __init__(self, reason: str | None, assignment: int) -> None:
        super().__init__(
            f"{reason}; assignment {assignment} keeps what else was measured and waits for this, and the experiment is "
            "paused: tell it a value that is accepted or drop it, which counts as the worst there could be, then resume"
        )
        self.assignment = assignment


class Outcome(NamedTuple):
    """How a run ended.

    ``ending`` is ``decided``, ``max-pulls`` or ``interrupted``. Counted are attempts that failed, pulls that were
    dropped, and how many of those were dropped because a value was refused.
    """

    verdict: Verdict
    ending: str
    failures: int
    dropped: int
    refused: int = 0


class Step(NamedTuple):
    """What a watcher is told after every assignment; ``failure`` says why the last attempt failed, if it did."""

    verdict: Verdict
    failures: int
    dropped: int
    failure: str | None


class Measured(NamedTuple):
    """The metrics of an assignment, or None if there are none; how many attempts failed, and why the last one did.

    If a value was ``refused``, the metrics are the others of the same measurement.
    """

    metrics: Mapping[str, float] | None
    failures: int
    reason: str | None
    refused: bool = False


def run_sampler(
    experiment: Experiment,
    sampler: Sampler,
    *,
    max_pulls: int | None = None,
    retries: int = 2,
    jobs: int = 1,
    on_refused: str = "stop",
    watch: Callable[[Step], None] | None = None,
) -> Outcome:
    """Ask, measure and tell until every objective is decided, or ``max_pulls`` are answered.

    Parameters
    ----------
    experiment, sampler
        What is run, and the function that measures an arm.
    max_pulls
        Give up after this many answers; None for never.
    retries
        Attempts after a failure, before the assignment is dropped.
    jobs
        How many arms are measured at once, in threads; they are told in the order of asking.
    on_refused
        What happens when a value is none that its family accepts. ``stop`` ends the run with a RefusedError: the other
        metrics are told, this one goes on waiting for its value, and the experiment is paused until somebody has told
        or dropped it and resumes. ``drop`` counts the pull as lost, and nothing is certified any more. It is never
        measured again, which would hide such values.
    watch
        Called after every assignment.
    """
    if on_refused not in ("stop", "drop"):
        raise InputError("on_refused", f"must be stop or drop, not {on_refused!r}")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError("jobs", f"must be a whole number, 1 or more, not {jobs!r}")
    return _Run(experiment, partial(_measure, experiment, sampler, retries), max_pulls, on_refused, watch).go(jobs)


class _Run:
    """A run under way: which assignments are being measured, and what has been counted."""

    def __init__(
        self,
        experiment: Experiment,
        measure: Callable[[str], Measured],
        max_pulls: int | None,
        on_refused: str,
        watch: Callable[[Step], None] | None,
    ) -> None:
        self._experiment, self._measure = experiment, measure
        self._most, self._on_refused, self._watch = max_pulls, on_refused, watch
        self._running: dict[Future[Measured], Assignment] = {}
        self._verdict = experiment.verdict()
        self._failures = self._dropped = self._refused = self._in_a_row = 0

    def go(self, jobs: int) -> Outcome:
        """Measure until there is nothing left to do; whatever ends it, nothing stays pending."""
        ending = None
        pool = MeasuresHere() if jobs == 1 else ThreadPoolExecutor(jobs)
        with closing_pool(pool):
            try:
                self._loop(pool, jobs)
            except KeyboardInterrupt:
                ending = "interrupted"
            finally:
                with undisturbed():
                    self._drop_the_rest()
        verdict = self._experiment.verdict()
        ending = ending or ("decided" if verdict.stopped else "max-pulls")
        return Outcome(verdict, ending, self._failures, self._dropped, self._refused)

    def _loop(self, pool: Executor, jobs: int) -> None:
        while True:
            while len(self._running) < jobs and self._wants_more():
                (assignment,) = self._experiment.ask()
                # Entered before it is begun: whatever happens then, it is dropped in the end.
                place: Future[Measured] = Future()
                self._running[place] = assignment
                future = pool.submit(self._measure, assignment.arm)
                self._running[future] = self._running.pop(place)
            if not self._running:
                return
            # In the order of asking: a measurement that takes longer because of its value is not told later.
            oldest = next(iter(self._running))
            self._finish(self._running[oldest], oldest.result())
            del self._running[oldest]

    def _drop_the_rest(self) -> None:
        for future, assignment in self._running.items():
            future.cancel()
            measured = future.result() if future.done() and not future.cancelled() and not future.exception() else None
            with suppress(InputError):  # it was answered already
                if measured is not None and measured.metrics is not None and not measured.refused:
                    self._tell(assignment, measured.metrics)
                else:  # slow ones, perhaps
                    self._experiment.drop(assignment, reason=self._why_dropped)

    def _wants_more(self) -> bool:
        under_way = self._verdict.pulls + len(self._running)
        return not self._verdict.stopped and (self._most is None or under_way < self._most)

    @property
    def _why_dropped(self) -> str | None:
        """Why failed measurements are: if there is a worst that a value can be, it is taken for that."""
        metrics = self._experiment.problem.metrics
        return None if all(metric.has_worst for metric in metrics) else "lost"

    def _tell(self, assignment: Assignment, found: Mapping[str, float]) -> None:
        """Tell what was measured; what it did not bring will not come, unless there is a window for it."""
        metrics = self._experiment.problem.metrics
        told = {one.name: found.get(one.name) for one in metrics}
        windows = {one.name for one in metrics if one.window is not None}
        self._experiment.tell(assignment, {k: v for k, v in told.items() if v is not None or k not in windows})

    def _hold(self, assignment: Assignment, measured: Measured) -> None:
        """Keep a pull of which a value was refused, and see to it that nobody samples on behind it."""
        self._running = {future: one for future, one in self._running.items() if one != assignment}
        if measured.metrics:
            self._experiment.tell(assignment, measured.metrics)
        self._experiment.pause(by=visible(f"run: {measured.reason}")[:LONGEST_NAME])

    def _finish(self, assignment: Assignment, measured: Measured) -> None:
        """Tell what was measured, or drop the assignment."""
        self._failures += measured.failures
        if measured.refused and self._on_refused == "stop":
            self._hold(assignment, measured)
            raise RefusedError(measured.reason, assignment.id)
        if measured.metrics is not None and not measured.refused:
            self._tell(assignment, measured.metrics)
            self._in_a_row = 0
        else:
            self._experiment.drop(assignment, reason=self._why_dropped, refused=measured.refused)
            self._dropped, self._refused = self._dropped + 1, self._refused + measured.refused
            self._in_a_row += 1
        self._verdict = self._experiment.verdict()
        if self._watch is not None:
            self._watch(Step(self._verdict, self._failures, self._dropped, measured.reason))
        if self._in_a_row == _MOST_DROPPED_IN_A_ROW:
            raise SamplerError(
                f"{self._in_a_row} assignments failed one after the other, the last one: {measured.reason}"
            )


class MeasuresHere(Executor):
    """Measures in this thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call the function now."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait; in other threads than the first there is none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def closing_pool(pool: Executor) -> Iterator[Executor]:
    """Leave measurements that have not begun undone, and wait for the others."""
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _measure(experiment: Experiment, sampler: Sampler, retries: int, arm: str) -> Measured:
    """Measure an arm, trying again after failures; a value that is refused is not measured again."""
    reason = None
    metrics: Mapping[str, float] = {}
    for attempt in range(retries + 1):
        try:
            metrics = sampler(arm)
            check_metrics(experiment, metrics)
            return Measured(metrics, attempt, reason)
        except InputError as error:
            _log.warning("measurement refused: %s: %s", arm, error)
            return Measured(_accepted(experiment, metrics), attempt, f"{arm}: {error}", refused=True)
        except SamplerError as error:
            reason = f"{arm}: {error}"
            _log.warning("measurement %d of %d failed: %s", attempt + 1, retries + 1, reason)
    return Measured(None, retries + 1, reason)


def _accepted(experiment: Experiment, metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of a measurement that can be told."""
    found = {}
    for name, value in metrics.items():
        with suppress(InputError):
            experiment.problem.check_rewards({name: value})
            if value is not None:
                found[name] = value
    return found


def check_metrics(experiment: Experiment, metrics: Any) -> None:
    """Refuse what cannot be told, or tells nothing."""
    if not isinstance(metrics, Mapping):
        raise SamplerError(f"expected an object of metrics, not {metrics!r}")
    values = experiment.problem.check_rewards(metrics)
    if all(math.isnan(value) for value in values):
        # A metric that is said not to come is a value like others, and not measured again.
        raise (InputError if metrics else SamplerError)("no metric was measured")


def command_sampler(command: str, timeout: float | None = None) -> Sampler:
    """Return a sampler that runs a command, with ``{arm}`` for the arm's name; it prints a JSON object of metrics.

    No shell is involved: the words are split once, and the name goes into them as it is. It is in the environment as
    ``MOBAI_ARM``, too.
    """
    _words_of(command)

    def measure(arm: str) -> Mapping[str, float]:
        return run_command(command, {"arm": arm}, timeout)

    return measure


def _words_of(command: str) -> list[str]:
    """Return the words of a command, as a shell splits them."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError("command", f"must be words as a shell splits them: {error}") from None
    if not words:
        raise InputError("command", "must not be empty")
    return words


def run_command(
    command: str, named: Mapping[str, str], timeout: float | None = None, given: str | None = None
) -> Mapping[str, Any]:
    """Run a command and return the metrics it prints; SamplerError if it does not.

    ``{arm}`` in its words stands for what is ``named`` so, which is in the environment as ``MOBAI_ARM``, too. It reads
    what is ``given`` on its standard input.
    """
    words = _words_of(command)
    for name, value in named.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            input=given,
            env={**os.environ, **{f"MOBAI_{name.upper()}": value for name, value in named.items()}},
        )
    except subprocess.TimeoutExpired:
        raise SamplerError(f"took longer than {timeout:g} s") from None
    except OSError as error:
        raise SamplerError(str(error)) from None
    if done.returncode != 0:
        raise SamplerError(f"exit code {done.returncode}{_last_line(done.stderr)}")
    return _metrics(done.stdout)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f" ({visible(lines[-1])})" if lines else ""


def _metrics(text: str) -> Mapping[str, float]:
    """Read a JSON object; if the command prints more, its last line that is not empty."""
    lines = text.strip().splitlines()
    for candidate in (text, lines[-1] if lines else ""):
        try:
            found: Mapping[str, float] = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return found
    raise SamplerError(
        f'expected a JSON object on standard output, such as {{"time": 0.12}}, not {text.strip()[:80]!r}'
    )


def function_sampler(path: str) -> Sampler:
    """Return a sampler that calls the Python function ``package.module:function`` with an arm's name.

    The function returns a mapping of metrics. Adds the current folder to the end of ``sys.path``.
    """
    function = find_object(path, "sampler")
    if not callable(function):
        raise InputError("sampler", f"must name a function of an arm; {path} is a {type(function).__name__}")

    def measure(arm: str) -> Mapping[str, float]:
        try:
            found: Mapping[str, float] = function(arm)
        except (Exception, SystemExit) as error:
            raise SamplerError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
        return found

    return measure
