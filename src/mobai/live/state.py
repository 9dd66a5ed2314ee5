"""The state of an experiment: a fold of its events, an engine with the assignments that were handed out.

There is one way for an event to enter, whether it is being made now or is read from the journal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mobai.engine import Verdict
from mobai.engine.engine import Engine, Told
from mobai.engine.explain import Explanation, explain
from mobai.errors import ConflictError, InputError, StorageError
from mobai.live.assignments import ANSWERED, DROPPED, EXPIRED, PENDING, STATUS_NAMES, Assignments
from mobai.live.health import Concern, Health
from mobai.live.journal import Event
from mobai.live.reports import Report, has_reward, measured, only_new, without_lost
from mobai.live.settings import Settings, from_body, with_arm
from mobai.live.trace import Series, Trace
from mobai.live.units import ASKED, RECORDED, TOLD, Asked, NumberTable
from mobai.problem import Problem
from mobai.rules.stopping import GLR
from mobai.seeds import NumberedStreams
from mobai.views.data import time_text

# How many pulls are taken in at a time.
_MOST_BEHIND = 512


class Difference(NamedTuple):
    """An assignment for another arm than the sampling rule chooses today."""

    assignment: int
    arm: int
    chosen: int


class Milestone(NamedTuple):
    """Something that somebody did to an experiment: the number of the event, its kind, when, and to which arm."""

    seq: int
    kind: str
    at: float
    arm: str | None = None


class State:
    """Everything that is known after the events applied so far.

    What was asked was asked: an event is taken in as it is, whatever the sampling rule would choose today. With
    ``compare`` every choice is made again, and ``differences`` lists those that come out otherwise.
    """

    def __init__(self, first: Event, *, compare: bool = False) -> None:
        if first.kind != "created" or first.seq != 1:
            raise StorageError(f"the journal begins with {first.kind!r}, not with 'created'")
        try:
            self.settings: Settings = from_body(first.body)
        except (InputError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise StorageError(f"event 1 (created) is damaged: {error}") from error
        self.name: str | None = first.body.get("name")  # journals of earlier versions do not say it
        self.created_at = first.at
        self.head = first.hash
        self.closed_at: float | None = None
        self.paused_at: float | None = None
        self.last_report_at: float | None = None
        self.units, self.keys = NumberTable(), NumberTable()
        self.refused = 0  # pulls that were lost because of their value
        self.seq = 1
        self._recorded_before: list[Told] = []  # in the same moment
        self.timeline: list[Milestone] = []
        self._behind: list[tuple[Told, float]] = []  # pulls that wait to be taken in, many at a time
        self._engine = new_engine(self.settings)
        self.assignments = Assignments(len(self.settings.problem.metrics))
        self.trace, self.health = Trace(), Health(self.settings.problem)
        self.differences: list[Difference] = []
        self._coins = NumberedStreams(self.settings.seed, "ask")
        self._compare = compare

    @property
    def engine(self) -> Engine:
        """The engine, which has taken in everything that was told."""
        self._catch_up()
        return self._engine

    @property
    def problem(self) -> Problem:
        """Arms, objectives and known noise, with arms that were retired."""
        return self._engine.problem

    def check_name(self, name: str) -> None:
        """Refuse the journal of another experiment than the one of this name."""
        if self.name not in (None, name):
            raise StorageError(f"the journal of {name!r} is that of {self.name!r}: names or events were exchanged")

    def apply(self, event: Event, reports: list[Report] | None = None) -> Event:
        """Take the next event in; return it as the journal keeps it.

        The arms of an ask may be None: then the sampling rule chooses, and they are filled in. The ``reports`` of an
        event that tells are given if they were checked just now.
        """
        if event.seq != self.seq + 1:
            raise StorageError(f"event {event.seq} cannot follow event {self.seq}")
        if self.closed_at is not None:
            raise InputError("the experiment is closed, and nothing can follow")
        if event.kind == "asked":
            event = self._asked(event)
        elif reports is not None:
            self._tell([self._answer(report) for report in reports], event.at)
        elif event.kind in _HANDLERS:
            _HANDLERS[event.kind](self, event)
        else:
            raise StorageError(f"event {event.seq} is {event.kind!r}, which this mobai does not know")
        self.seq = event.seq
        return event

    def apply_all(self, events: Iterable[Event]) -> None:
        """Take events of a journal in, all of them complete."""
        for event in events:
            try:
                if self.apply(event) != event:
                    raise InputError("it is incomplete: what was asked for must be in it")
                self.head = event.hash
            except (InputError, LookupError, TypeError, ValueError) as error:
                raise StorageError(f"event {event.seq} ({event.kind}) is damaged: {error}") from error

    def told_of(self, number: int) -> Iterable[tuple[str, float]]:
        """Return what was told of an assignment, by objective: NaN for nothing, infinity for what will not come."""
        return zip(self.problem.metric_names, self.assignments.rewards(number), strict=True)

    def verdict(self) -> Verdict:
        """Return what is decided, and how many pulls were lost because of their value."""
        return replace(self.engine.verdict(), refused=self.refused)

    @property
    def threshold(self) -> float:
        """The evidence that delta demands of every objective."""
        return self.engine.stopping.level(self.settings.problem, self.settings.log_inv_delta)

    def concerns(self) -> list[Concern]:
        """Return what looks wrong."""
        observations = self.engine.observations
        return self.health.concerns(self.problem, self.assignments, observations)

    def series(self) -> Series:
        """Return how it went."""
        threshold = self.threshold
        return self.trace.series(self.problem, threshold)

    def begin_to_explain(self) -> Callable[[], Explanation]:
        """Take note of the state as it is now, and return what says why it is not decided yet, and what is next."""
        engine, coins = self.engine.still(), self._coins.at(self.assignments.count + 1)
        ending = "the experiment is closed" if self.closed_at is not None else self.ending(time.time())
        return partial(_explained, engine, self.settings.log_inv_delta, coins, ending)

    def check_open(self) -> None:
        """Refuse to change an experiment that is closed."""
        if self.closed_at is not None:
            raise ConflictError("name: the experiment is closed")

    def room(self, now: float) -> int | None:
        """Return how many more may be handed out, None for any number; ConflictError says why none may."""
        most, until = self.settings.max_samples, self.settings.until
        if self.paused_at is not None:
            raise ConflictError("name: the experiment is paused, and hands out nothing until it is resumed")
        if until is not None and now >= until:
            raise ConflictError(f"name: the experiment ended at {time_text(until)}, and hands out nothing more")
        if self.problem.guardrails and (self.engine.barred | ~self.engine.active).all():
            raise ConflictError("name: every arm breaks a limit, and there is none to hand out")
        if most is None:
            return None
        left = most - self.assignments.handed_out + len(self.overdue(now))
        if left <= 0:
            raise ConflictError(f"name: max_samples = {most:,} is reached, and nothing more is handed out")
        return left

    def overdue(self, now: float) -> list[int]:
        """Return the pending assignments that have waited for longer than they may."""
        patience = self.settings.expire_after
        return [] if patience is None else self.assignments.overdue(now - patience)

    def ending(self, now: float) -> str | None:
        """Return why nothing is handed out any more, None if something is."""
        try:
            self.room(now)
        except ConflictError as error:
            return str(error).removeprefix("name: ")
        return None

    def _asked(self, event: Event) -> Event:
        chosen, first = "winner" not in event.body, self.assignments.count + 1
        arms = [self._ask(arm, event.at, chosen) for arm in event.body["arms"]]
        units = event.body.get("units", [])
        if not isinstance(units, list) or len(units) > len(arms):
            raise InputError("it names more units than it hands out")
        for n, unit in enumerate(units):
            self._name(self.units, unit, first + n)
        if "key" in event.body:
            key, told = event.body["key"], event.body.get("told")
            packed = Asked(first, len(arms), event.body["n"], ASKED if told is None else TOLD).packed
            self._name(self.keys, key, packed)
            if told is not None:
                self._name(self.keys, f"{key}\n{told}", packed)
        return event if arms == event.body["arms"] else event._replace(body={**event.body, "arms": arms})

    def _name(self, table: NumberTable, name: Any, number: int) -> None:
        """Let a name stand for an assignment."""
        if not isinstance(name, str) or table.get(name) is not None:
            raise InputError(f"{name!r} has an assignment already, or is no name")
        table.add(name, number)

    def _ask(self, arm: int | None, at: float, chosen: bool) -> int:
        """Hand out one assignment: for an arm that is known, or for the one that the sampling rule chooses.

        An arm that is known was ``chosen`` by the rule, or handed out because everything was decided.
        """
        number = self.assignments.count + 1
        if arm is None:
            asked = self._choose(number)
        else:
            asked = self.problem.arm_index(arm)
            if chosen:
                self._remember(number, asked)
        self._engine.ask(asked)
        self.assignments.add(asked, at)
        return asked

    def _choose(self, number: int) -> int:
        """Let the sampling rule choose; InputError in one line if a rule of somebody's own fails."""
        try:
            return self.engine.choose(self._coins.at(number))
        except (Exception, SystemExit) as error:
            if isinstance(error, InputError) or type(self.engine.rule).__module__.startswith("mobai."):
                raise
            reason = " ".join(str(error).split())
            raise InputError(f"rule: {self.engine.rule.name} failed: {type(error).__name__}: {reason}") from error

    def _remember(self, number: int, asked: int) -> None:
        """Make the choice of an earlier assignment again, for a rule that remembers its choices, or to compare."""
        if self._compare or len(self._engine.memory) > 0:
            chosen = self._choose(number)
            if chosen != asked:
                self.engine.forget_choices()
                self.differences.append(Difference(number, asked, chosen))

    def _told(self, event: Event) -> None:
        reports = only_new(self.problem, self.assignments, event.body["reports"])
        rewards = sum(len(metrics) for _, metrics in event.body["reports"])
        if rewards == 0 or rewards != sum(not math.isnan(reward) for _, told in reports for reward in told):
            raise InputError("it reports what was told before, or nothing")
        self._tell([self._answer(report) for report in reports], event.at)

    def _tell(self, told: list[Told], at: float) -> None:
        """Let the engine take in what was told, and those who follow how it goes: at the latest when somebody looks."""
        self.last_report_at = at
        if len(told) == 1 and told[0].complete is told[0].rewards and self._engine.can_fold:
            self._behind.append((told[0], at))
            if len(self._behind) >= _MOST_BEHIND or self._engine.told + len(self._behind) >= self.trace.next:
                self._catch_up()
        else:
            self._catch_up()
            self._tell_now(told, at)

    def _tell_now(self, told: list[Told], at: float) -> None:
        self.health.note(self._engine.tell_all(told, at), self._engine.observations)
        self.trace.note(self._engine, at)

    def _catch_up(self) -> None:
        """Let the engine take in what it is behind with: pulls that were told one by one."""
        if not self._behind:
            return
        behind, self._behind = self._behind, []
        if len(behind) < self._engine.worth_folding:
            for one, at in behind:
                self._tell_now([one], at)
        else:
            self._engine.fold([one for one, _ in behind], [at for _, at in behind], self.health.found)
            self.trace.note(self._engine, behind[-1][1])

    def _recorded(self, event: Event) -> None:
        """Enter pulls that nobody asked for: assignments that were answered when they were handed out.

        An event that says there are ``more`` is one moment with the next: a long list is kept in several.
        """
        told = self._recorded_before
        if "key" in event.body:
            asked = Asked(self.assignments.count + 1, event.body["n"], event.body["n"], RECORDED)
            self._name(self.keys, event.body["key"], asked.packed)
        for arm, metrics in event.body["rows"]:
            index, rewards = self.problem.arm_index(arm), measured(self.problem, metrics)
            if not isinstance(arm, str) or not has_reward(rewards):
                raise InputError("a row must have the name of an arm and a reward")
            self._engine.ask_again(index)
            self.assignments.add(index, event.at)
            number = self.assignments.count
            told.append(self._enter(number, rewards, first=True))
        if not event.body.get("more", False):
            self._recorded_before = []
            self._tell(told, event.at)

    def _answer(self, report: Report) -> Told:
        """Enter an answer; one that was expired counts as asked for after all."""
        number, rewards = report
        arm, status = self.assignments.arm(number), self.assignments.status(number)
        if status == EXPIRED:
            self._engine.ask_again(arm)
        return self._enter(number, rewards, first=status != ANSWERED)

    def _enter(self, number: int, rewards: list[float], *, first: bool) -> Told:
        """Enter what was told of an assignment; with it, the pull may be complete."""
        self.assignments.answer(number, rewards)
        known, told = self.assignments.rewards(number), without_lost(rewards)
        complete = None if any(map(math.isnan, known)) else told if first else without_lost(known)
        return Told(self.assignments.arm(number), told, first, complete)

    def _dropped(self, event: Event) -> None:
        for number in map(self.assignments.check, event.body["ids"]):
            self._expect(number, PENDING, EXPIRED)
            if self.assignments.status(number) == PENDING:
                self._engine.drop(self.assignments.arm(number))
            self.assignments.mark(number, DROPPED)
            self.refused += bool(event.body.get("refused", False))

    def _expired(self, event: Event) -> None:
        for number in map(self.assignments.check, event.body["ids"]):
            self._expect(number, PENDING)
            self._engine.drop(self.assignments.arm(number))
            self.assignments.mark(number, EXPIRED)

    def _expect(self, number: int, *statuses: int) -> None:
        status = self.assignments.status(number)
        if status not in statuses:
            raise InputError(f"assignment {number} is {STATUS_NAMES[status]}")

    def _arm_added(self, event: Event) -> None:
        row = [np.nan if value is None else value for value in event.body["sd"]]
        self.engine.add_arm(with_arm(self.problem, event.body["arm"], row), event.at)
        self.health.add_arm()
        self._note(event)

    def _arm_retired(self, event: Event) -> None:
        self.engine.retire_arm(self.problem.arms.index(event.body["arm"]), event.at)
        self._note(event)

    def _note(self, event: Event) -> None:
        self.timeline.append(Milestone(event.seq, event.kind, event.at, event.body.get("arm")))

    def _closed(self, event: Event) -> None:
        self.closed_at = event.at
        self._note(event)

    def _paused(self, event: Event) -> None:
        if self.paused_at is not None:
            raise InputError("it is paused already")
        self.paused_at = event.at
        self._note(event)

    def _resumed(self, event: Event) -> None:
        if self.paused_at is None:
            raise InputError("it is not paused")
        self.paused_at = None
        self._note(event)


def _explained(engine: Engine, x: float, coins: np.random.Generator, ending: str | None) -> Explanation:
    found = explain(engine, x, coins)
    if ending is not None:
        return replace(found, next_arm=None, reason=f"nothing is handed out: {ending}")
    if engine.stopped() and found.next_arm is not None:
        return replace(found, reason=f"everything is decided; if you go on, {found.reason}")
    return found


_HANDLERS: dict[str, Callable[[State, Event], None]] = {
    "told": State._told,
    "recorded": State._recorded,
    "dropped": State._dropped,
    "expired": State._expired,
    "arm_added": State._arm_added,
    "arm_retired": State._arm_retired,
    "closed": State._closed,
    "paused": State._paused,
    "resumed": State._resumed,
}


def new_engine(settings: Settings) -> Engine:
    """Return the engine of an experiment that begins with these settings."""
    x = settings.log_inv_delta
    stopping, focus = GLR(reserve=settings.reserve), x if settings.focus else None
    bars = settings.on_broken == "bar"
    return Engine(
        settings.problem, settings.rule, stopping, focus_log_inv_delta=focus, log_inv_delta=x, bars_broken=bars
    )
