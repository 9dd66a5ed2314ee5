"""The state of an experiment: a fold of its events, an engine with the assignments that were handed out.

There is one way for an event to enter, whether it is being made now or is read from the journal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.engine import Verdict
from mobai.engine.asks import AT_ONCE, LEFT_OUT, UNRESOLVED, WORST, Resolution
from mobai.engine.concerns import Concern
from mobai.engine.engine import Engine
from mobai.engine.explain import Explanation, explain
from mobai.engine.paired import PairedEngine
from mobai.errors import ConflictError, InputError, StorageError
from mobai.live.assignments import (
    ANSWERED,
    DROPPED,
    EXPIRED,
    PENDING,
    STATUS_NAMES,
    Assignment,
    Assignments,
    PlacedAssignment,
)
from mobai.live.health import Health, attrition
from mobai.live.reports import Report, has_reward, measured, named, only_new
from mobai.live.settings import Settings, from_body, with_arm
from mobai.live.spending import Spending, room_for, spending_of
from mobai.live.trace import Series, Trace
from mobai.live.units import ASKED, RECORDED, TOLD, Asked, NumberTable
from mobai.problem import Problem
from mobai.rules.stopping import Decision, Paired
from mobai.seeds import NumberedStreams
from mobai.store.journal import Event
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
        self.equal: dict[str, dict[str, Any]] = {}  # objectives that ended in a tie: the arms, how much they can differ
        self.refused = 0  # pulls that were lost because of their value
        self.lost = 0  # pulls that were said to be lost for reasons that have nothing to do with any result
        self.late: dict[tuple[int, int], float] = {}  # what came too late, by assignment and metric
        self.seq = 1
        # What an earlier version had decided, as long as the journal does not say it.
        self.to_stand: dict[str, list[Any]] = {}
        self._recorded_before: list[Resolution] = []  # in the same moment
        self.timeline: list[Milestone] = []
        self._engine = new_engine(self.settings)
        self.assignments = Assignments(len(self.settings.problem.metrics))
        self.trace, self.health = Trace(), Health(self.settings.problem)
        self.differences: list[Difference] = []
        self._coins = NumberedStreams(self.settings.seed, "ask")
        self._compare = compare

    @property
    def engine(self) -> Engine:
        """The engine, which has taken in everything that was told."""
        self._engine.catch_up()
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

    def assignment(self, number: int) -> Assignment:
        """Return an assignment, with its place where arms are measured on the same things."""
        arm, index = self.problem.arms[self.assignments.arm(number)], self._engine.place(number)
        if index is None:
            return Assignment(number, arm)
        return PlacedAssignment.at(number, arm, index, self.item(index))

    def places(self) -> Callable[[int], tuple[int, str | int]] | None:
        """Return what says where an assignment is in the common order; None where there is none."""
        if self.problem.design is None:
            return None
        indices, item = [self._engine.place(n) or 0 for n in range(1, self.assignments.count + 1)], self.item
        return lambda number: (indices[number - 1], item(indices[number - 1]))

    def item(self, index: int) -> str | int:
        """Return what is at a place of the common order: a name, or a number from 0."""
        design = self.problem.design
        if design is None or design.size is None:
            return index
        item = int(self._order[index])
        return item if design.names is None else design.names[item]

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        """The items of a finite benchmark in the order in which they are measured."""
        assert self.problem.design is not None
        return self.problem.design.order(self.settings.seed)

    def verdict(self) -> Verdict:
        """Return what is decided, and what was lost."""
        return self.with_losses(self.engine.verdict(contention=True))

    @property
    def _losses_bias(self) -> bool:
        """Whether what is lost may bias: on items it is measured again, or counts as the worst if there is one."""
        design, metrics = self.problem.design, self.problem.metrics
        return design is None or design.kind == "rounds" or not all(metric.has_worst for metric in metrics)

    def with_losses(self, verdict: Verdict) -> Verdict:
        """Return a verdict that knows what was lost."""
        found = attrition(self.problem, self.assignments) if self._losses_bias else []
        alarms = tuple(one.text for one in found)
        return replace(verdict, refused=self.refused, lost=self.lost, alarms=alarms)

    @property
    def threshold(self) -> float:
        """The evidence that delta demands of every objective."""
        return self.engine.level(self.settings.log_inv_delta)

    def concerns(self) -> list[Concern]:
        """Return what looks wrong."""
        observations = self.engine.observations
        found = self.engine.health
        assert found is not None
        return self.health.concerns(self.problem, self.assignments, observations, found)

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
            raise ConflictError("name", "the experiment is closed")

    def room(self, now: float) -> int | None:
        """Return how many more may be handed out, None for any number; ConflictError says why none may."""
        most, until = self.settings.max_samples, self.settings.until
        if self.paused_at is not None:
            raise ConflictError("name", "the experiment is paused, and hands out nothing until it is resumed")
        if until is not None and now >= until:
            raise ConflictError("name", f"the experiment ended at {time_text(until)}, and hands out nothing more")
        if isinstance(self._engine, PairedEngine) and self._engine.is_used_up and not self.assignments.pending:
            raise ConflictError("name", self._engine.why_used_up)
        if self.problem.guardrails and (self.engine.barred | ~self.engine.active).all():
            raise ConflictError("name", "every arm breaks a limit, and there is none to hand out")
        rooms = [self.engine.room() if self.problem.design is not None else None]
        if most is not None:
            rooms.append(most - self.assignments.handed_out + len(self.given_up(now)))
            if (rooms[-1] or 0) <= 0:
                raise ConflictError("name", f"max_samples = {most:,} is reached, and nothing more is handed out")
        if self.settings.max_cost is not None and self.problem.costs is not None:
            rooms.append(room_for(self.problem, self.assignments, self.settings.max_cost))
            if not rooms[-1]:
                said = f"max_cost = {self.settings.max_cost:g} {self.problem.costs.counted_in}".rstrip()
                raise ConflictError("name", f"{said} is reached, and nothing more is handed out")
        return min((one for one in rooms if one is not None), default=None)

    def spending(self) -> Spending | None:
        """Return what was spent; None where samples have no costs."""
        return spending_of(self.problem, self.assignments, self.settings.max_cost)

    def lapsed(self, now: float) -> list[tuple[int, dict[str, float]]]:
        """Return the metrics whose window is over, by assignment, with what they count as."""
        found: dict[int, dict[str, float]] = {}
        for m, metric in enumerate(self.problem.metrics):
            if metric.window is not None and metric.otherwise is not None:
                for number in self.assignments.waited_for(m, now - metric.window):
                    if self.assignments.since(number) >= now - metric.window:
                        continue  # a clock was behind when a later one was handed out
                    found.setdefault(number, {})[metric.name] = float(metric.otherwise)
        return sorted(found.items())

    def given_up(self, now: float) -> list[int]:
        """Return the assignments that have been waited for, in some metric, for longer than they may."""
        patience, found = self.settings.expire_after, set[int]()
        if patience is not None:
            for m in range(len(self.problem.metrics)):
                found.update(self.assignments.waited_for(m, now - patience))
            found.update(self.assignments.dropped_open(now - patience))
        if self.settings.order == AT_ONCE:
            return sorted(number for number in found if self.assignments.status(number) == PENDING)
        return sorted(found)

    def is_due(self, now: float) -> bool:
        """Whether a window is over, or something has been waited for for too long."""
        return self.closed_at is None and bool(self.lapsed(now) or self.given_up(now))

    def can_be_the_worst(self, number: int) -> bool:
        """Whether to drop an assignment changes anything: nothing was told of it, or something missing has a range."""
        missing = zip(self.problem.metrics, self.assignments.rewards(number), strict=True)
        ranged = any(metric.has_worst and math.isnan(reward) for metric, reward in missing)
        return self.assignments.status(number) == PENDING or ranged

    def ending(self, now: float) -> str | None:
        """Return why nothing is handed out any more, None if something is."""
        try:
            self.room(now)
        except ConflictError as error:
            return error.message
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
            raise InputError("rule", f"{self.engine.rule.name} failed: {type(error).__name__}: {reason}") from error

    def _remember(self, number: int, asked: int) -> None:
        """Make the choice of an earlier assignment again, for a rule that remembers its choices, or to compare."""
        if self._compare or len(self._engine.memory) > 0:
            chosen = self._choose(number)
            if chosen != asked:
                self.engine.forget_choices()
                self.differences.append(Difference(number, asked, chosen))

    def _told(self, event: Event) -> None:
        told, late = event.body["reports"], event.body.get("late", [])
        reports, _ = only_new(self.problem, self.assignments, told)
        rewards = sum(len(metrics) for _, metrics in told)
        if rewards + len(late) == 0 or rewards != sum(len(named(self.problem, found)) for _, found in reports):
            raise InputError("it reports what was told before, or nothing")
        self._put_aside(late)
        lapsed = bool(event.body.get("lapsed", False))
        outcomes = [self._answer(report, lapsed=lapsed) for report in reports]
        if lapsed:
            self._hear(outcomes, event.at)
        else:
            self._tell(outcomes, event.at)

    def _put_aside(self, late: list[Any]) -> None:
        """Keep what came too late: it is no evidence."""
        for number, metrics in late:
            rewards = measured(self.problem, metrics)
            found = {m: reward for m, reward in enumerate(rewards) if not math.isnan(reward)}
            self.late |= {(self.assignments.check(number), m): reward for m, reward in found.items()}

    def _tell(self, outcomes: list[Resolution], at: float) -> None:
        """Let the engine take down what was told; it is taken in many at a time, at the latest when somebody looks."""
        self.last_report_at = at
        self._hear(outcomes, at)

    def _hear(self, outcomes: list[Resolution], at: float) -> None:
        self._engine.hear(outcomes, at)
        self._note_progress(at)

    def _note_progress(self, at: float) -> None:
        behind = self._engine.asks.behind
        if behind >= _MOST_BEHIND or self._engine.told + behind >= self.trace.next:
            self.trace.note(self.engine, at)

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
            self._engine.record(index, more=bool(told))
            self.assignments.add(index, event.at)
            told.append(self._answer((self.assignments.count, rewards)))
        if not event.body.get("more", False):
            self._recorded_before = []
            self._tell(told, event.at)

    def _answer(self, report: Report, *, lapsed: bool = False) -> Resolution:
        """Enter what was told of an assignment, or what it counts as because its window is over.

        In earlier versions, one that was expired was asked for after all.
        """
        number, rewards = report
        if self.assignments.status(number) == EXPIRED:
            self._engine.ask_again(self.assignments.arm(number))
        first = self.assignments.status(number) != ANSWERED and not lapsed
        self.health.note(self.assignments.arm(number), rewards, first=first)
        self.assignments.answer(number, rewards)
        if lapsed:
            self.assignments.settle(number, [not math.isnan(reward) for reward in rewards])
        return Resolution(number, rewards)

    def _dropped(self, event: Event) -> None:
        lost = bool(event.body.get("lost", False))
        left_out = lost or bool(event.body.get("refused", False))
        for number in map(self.assignments.check, event.body["ids"]):
            self._expect_missing(number, PENDING, ANSWERED, EXPIRED, DROPPED)
            self.lost += lost and self.engine.is_read(self.assignments.arm(number))
            self._give_up(number, self._stand_ins(left_out), event.at)
            if self.assignments.status(number) != ANSWERED:
                self.assignments.mark(number, DROPPED)
            self.refused += bool(event.body.get("refused", False))

    def _expired(self, event: Event) -> None:
        for number in map(self.assignments.check, event.body["ids"]):
            self._expect_missing(number, PENDING, ANSWERED, DROPPED)
            self.assignments.settle(number, self.assignments.missing(number))
            self._give_up(number, [LEFT_OUT] * len(self.problem.metrics), event.at)
            if self.assignments.status(number) == PENDING:
                self.assignments.mark(number, EXPIRED)

    def _stand_ins(self, left_out: bool) -> list[float]:
        """Return what stands for each metric of an assignment that is dropped: NaN where it is waited for all the same.

        One that is dropped by hand counts as the worst there could be, since why it was may have to do with its value.
        """
        if left_out or self.settings.order == AT_ONCE:
            return [LEFT_OUT] * len(self.problem.metrics)
        return [WORST if metric.has_worst else UNRESOLVED for metric in self.problem.metrics]

    def _give_up(self, number: int, stand_ins: list[float], at: float) -> None:
        """Let what stands for the metrics of an assignment that were not told take their place."""
        arm, known = self.assignments.arm(number), self.assignments.rewards(number)
        values = [new if math.isnan(old) else UNRESOLVED for old, new in zip(known, stand_ins, strict=True)]
        if self.assignments.status(number) == PENDING:
            self._engine.forget_ask(arm)
        self.assignments.give_up(number, [not math.isnan(value) for value in values])
        self._hear([Resolution(number, values)], at)

    def _expect_missing(self, number: int, *statuses: int) -> None:
        """Refuse to give up an assignment that stands otherwise, or of which nothing may come."""
        status = self.assignments.status(number)
        missing = status == EXPIRED or any(map(math.isnan, self.assignments.rewards(number)))
        if status not in statuses or not missing:
            raise InputError(f"assignment {number} is {STATUS_NAMES[status]}")

    def let_stand(self, decisions: list[Decision | None], seq: int) -> None:
        """Let what an earlier version had decided up to an event stand, unless arms came or went since."""
        if self.settings.order != AT_ONCE or any(one.arm is not None and one.seq > seq for one in self.timeline):
            return
        names, now = self.problem.objective_names, self.engine.verdict().decisions
        found = {
            name: [old.arm, old.pull, old.at]
            for name, old, new in zip(names, decisions, now, strict=True)
            if old is not None and (new is None or new.arm != old.arm)
        }
        self._stand(found)
        self.to_stand = found

    def _stood(self, event: Event) -> None:
        self._stand(event.body["decisions"])
        self.to_stand = {}

    def _stand(self, decisions: dict[str, list[Any]]) -> None:
        for name, decision in decisions.items():
            self.engine.let_stand(self.problem.objective_names.index(name), Decision(*decision))

    def _arm_added(self, event: Event) -> None:
        row = [np.nan if value is None else value for value in event.body["sd"]]
        self.engine.add_arm(with_arm(self.problem, event.body["arm"], row), event.at)
        self._note(event)

    def _arm_retired(self, event: Event) -> None:
        self.engine.retire_arm(self.problem.arms.index(event.body["arm"]), event.at)
        self._note(event)

    def _note(self, event: Event) -> None:
        self.timeline.append(Milestone(event.seq, event.kind, event.at, event.body.get("arm")))

    def _closed(self, event: Event) -> None:
        self.closed_at = event.at
        self.equal = event.body.get("as_equal", {})
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
    "stood": State._stood,
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
    stopping, focus = settings.stopping, x if settings.focus else None
    bars = settings.on_broken == "bar"
    if isinstance(stopping, Paired):
        return PairedEngine(settings.problem, stopping, log_inv_delta=x, rare=settings.rare, ahead=settings.ahead)
    return Engine(
        settings.problem,
        settings.rule,
        stopping,
        focus_log_inv_delta=focus,
        log_inv_delta=x,
        bars_broken=bars,
        order=settings.order,
        rare=settings.rare,
        follows_health=True,
    )
