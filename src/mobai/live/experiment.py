"""Durable experiments: ask which arm is next, tell what was measured, from any number of processes.

Every change is an event in a journal, written in one transaction while the experiment is locked. A process keeps the
state of the events it has seen and reads only newer ones, so a call costs the same early and late in an experiment.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy.typing as npt

from mobai.engine import Verdict
from mobai.engine.explain import Explanation
from mobai.engine.warm_up import check_rule, warm_up
from mobai.errors import ConflictError, InputError, StorageError, refuse_unknown
from mobai.live.asking import (
    LONGEST_NAME,
    checked_row,
    hand_out,
    known_assignments,
    made_by,
    names_of_ask,
    objective_to_use,
)
from mobai.live.assignments import ANSWERED, DROPPED, Assignment
from mobai.live.health import Concern
from mobai.live.journal import Event, Handle, Journal, sealed
from mobai.live.ledger import Ledger
from mobai.live.reports import Metrics, body_of, named, number_of, only_new, pair_of
from mobai.live.settings import ExperimentOptions, Settings, new_settings, to_body, with_arm
from mobai.live.state import State
from mobai.live.status import Status, describe, records_of
from mobai.live.storage import open_journal
from mobai.live.trace import Series
from mobai.live.units import Unit
from mobai.live.verify import Verification, verify_experiment
from mobai.problem import Guardrail, Objective, Problem
from mobai.problem.objective import is_name

_log = logging.getLogger(__name__)

_MOST_ROWS_PER_EVENT = 1000
_MOST_ASKED = 10_000


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
        self._ledger = Ledger(journal, handle, state)

    @classmethod
    def create(
        cls,
        storage: str | Path | Journal,
        name: str,
        arms: Sequence[str],
        objectives: Sequence[Objective | str],
        *,
        sd: npt.ArrayLike | None = None,
        guardrails: Sequence[Guardrail | str] = (),
        baseline: str | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> Experiment:
        """Begin an experiment.

        Parameters
        ----------
        storage
            ``sqlite:///ads.db`` (or a path), ``postgresql://user@host/name`` or ``memory:``.
        name
            What it is called in the storage.
        arms, objectives, sd, guardrails, baseline
            As for :class:`mobai.Problem`.
        delta
            The error probability, for all objectives and times together; 0.05 unless given.
        rule
            How arms are chosen: a name with options, ``package.module:Class`` for a rule of your own, or the rule;
            ``top-two`` unless given.
        seed
            Fixes the rule's own choices; 0 unless given.
        focus
            Sample only for objectives that are not decided yet; True unless given.
        expire_after
            Seconds after which an unanswered assignment no longer counts as pending. It may still be answered.
        reserve
            The share of delta kept for arms added or retired later, 0 if there will be none; 0.1 unless given, which
            costs 0.1 nats.
        on_broken
            What happens to an arm that breaks a limit: ``bar``, it is asked for no more, or ``tell``; ``bar`` unless
            given.
        max_samples
            Hand out so many assignments, dropped and expired ones aside; any number unless given.
        until
            Hand out none after this time, as ISO 8601, Unix time or a datetime; never ends unless given.
        """
        refuse_unknown("create", options, ExperimentOptions)
        if not is_name(name) or len(name) > LONGEST_NAME:
            raise InputError(
                f"name must be a non-empty string of printable characters, at most {LONGEST_NAME}, no space at its "
                f"ends, not {str(name)[:100]!r}"
            )
        problem = Problem(arms, objectives, sd, guardrails=guardrails, baseline=baseline)
        settings = new_settings(problem, **options)
        warm_up(settings.rule)
        check_rule(settings.rule, settings.problem)
        first = sealed(Event(1, "created", time.time(), {"name": name, **to_body(settings)}), "")
        state = State(first)
        journal = open_journal(storage, create=True)
        return cls(journal, journal.create(name, first), state)

    @classmethod
    def load(cls, storage: str | Path | Journal, name: str) -> Experiment:
        """Take an experiment up again, in this or another process."""
        journal = open_journal(storage)
        experiment = cls(journal, journal.find(name))
        with experiment._ledger.look() as state:
            warm_up(state.settings.rule)
            return experiment

    @property
    def name(self) -> str:
        """What it is called in its storage."""
        return self._ledger.handle.name

    @property
    def settings(self) -> Settings:
        """What it was set up with: delta, rule, seed and the rest."""
        with self._ledger.look() as state:
            return state.settings

    @property
    def problem(self) -> Problem:
        """The arms (with retired ones), objectives and known noise."""
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
        """Return the next assignments. Pending ones are counted: several askers do not pile onto one arm.

        Parameters
        ----------
        n
            How many, at most 10,000; fewer come if ``max_samples`` leaves no room.
        if_decided
            What to do once every objective is decided: ``go-on`` sampling; ``stop``, which returns none; or
            ``winner=OBJECTIVE``, which hands out the arm that was decided on.
        unit
            Who it is for, a visitor say: the same unit has the same assignment for ever.
        key
            A name for this call: made again with the same key, it returns the same assignments.
        by
            Who asks, for the journal.
        """
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST_ASKED:
            raise InputError(f"n must be a whole number from 1 to {_MOST_ASKED:,}, not {n!r}")
        names = names_of_ask(unit, key, n)
        with self._ledger.change(even_closed=unit is not None or key is not None) as change:
            known = known_assignments(change.state, n, unit, key)
            if known is not None:
                return known
            change.state.check_open()
            objective = objective_to_use(change.state, if_decided)
            engine = change.state.engine
            if if_decided == "stop" and engine.stopped():
                return []
            # What is asked for depends on complete pulls alone.
            winner = None if objective is None or not engine.settled else objective
            return hand_out(change, n, self.name, winner, names | made_by(by))

    def tell(
        self,
        assignment: Assignment | int | None = None,
        metrics: Metrics | None = None,
        *,
        unit: str | None = None,
        by: str | None = None,
    ) -> None:
        """Report what was measured, all metrics at once or one after the other; None for one that will not come.

        The assignment is named by itself, its id, or the unit it was handed out for. Sampling waits for pulls to be
        complete; evidence does not. The same report twice changes nothing; one that contradicts an earlier one is
        refused.
        """
        if (assignment is None) == (unit is None) or metrics is None:
            raise InputError("tell takes an assignment or a unit, and metrics")
        self.tell_all([(assignment if unit is None else Unit(unit), metrics)], by=by)

    def tell_all(
        self,
        reports: Iterable[tuple[Assignment | Unit | int | None, Metrics]] | Mapping[Any, Metrics],
        *,
        ask: int = 0,
        by: str | None = None,
    ) -> list[Assignment]:
        """Report on many assignments in one transaction, all or nothing; ``ask`` new ones are handed out in the same.

        Assignments are given as such, by their ids, or as :class:`mobai.Unit`.

        None come, and the reports are taken, while nothing is handed out (paused, ended, no samples left). If a call is
        retried because its reply was lost, it hands out further assignments; the first ones stay pending.
        """
        if not isinstance(reports, Iterable):
            raise InputError(f"reports must be pairs of an assignment (or arm) and metrics, not {reports!r}")
        given = list(reports.items() if isinstance(reports, Mapping) else reports)
        if isinstance(ask, bool) or not isinstance(ask, int) or not 0 <= ask <= _MOST_ASKED:
            raise InputError(f"ask must be a whole number from 0 to {_MOST_ASKED:,}, not {ask!r}")
        with self._ledger.change() as change:
            state = change.state
            fresh = only_new(state.problem, state.assignments, given, state.units)
            if fresh:
                change.add("told", body_of(state.problem, fresh) | made_by(by))
            if not ask or (given and state.ending(time.time()) is not None):
                return []  # answers are taken all the same
            return hand_out(change, ask, self.name, None, made_by(by))

    def record(self, arm: str, metrics: Metrics) -> Assignment:
        """Report an observation that nobody asked for; return an assignment to tell metrics that come later by.

        The guarantee is the same, as long as which arm came next did not depend on what it would bring. Recording the
        same observation twice counts it twice.
        """
        return self.record_all([(arm, metrics)])[0]

    def record_all(self, rows: Iterable[tuple[str, Metrics]]) -> list[Assignment]:
        """Report observations that nobody asked for in one transaction, all or nothing, and as one moment."""
        if not isinstance(rows, Iterable):
            raise InputError(f"rows must be pairs of an arm and its metrics, not {rows!r}")
        given = [pair_of(row) for row in rows]
        with self._ledger.change() as change:
            state = change.state
            checked = [checked_row(state.problem, *row, number) for number, row in enumerate(given, start=1)]
            first = state.assignments.count + 1
            for start in range(0, len(checked), _MOST_ROWS_PER_EVENT):
                rows_of_event = checked[start : start + _MOST_ROWS_PER_EVENT]
                body: dict[str, Any] = {"rows": [[arm, named(state.problem, told)] for arm, told in rows_of_event]}
                if start + _MOST_ROWS_PER_EVENT < len(checked):
                    body["more"] = True
                change.add("recorded", body)
            return [Assignment(first + n, arm) for n, (arm, _) in enumerate(checked)]

    def drop(self, assignment: Assignment | Unit | int, *, refused: bool = False, by: str | None = None) -> None:
        """Drop an assignment that will not be told: it no longer counts as pending and cannot be told later.

        Of one that was told in part, the metrics that are missing are said not to come, as None in a report does. With
        ``refused`` it is lost because of its value, and nothing is called certified any more.
        """
        with self._ledger.change() as change:
            state = change.state
            number = number_of(state.problem, state.assignments, assignment, state.units)
            status = state.assignments.status(number)
            if status == ANSWERED:
                waited_for = [name for name, reward in state.told_of(number) if math.isnan(reward)]
                if not waited_for:
                    raise ConflictError(f"assignment {number} has been answered and cannot be dropped")
                change.add("told", {"reports": [[number, dict.fromkeys(waited_for)]]} | made_by(by))
            elif status != DROPPED:
                change.add("dropped", {"ids": [number], **({"refused": True} if refused else {})} | made_by(by))
                _log.info("%s: assignment %d was dropped", self.name, number)

    def add_arm(self, arm: str, sd: npt.ArrayLike | None = None, *, by: str | None = None) -> None:
        """Add an arm; every objective is undecided again until the leader has been separated from it.

        ``sd`` is its standard deviation, as for :class:`mobai.Problem`; that of the others unless given.
        """
        with self._ledger.change() as change:
            state = change.state
            if state.settings.reserve == 0:
                raise InputError("arm: the experiment was created with reserve=0, so no arm can be added")
            row = with_arm(state.problem, arm, sd).sd[-1]
            plain = [None if math.isnan(value) else value for value in row.tolist()]
            change.add("arm_added", {"arm": arm, "sd": plain} | made_by(by))

    def retire_arm(self, arm: str, *, by: str | None = None) -> None:
        """Stop asking for an arm and look for the best of the others; decisions for other arms stand."""
        with self._ledger.change() as change:
            state = change.state
            taking_part = [name for name, active in zip(state.problem.arms, state.engine.active, strict=True) if active]
            if arm not in taking_part:
                raise InputError(f"arm must be one of {', '.join(taking_part)}, not {arm!r}")
            if len(taking_part) == 2:
                raise InputError("arm: two arms are left, and none of them can be retired")
            compared = {guardrail.of for guardrail in state.problem.guardrails} | {state.problem.baseline}
            if arm in compared:
                raise ConflictError(f"arm: {arm!r} is what others are compared with, and cannot be retired")
            change.add("arm_retired", {"arm": arm} | made_by(by))

    def pause(self, *, by: str | None = None) -> None:
        """Hand out nothing until :meth:`resume`; answers are still taken. Pausing twice changes nothing."""
        with self._ledger.change() as change:
            if change.state.paused_at is None:
                change.add("paused", made_by(by))

    def resume(self, *, by: str | None = None) -> None:
        """Hand out assignments again."""
        with self._ledger.change() as change:
            if change.state.paused_at is not None:
                change.add("resumed", made_by(by))

    def close(self, *, by: str | None = None) -> None:
        """End the experiment; it can be read, not changed."""
        with self._ledger.change(even_closed=True) as change:
            if change.state.closed_at is None:
                change.add("closed", made_by(by))

    def verdict(self) -> Verdict:
        """Return what is decided at the experiment's delta."""
        with self._ledger.look() as state:
            return state.verdict()

    def status(self) -> Status:
        """Return where the experiment stands: verdict, evidence, counts, means and intervals."""
        with self._ledger.look() as state:
            return describe(self.name, state)

    def explain(self) -> Explanation:
        """Return why it is not decided yet, pair by pair, and what the rule would ask for next and why."""
        with self._ledger.look() as state:
            return state.explain()

    def series(self) -> Series:
        """Return how it went: some hundred points of evidence, counts, means and intervals, over pulls and time."""
        with self._ledger.look() as state:
            return state.trace.series(state.problem, state.threshold)

    def concerns(self) -> list[Concern]:
        """Return what looks wrong: lost answers, metrics that have stopped coming, means that change, outliers.

        Each kind is raised falsely with a probability of at most one in a thousand, at all times together. They are not
        part of delta.
        """
        with self._ledger.look() as state:
            return state.concerns()

    def __repr__(self) -> str:
        """Name it, and say where it is kept."""
        return f"Experiment({self.name!r}, {self._ledger.journal!r})"

    def __str__(self) -> str:
        """Say in a few lines where the experiment stands."""
        return str(self.status())

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def history(self) -> Sequence[Event]:
        """Return every event from the beginning."""
        return self._ledger.history()

    def verify(self) -> Verification:
        """Check the chain of events, what they add up to, the snapshot and the database."""
        self._ledger.check()
        return verify_experiment(self._ledger.journal, self._ledger.handle)

    def records(self) -> list[dict[str, Any]]:
        """Return every assignment with what was told of it, as plain rows; None where nothing was.

        Where some were handed out for units, these are named, too.
        """
        with self._ledger.look() as state:
            rows = records_of(state)
            if not len(state.units):
                return rows
        units: dict[int, str] = {}
        count = 0
        for event in self._ledger.history():
            if event.kind == "asked":
                units |= {count + n: unit for n, unit in enumerate(event.body.get("units", ()), start=1)}
                count += len(event.body["arms"])
            elif event.kind == "recorded":
                count += len(event.body["rows"])
        return [{"id": row["id"], "unit": units.get(row["id"]), **row} for row in rows]

    def replay(self) -> Status:
        """Replay the whole journal, let the rule make every choice again, and return the status.

        StorageError names the choices that differ, as they may on another processor or in another version of a rule;
        what was asked was asked all the same.
        """
        self._ledger.check()
        state = self._ledger.fold(compare=True)
        if state.differences:
            found = [
                f"assignment {one.assignment} was arm {one.arm} in the journal and is arm {one.chosen} now"
                for one in state.differences[:3]
            ]
            more = len(state.differences) - len(found)
            raise StorageError("; ".join(found) + (f"; and {more:,} more" if more else ""))
        return describe(self.name, state)
