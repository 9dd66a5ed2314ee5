"""The loop of a race: hand out, measure in parallel, tell; what is shared with other processes, and what they leave."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from multiprocessing import get_context
from typing import Any, NamedTuple

from mobai.errors import ConflictError, InputError, shortened
from mobai.live.assignments import Assignment, PlacedAssignment
from mobai.live.experiment import Experiment
from mobai.live.reports import Metrics
from mobai.live.sampler import MeasuresHere, undisturbed

Measure = Callable[[Any, Any], Mapping[str, float | None]]
_MOST_FAILED_IN_A_ROW = 5  # items, with nothing measured in between
# Seconds between two lines of progress.
_OFTEN = 0.5
# Seconds between two looks at what other processes have measured; and without news before theirs is measured here.
_WAIT, _PATIENCE = 0.1, 30.0


class RaceError(Exception):
    """A measurement that failed again and again, or brought what no metric accepts; what was measured is kept.

    Attributes
    ----------
    result
        What there is: a :class:`RaceResult`.
    """

    result: Any = None


class RaceProgress(NamedTuple):
    """How far a race is: measurements made, how many there would be in all, arms still open, a forecast of the rest."""

    made: int
    most: int | None
    left: dict[str, int]
    more: float | None

    def __str__(self) -> str:
        """Say it in one line."""
        of = f" of {self.most:,}" if self.most is not None else ""
        left = ", ".join(f"{name}: {f'{n} left' if n > 1 else 'decided'}" for name, n in self.left.items())
        more = "" if self.more is None or not self.more < 1e9 else f", about {self.more:,.0f} more"
        return f"{self.made:,}{of} measured; {left}{more}"


class MeasureAttempt(NamedTuple):
    """Measures an arm on an item, trying again after an exception; can be sent to another process."""

    measure: Measure
    arms: Mapping[str, Any]
    retries: int

    def make(self, arm: str, item: Any) -> tuple[Any, int, str]:
        """Return what was measured; how many attempts failed, more than are made again if all; and why the last did."""
        reason = ""
        for attempt in range(self.retries + 1):
            try:
                found: Any = self.measure(self.arms[arm], item)
                return found, attempt, reason
            except Exception as error:
                reason = shortened(f"{type(error).__name__}: {' '.join(str(error).split())}")
        return None, self.retries + 1, reason


class RaceLoop:
    """A race under way."""

    def __init__(
        self,
        experiment: Experiment,
        things: Mapping[str, Any] | Sequence[Any] | None,
        attempt: MeasureAttempt,
        on_error: str,
        watch: Callable[[RaceProgress], None],
        budget: int | None,
    ) -> None:
        self._experiment, self._things, self._attempt = experiment, things, attempt
        self._on_error, self._watch = on_error, watch
        self._running: dict[Future[Any], Assignment] = {}
        self._owner = f"race on {socket.gethostname()}, process {os.getpid()}"
        self._waiting = deque(_abandoned(experiment))
        self._failures = 0
        self._refused: InputError | None = None
        self._failed_on: set[int] = set()  # since something was measured
        self._made = _made(experiment)
        self._budget = math.inf if budget is None else budget
        self._news, self._longest = time.monotonic(), 0.0

    @property
    def made(self) -> int:
        """How many measurements there are, of all processes."""
        return self._made

    @property
    def failures(self) -> int:
        """How many measurements failed, with those that were tried again."""
        return self._failures

    def run(self, n_jobs: int, processes: bool) -> str:
        """Measure until there is nothing left to do; whatever ends it, what was measured is told. Return the ending."""
        ending = "closed" if self._experiment.status().closed_at is not None else None
        if ending is not None:
            return ending
        pool = _pool(n_jobs, processes)
        try:
            self._loop(pool, n_jobs)
        except KeyboardInterrupt:
            ending = "interrupted"
        except BrokenExecutor as error:
            raise RaceError(f"a worker process died, and what it measured is lost: {error}") from None
        finally:
            with undisturbed():
                pool.shutdown(wait=True, cancel_futures=True)
                self._tell([one for one in self._running if _is_done(one)], last=True)
            _finish(self._watch)
        return ending or self._ending()

    def _loop(self, pool: Executor, n_jobs: int) -> None:
        self._submit(pool, self._next(n_jobs))
        while self._running or self._waits_for_others():
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            self._submit(pool, self._tell(done, n_jobs))

    def _next(self, most: int, reports: Sequence[tuple[Assignment, Metrics]] = ()) -> list[Assignment]:
        """Tell reports; return what is to be measured next: first what was handed out and given up."""
        most = int(min(most, self._budget - self._made - len(reports) - len(self._running)))
        found = [self._waiting.popleft() for _ in range(min(max(most, 0), len(self._waiting)))]
        if not reports and most <= len(found):
            return found
        try:
            more = max(most - len(found), 0)
            found += self._experiment.tell_all(reports, ask=more, if_decided="stop", by=self._owner)
        except ConflictError:
            if len(reports) == 1 and self._was_told(reports[0][0]):
                return found  # by another process
            if len(reports) > 1:
                return found + [one for report in reports for one in self._next(0, [report])]
            if self._experiment.status().ending is None:
                raise
        return found

    def _was_told(self, assignment: Assignment) -> bool:
        rows = (row for row in self._experiment.iterate_records() if row["id"] == assignment.id)
        return any(row["status"] != "pending" for row in rows)

    def _waits_for_others(self) -> bool:
        """Whether other processes are measuring what this one has to wait for; measure it here if no news come."""
        if self._made >= self._budget:
            return False
        status = self._experiment.status()
        if status.verdict.stopped or status.ending is not None or not status.pending:
            return False
        if status.pulls + status.dropped > self._made:
            self._made, self._news = status.pulls + status.dropped, time.monotonic()
        if time.monotonic() - self._news > max(_PATIENCE, 5 * self._longest):
            self._waiting.extend(_pending(self._experiment))
            self._news = time.monotonic()
        time.sleep(_WAIT)
        return True

    def _submit(self, pool: Executor, assignments: Iterable[Assignment]) -> None:
        for one in assignments:
            # Entered before it is begun: whatever happens then, nothing is forgotten.
            self._running[pool.submit(_timed, self._attempt, one.arm, self._thing(one))] = one

    def _thing(self, assignment: Assignment) -> Any:
        assert assignment.item is not None
        return assignment.item if self._things is None else self._things[assignment.item]  # type: ignore[index]

    def _tell(self, done: Iterable[Future[Any]], n_jobs: int = 0, *, last: bool = False) -> list[Assignment]:
        """Tell what was measured, in one transaction; return what is to be measured next."""
        reports, lost = [], []
        for future in done:
            assignment = self._running.pop(future)
            (metrics, failed, why), took = self._brought(future)
            self._failures, self._longest = self._failures + failed, max(self._longest, took)
            if failed > self._attempt.retries:
                lost.append((assignment, why))
                continue
            try:
                found, refused = self._accepted(assignment, self._named(metrics))
                if self._has_a_number(assignment, found):
                    reports.append((assignment, found))
            except InputError as error:
                self._refused = self._refused or error
                continue
            if refused is not None:
                self._refuse(assignment, refused)
            else:
                self._failed_on.clear()
        free = 0 if last or lost else n_jobs - len(self._running)
        more = self._next(free, reports)
        if reports:
            self._made, self._news = self._made + len(reports), time.monotonic()
        for assignment, why in lost:
            self._give_up(assignment, why, last)
        if last:
            return more
        if self._refused is not None:
            raise RaceError(str(self._refused)) if self._made else self._refused
        self._watch_progress()
        return self._next(n_jobs - len(self._running)) if lost else more

    def _named(self, metrics: Any) -> dict[str, float | None]:
        """Return what was measured of every metric, if there is a number or None for each."""
        names = self._experiment.problem.metric_names
        if not isinstance(metrics, Mapping) or any(name not in metrics for name in names):
            raise InputError(
                "measure", f"must return a number, or None, for each of {', '.join(names)}, not {str(metrics)[:80]}"
            )
        return {name: metrics[name] for name in names}

    def _brought(self, future: Future[Any]) -> tuple[tuple[Any, int, str], float]:
        """Return what a measurement brought and how long it took; one that could not be sent back has failed."""
        try:
            found: tuple[tuple[Any, int, str], float] = future.result()
        except BrokenExecutor:
            raise
        except Exception as error:
            reason = shortened(f"what it returned cannot be sent back: {type(error).__name__}: {error}")
            return (None, self._attempt.retries + 1, reason), 0.0
        return found

    def _accepted(
        self, assignment: Assignment, found: dict[str, float | None]
    ) -> tuple[dict[str, float | None], InputError | None]:
        """Return what metrics accept, None for what they refuse, which counts as the worst; and a refusal, if any.

        If nothing was measured before, or there is no worst, nothing is told at all.
        """
        told, refused = dict(found), None
        for metric in self._experiment.problem.metrics:
            try:
                self._experiment.problem.check_rewards({metric.name: found[metric.name]})
            except InputError as error:
                said = error.within(source=f"measured {assignment.arm} on {self._label(assignment)}")
                if not metric.has_worst or (not self._made and self._on_error == "stop"):
                    raise said from None
                told[metric.name], refused = None, refused or said
        return told, refused

    def _refuse(self, assignment: Assignment, refused: InputError) -> None:
        """Count a refused value as a failure: the end of the race, or one of several in a row that are."""
        assert isinstance(assignment, PlacedAssignment)
        self._failures += 1
        self._failed_on.add(assignment.index)
        if self._on_error == "stop" or len(self._failed_on) >= _MOST_FAILED_IN_A_ROW:
            self._refused = self._refused or refused

    def _has_a_number(self, assignment: Assignment, found: Mapping[str, float | None]) -> bool:
        """Whether there is anything to be told; where every metric is None, the assignment is dropped: the worst."""
        if any(value is not None for value in found.values()):
            return True
        without = [metric.name for metric in self._experiment.problem.metrics if not metric.has_worst]
        if without:
            raise InputError(
                "measure",
                f"brought None for every metric of {assignment.arm} on {self._label(assignment)}, and there is no "
                f"worst that {without[0]} could be",
            )
        self._experiment.drop(assignment, by=self._owner)
        self._made += 1
        return False

    def _label(self, assignment: Assignment) -> Any:
        return assignment.item if isinstance(assignment, PlacedAssignment) else assignment.id

    def _give_up(self, assignment: Assignment, why: str, last: bool) -> None:
        """Count a measurement that failed as the worst, or stop; it is made again when the race goes on."""
        if last:
            return
        assert isinstance(assignment, PlacedAssignment)
        self._failed_on.add(assignment.index)
        if self._on_error == "worst":
            self._experiment.drop(assignment, by=self._owner)
            self._made += 1
        if self._on_error == "stop" or len(self._failed_on) >= _MOST_FAILED_IN_A_ROW:
            times = f"{self._attempt.retries + 1} times" if self._attempt.retries else "once"
            many = f" (all that was tried on {len(self._failed_on)} items)" if self._on_error == "worst" else ""
            raise RaceError(f"measuring {assignment.arm} on {self._label(assignment)} failed {times}: {why}{many}")

    @property
    def most(self) -> int | None:
        """How many measurements all arms on all items are; None without an end."""
        design = self._experiment.problem.design
        assert design is not None
        return None if design.size is None else design.size * len(self._experiment.problem.arms)

    def _watch_progress(self) -> None:
        if isinstance(self._watch, ProgressLine) and not self._watch.is_due:
            return
        status = self._experiment.status()
        left = {one.objective: len(one.left) for one in status.verdict.contention}
        decided = zip(left, status.verdict.decisions, strict=True)
        left = {name: 1 if decision is not None else max(left[name], 2) for name, decision in decided}
        more = None if status.forecast is None else status.forecast.samples
        self._watch(RaceProgress(self._made, self.most, left, more))

    def _ending(self) -> str:
        status = self._experiment.status()
        if status.verdict.stopped:
            return "decided"
        if status.paused_at is not None:
            return "paused"
        return "budget" if status.pulls + status.dropped >= self._budget else "used-up"


def _timed(attempt: MeasureAttempt, arm: str, item: Any) -> tuple[Any, float]:
    """Return what an attempt brought, and how many seconds it took."""
    start = time.monotonic()
    return attempt.make(arm, item), time.monotonic() - start


def _is_done(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _made(experiment: Experiment) -> int:
    """Return how many measurements there are, with those that count as the worst."""
    status = experiment.status()
    return status.pulls + status.dropped


def _pending(experiment: Experiment) -> list[Assignment]:
    """Return what was handed out and never answered."""
    rows = (row for row in experiment.iterate_records() if row["status"] == "pending")
    return [PlacedAssignment.at(row["id"], row["arm"], row["index"], row["item"]) for row in rows]


def _abandoned(experiment: Experiment) -> list[Assignment]:
    """Return what was handed out to processes of this machine that are gone, and never answered."""
    waiting = _pending(experiment)
    if not waiting:
        return []
    owners: dict[int, str] = {}
    number = 0
    for event in experiment.history():
        if event.kind == "asked":
            owners |= dict.fromkeys(range(number + 1, number + 1 + len(event.body["arms"])), event.body.get("by", ""))
            number += len(event.body["arms"])
    return [one for one in waiting if _is_gone(owners.get(one.id, ""))]


def _is_gone(owner: str) -> bool:
    """Whether a race belonged to a process of this machine that has ended: of others nobody knows."""
    before, _, process = owner.rpartition(", process ")
    if before != f"race on {socket.gethostname()}" or not process.isdecimal() or int(process) == os.getpid():
        return before == "" or process == str(os.getpid())
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _pool(n_jobs: int, processes: bool) -> Executor:
    if n_jobs == 1 and not processes:
        return MeasuresHere()
    # Processes begin anew: one that is forked while threads run may wait for ever for what one of them held.
    return ProcessPoolExecutor(n_jobs, get_context("spawn")) if processes else ThreadPoolExecutor(n_jobs)


class ProgressLine:
    """Writes the progress over itself, in a terminal, now and then."""

    def __init__(self) -> None:
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._at = time.monotonic()
        self._written = False

    @property
    def is_due(self) -> bool:
        """Whether it is time for a line."""
        return self._shows and time.monotonic() - self._at >= _OFTEN

    def __call__(self, progress: RaceProgress) -> None:
        """Write a line."""
        self._at, self._written = time.monotonic(), True
        sys.stderr.write(f"\r\x1b[Kmobai: {progress}")
        sys.stderr.flush()

    def finish(self) -> None:
        """Leave the line."""
        if self._written:
            sys.stderr.write("\n")


def _finish(watch: Callable[[RaceProgress], None]) -> None:
    if isinstance(watch, ProgressLine):
        watch.finish()
