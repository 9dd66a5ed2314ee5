"""Experiments in a storage that this process can reach.

Every change is an event in a journal, written in one transaction while the experiment is locked. A process keeps the
state of the events it has seen and reads only newer ones, so a call costs the same early and late in an experiment.
"""

from __future__ import annotations

import copy
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt

from mobai.engine import Verdict
from mobai.engine.concerns import Concern
from mobai.engine.explain import Explanation
from mobai.engine.warm_up import announce_compiling, check_rule, warm_up
from mobai.errors import StorageError
from mobai.live import operations
from mobai.live.assigning import made_by
from mobai.live.assignments import Assignment
from mobai.live.experiment import Experiment
from mobai.live.ledger import Ledger
from mobai.live.operations import Operation
from mobai.live.reports import Metrics, observations_of, reports_of
from mobai.live.settings import Settings, check_beginning, to_body
from mobai.live.state import State
from mobai.live.status import Status, begin_to_describe, records_of
from mobai.live.storage import open_journal
from mobai.live.trace import Series
from mobai.live.transactions import carry_out, carry_out_all
from mobai.live.units import Unit
from mobai.live.verify import Verification, verify_experiment
from mobai.problem import Problem
from mobai.rows import Frame
from mobai.store.journal import Event, Handle, Journal, sealed

Result = TypeVar("Result")


class LocalExperiment(Experiment):
    """An experiment in a storage that this process can reach."""

    def __init__(self, journal: Journal, handle: Handle, state: State | None = None) -> None:
        self._own_ledger = Ledger(journal, handle, state)

    @classmethod
    def create_in(
        cls, storage: str | Path | Journal, name: str, settings: Settings, *, by: str | None
    ) -> LocalExperiment:
        """Begin an experiment in a storage."""
        check_beginning(settings)
        announce_compiling()
        warm_up(settings.rule)
        check_rule(settings.rule, settings.problem)
        first = sealed(Event(1, "created", time.time(), {"name": name, **to_body(settings), **made_by(by)}), "")
        state = State(first)
        journal = open_journal(storage, create=True)
        return cls(journal, journal.create(name, first), state)

    @classmethod
    def load_from(cls, storage: str | Path | Journal, name: str) -> LocalExperiment:
        """Take up an experiment that is there."""
        journal = open_journal(storage)
        experiment = cls(journal, journal.find(name))
        announce_compiling()
        with experiment._ledger.look() as state:
            warm_up(state.settings.rule)
            return experiment

    @property
    def _ledger(self) -> Ledger:
        return self._own_ledger

    def __repr__(self) -> str:
        """Name it, and say where it is kept."""
        return f"Experiment({self.name!r}, {self._ledger.journal!r})"

    @property
    def name(self) -> str:
        return self._ledger.handle.name

    @property
    def number(self) -> int:
        return self._ledger.handle.number

    @property
    def history_id(self) -> str:
        return f"{self._ledger.journal.identity}-{self.number}"

    @property
    def has_units(self) -> bool:
        with self._ledger.look() as state:
            return len(state.units) > 0

    @property
    def settings(self) -> Settings:
        with self._ledger.look() as state:
            return state.settings

    @property
    def problem(self) -> Problem:
        with self._ledger.look() as state:
            return state.problem

    def ask(
        self,
        n: int = 1,
        *,
        if_decided: str = "go-on",
        unit: str | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> list[Assignment]:
        return self._do(operations.ask(n, if_decided=if_decided, unit=unit, key=key, by=by))

    def tell_all(
        self,
        reports: Iterable[tuple[Assignment | Unit | int | None, Metrics]] | Mapping[Any, Metrics] | Frame,
        *,
        ask: int = 0,
        if_decided: str = "go-on",
        key: str | None = None,
        by: str | None = None,
    ) -> list[Assignment]:
        return self._do(operations.tell_all(reports_of(reports), ask=ask, if_decided=if_decided, key=key, by=by))

    def record_all(
        self, rows: Iterable[tuple[str, Metrics]] | Frame, *, key: str | None = None, by: str | None = None
    ) -> list[Assignment]:
        return self._do(operations.record_all(observations_of(rows), key=key, by=by))

    def drop(
        self,
        assignment: Assignment | Unit | int,
        *,
        reason: str | None = None,
        refused: bool = False,
        by: str | None = None,
    ) -> None:
        self._do(operations.drop(assignment, reason=reason, refused=refused, by=by))

    def drop_older(self, seconds: float, *, reason: str | None = None, by: str | None = None) -> int:
        return self._do(operations.drop_older(seconds, reason=reason, by=by))

    def add_arm(self, arm: str, sd: npt.ArrayLike | None = None, *, by: str | None = None) -> None:
        self._do(operations.add_arm(arm, sd, by=by))

    def retire_arm(self, arm: str, *, by: str | None = None) -> None:
        self._do(operations.retire_arm(arm, by=by))

    def pause(self, *, by: str | None = None) -> None:
        self._do(operations.pause(by=by))

    def resume(self, *, by: str | None = None) -> None:
        self._do(operations.resume(by=by))

    def close(self, *, as_equal: bool | Sequence[str] = False, by: str | None = None) -> None:
        self._do(operations.close(as_equal=as_equal, by=by))

    @contextmanager
    def _look(self) -> Iterator[State]:
        """Return the state to read, in which everything that is due is settled."""
        with self._ledger.look() as state:
            if not state.is_due(time.time()):
                yield state
                return
        with suppress(StorageError):  # a storage that cannot be written to can be read
            carry_out(self._ledger, operations.settle())
        with self._ledger.look() as state:
            yield state

    def _do(self, operation: Operation[Result]) -> Result:
        """Carry out an operation in a transaction of its own."""
        return carry_out(self._ledger, operation)

    def verdict(self) -> Verdict:
        with self._look() as state:
            return state.verdict()

    def status(self) -> Status:
        with self._look() as state:
            described = begin_to_describe(self.name, state)
        return described()  # while others go on

    def stamp(self) -> tuple[int, str]:
        with self._look() as state:
            now = time.time()
            passing = f"{state.ending(now)}{len(state.given_up(now))}{len(state.lapsed(now))}"
            return state.seq, f"{state.seq}-{state.head[:16]}-{zlib.crc32(passing.encode()):08x}"

    def explain(self) -> Explanation:
        with self._look() as state:
            explained = state.begin_to_explain()
        return explained()

    def series(self) -> Series:
        with self._look() as state:
            return state.series()

    def concerns(self) -> list[Concern]:
        with self._look() as state:
            return state.concerns()

    def events(self, after: int = 0, most: int = 1000) -> Sequence[Event]:
        with self._look() as state:
            if after >= state.seq:
                return []
        return self._ledger.journal.read(self._ledger.handle, after, most)

    def verify(self) -> Verification:
        self._ledger.check()
        return verify_experiment(self._ledger.journal, self._ledger.handle)

    def iterate_records(self) -> Iterator[dict[str, Any]]:
        with self._look() as state:
            problem, assignments = state.problem, copy.copy(state.assignments)
            assignments.freeze()
            units, place = bool(len(state.units)), state.places()
            seq = state.seq
        rows = records_of(problem, assignments, place)
        if not units:
            return rows
        return ({"id": row["id"], "unit": unit, **row} for row, unit in zip(rows, self._units(seq), strict=False))

    def _units(self, seq: int) -> Iterator[str | None]:
        """Yield the unit of every assignment up to an event, None where it has none."""
        for event in self._ledger.events(seq):
            if event.kind == "asked":
                named = event.body.get("units", ())
                yield from named
                yield from [None] * (len(event.body["arms"]) - len(named))
            elif event.kind == "recorded":
                yield from [None] * len(event.body["rows"])


def carry_out_together(requests: Sequence[tuple[Experiment, Operation[Any]]]) -> list[Any]:
    """Carry out operations on experiments of one storage in one transaction; return the result or exception of each."""
    return carry_out_all([(experiment._ledger, operation) for experiment, operation in requests])
