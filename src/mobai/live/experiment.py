"""Durable experiments: ask which arm is next, tell what was measured, from any number of processes.

Every change is an event in a journal, written in one transaction while the experiment is locked. A process keeps the
state of the events it has seen and reads only newer ones, so a call costs the same early and late in an experiment.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy.typing as npt

from mobai.errors import InputError, StorageError
from mobai.live import snapshots
from mobai.live.assignments import ANSWERED, DROPPED, Assignment
from mobai.live.journal import Event, Handle, Journal, Log
from mobai.live.reports import Metrics, body_of, number_of, only_new
from mobai.live.settings import Settings, new_settings, to_body
from mobai.live.state import State
from mobai.live.status import Status, describe, records_of, verdict_of
from mobai.live.storage import open_journal
from mobai.policy import Verdict
from mobai.problem import Objective, Problem
from mobai.problem.objective import is_name

_LEAST_EVENTS_BETWEEN_SNAPSHOTS = 1000


class Experiment:
    """A live experiment. Make one with :meth:`create` or :meth:`load`.

    Examples
    --------
    >>> import mobai
    >>> test = Experiment.create("memory:", "ads", ["A", "B"], ["click:bernoulli", "latency:min:unknown-variance"])
    >>> first, second = test.ask(2)
    >>> test.tell(first, {"click": 1, "latency": 83.0})
    >>> test.tell(second, {"click": 0})
    >>> test.tell(second, {"latency": 91.5})
    >>> test.verdict().stopped
    False
    >>> mobai.delete("memory:", "ads")
    """

    def __init__(self, journal: Journal, handle: Handle, state: State | None = None) -> None:
        self._journal, self._handle = journal, handle
        self._state = state
        self._saved = 0
        # Threads may share an experiment: they take turns.
        self._turn = threading.RLock()

    @classmethod
    def create(
        cls,
        storage: str | Path | Journal,
        name: str,
        arms: Sequence[str],
        objectives: Sequence[Objective | str],
        *,
        delta: float = 0.05,
        rule: str = "top-two",
        sd: npt.ArrayLike | None = None,
        seed: int = 0,
        focus: bool = True,
        expire_after: float | None = None,
        reserve: float = 0.1,
    ) -> Experiment:
        """Begin an experiment.

        Parameters
        ----------
        storage
            ``sqlite:///ads.db``, ``postgresql://user@host/name`` or ``memory:``.
        name
            What it is called in the storage.
        arms, objectives, sd
            As for :class:`mobai.Problem`.
        delta
            The error probability, for all objectives and times together.
        rule
            How arms are chosen, by name and options.
        seed
            Fixes the rule's own choices.
        focus
            Sample only for objectives that are not decided yet.
        expire_after
            Seconds after which an unanswered assignment no longer counts as pending. It may still be answered.
        reserve
            The share of delta kept for arms added or retired later; 0 if there will be none. A tenth costs 0.1 nats.
        """
        if not is_name(name):
            raise InputError(f"name must be a non-empty string of printable characters, not {name!r}")
        settings = new_settings(
            arms,
            objectives,
            sd=sd,
            delta=delta,
            rule=rule,
            seed=seed,
            focus=focus,
            expire_after=expire_after,
            reserve=reserve,
        )
        first = Event(1, "created", time.time(), to_body(settings))
        state = State(first)
        journal = open_journal(storage)
        return cls(journal, journal.create(name, first), state)

    @classmethod
    def load(cls, storage: str | Path | Journal, name: str) -> Experiment:
        """Take an experiment up again, in this or another process."""
        journal = open_journal(storage)
        experiment = cls(journal, journal.find(name))
        with experiment._look():
            return experiment

    @property
    def name(self) -> str:
        """What it is called in its storage."""
        return self._handle.name

    @property
    def settings(self) -> Settings:
        """What it was set up with: delta, rule, seed and the rest."""
        with self._look() as state:
            return state.settings

    @property
    def problem(self) -> Problem:
        """The arms (with retired ones), objectives and known noise."""
        with self._look() as state:
            return state.problem

    def ask(self, n: int = 1) -> list[Assignment]:
        """Give the next assignments. Pending ones are counted, so many askers do not pile onto one arm."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"n must be a whole number, 1 or more, not {n!r}")
        with self._change() as (state, log):
            state.check_open()
            return self._hand_out(state, log, n)

    def tell(self, assignment: Assignment | int, metrics: Metrics) -> None:
        """Report what was measured, all metrics at once or one after the other.

        The same report twice changes nothing; one that contradicts an earlier one is refused.
        """
        self.tell_all([(assignment, metrics)])

    def tell_all(self, reports: Iterable[tuple[Assignment | int, Metrics]], *, ask: int = 0) -> list[Assignment]:
        """Report on many assignments in one transaction, all or nothing; ``ask`` gives so many new ones in the same.

        Who tries again because no answer came gets other assignments then, and the first ones stay pending.
        """
        if not isinstance(reports, Iterable):
            raise InputError(f"reports must be pairs of an assignment and its metrics, not {reports!r}")
        given = list(reports)
        if isinstance(ask, bool) or not isinstance(ask, int) or ask < 0:
            raise InputError(f"ask must be a whole number, 0 or more, not {ask!r}")
        with self._change() as (state, log):
            state.check_open()
            fresh = only_new(state.problem, state.assignments, given)
            if fresh:
                event = self._write(state, log, "told", body_of(state.problem, fresh))
                state.tell(event, fresh)
            return self._hand_out(state, log, ask) if ask else []

    def drop(self, assignment: Assignment | int) -> None:
        """Say that an assignment will never be answered."""
        with self._change() as (state, log):
            state.check_open()
            number = number_of(state.problem, state.assignments, assignment)
            status = state.assignments.status(number)
            if status == ANSWERED:
                raise InputError(f"assignment {number} has been answered and cannot be dropped")
            if status != DROPPED:
                self._add(state, log, "dropped", {"ids": [number]})

    def add_arm(self, arm: str, sd: npt.ArrayLike | None = None) -> None:
        """Let one more arm take part; objectives decided before are open again until it has been told apart."""
        with self._change() as (state, log):
            state.check_open()
            if state.settings.reserve == 0:
                raise InputError("arm: the experiment was created with reserve=0, so no arm can be added")
            row = state.settings.with_arm(arm, sd).problem.sd[-1]
            plain = [None if math.isnan(value) else value for value in row.tolist()]
            self._add(state, log, "arm_added", {"arm": arm, "sd": plain})

    def retire_arm(self, arm: str) -> None:
        """Ask for an arm no more, and look for the best of the others."""
        with self._change() as (state, log):
            state.check_open()
            taking_part = [name for name, active in zip(state.problem.arms, state.active, strict=True) if active]
            if arm not in taking_part:
                raise InputError(f"arm must be one of {', '.join(taking_part)}, not {arm!r}")
            if len(taking_part) == 2:
                raise InputError("arm: two arms are left, and none of them can be retired")
            self._add(state, log, "arm_retired", {"arm": arm})

    def close(self) -> None:
        """End the experiment; it can be read, not changed."""
        with self._change() as (state, log):
            if state.closed_at is None:
                self._add(state, log, "closed", {})

    def verdict(self) -> Verdict:
        """Say what is decided at the experiment's delta."""
        with self._look() as state:
            return verdict_of(state)

    def status(self) -> Status:
        """Say where the experiment stands: verdict, evidence, counts, means and intervals."""
        with self._look() as state:
            return describe(self.name, state)

    def history(self) -> Sequence[Event]:
        """Give every event from the beginning."""
        return self._journal.read(self._handle)

    def records(self) -> list[dict[str, Any]]:
        """Give every assignment with what was told of it, as plain rows; None where nothing was."""
        with self._look() as state:
            return records_of(state)

    def replay(self) -> Status:
        """Fold the whole journal again, making every choice anew, and compare; StorageError if one differs."""
        first, *rest = self.history()
        state = State(first, verify=True)
        state.apply_all(rest)
        return describe(self.name, state)

    def _hand_out(self, state: State, log: Log, n: int) -> list[Assignment]:
        """Let the rule choose, and write its choices down."""
        self._expire(state, log)
        first = state.assignments.count + 1
        arms = [state.choose(first + k) for k in range(n)]
        state.hand_out(self._write(state, log, "asked", {"arms": arms}))
        return [Assignment(first + k, state.problem.arms[arm]) for k, arm in enumerate(arms)]

    def _write(self, state: State, log: Log, kind: str, body: dict[str, Any]) -> Event:
        """Put the next event into the journal; taking it in is left to the caller."""
        event = Event(state.seq + 1, kind, time.time(), body)
        log.append(event)
        return event

    def _add(self, state: State, log: Log, kind: str, body: dict[str, Any]) -> None:
        state.apply(self._write(state, log, kind, body))

    def _expire(self, state: State, log: Log) -> None:
        if state.settings.expire_after is not None:
            overdue = state.assignments.overdue(time.time() - state.settings.expire_after)
            if overdue:
                self._add(state, log, "expired", {"ids": overdue})

    @contextmanager
    def _change(self) -> Iterator[tuple[State, Log]]:
        """Lock the experiment, catch up with others, and forget the state if anything goes wrong."""
        with self._turn:
            state, before = self._known(), -1
            try:
                with self._journal.lock(self._handle) as log:
                    state.apply_all(log.after(state.seq))
                    before = state.seq
                    yield state, log
            except InputError:
                # Refused before anything was changed: the state is still that of the journal.
                self._state = state if state.seq == before else None
                raise
            except BaseException:
                self._state = None
                raise
            self._keep_snapshot(state)

    @contextmanager
    def _look(self) -> Iterator[State]:
        """Catch up with others, and give the state to read; forget it if that goes wrong."""
        with self._turn:
            state = self._known()
            try:
                state.apply_all(self._journal.read(self._handle, state.seq))
            except BaseException:
                self._state = None
                raise
            yield state

    def _known(self) -> State:
        """Give the state as far as this process knows it, at first from a snapshot."""
        if self._state is None:
            kept = self._journal.snapshot(self._handle)
            self._saved = 0 if kept is None else kept.seq
            self._state = None if kept is None else snapshots.restore(kept)
        if self._state is None:
            first, *rest = self.history()
            state = State(first)
            state.apply_all(rest)
            self._state = state
        return self._state

    def _keep_snapshot(self, state: State) -> None:
        """Save a snapshot once the journal has grown by a tenth: loading reads little, and saving costs little."""
        if state.seq - self._saved >= max(_LEAST_EVENTS_BETWEEN_SNAPSHOTS, state.seq // 10):
            with suppress(StorageError):
                # What was asked or told is safe already; without a snapshot, loading only takes longer.
                self._journal.save_snapshot(self._handle, snapshots.take(state))
            self._saved = state.seq
