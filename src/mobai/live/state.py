"""The state of an experiment: a fold of its events. The same events give the same state, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from mobai.errors import InputError, StorageError
from mobai.lab.seeds import Places
from mobai.live.assignments import ANSWERED, DROPPED, EXPIRED, PENDING, STATUS_NAMES, Assignments
from mobai.live.journal import Event
from mobai.live.reports import Report, body_of, only_new
from mobai.live.settings import Settings, from_body
from mobai.problem import FloatArray, IntArray, Problem, Tally
from mobai.theory.growth import Roster, weigh


class Decision(NamedTuple):
    """An objective's answer: the arm, after how many answered pulls, and when."""

    arm: int
    pull: int
    at: float


class State:
    """Everything that is known after the events applied so far.

    With ``verify`` every choice of the sampling rule is made again and compared with the journal; without, that is done
    only for rules that carry a memory from choice to choice.
    """

    def __init__(self, first: Event, verify: bool = False) -> None:
        if first.kind != "created" or first.seq != 1:
            raise StorageError(f"the journal begins with {first.kind!r}, not with 'created'")
        self.settings: Settings = from_body(first.body)
        self.created_at = first.at
        self.seq = 1
        self.closed_at: float | None = None
        arms, objectives = self.settings.problem.shape
        self.initial = arms
        self.active = np.ones(arms, np.bool_)
        self.tally = Tally(self.settings.problem)
        self.assignments = Assignments(objectives)
        self.decisions: list[Decision | None] = [None] * objectives
        self.past: list[tuple[str, Decision]] = []
        self.leaders: IntArray
        self.evidence: FloatArray
        self.roster: Roster
        self.level: float  # the evidence that delta demands
        self._memory: Any
        self._coins = Places(self.settings.seed, "ask")
        self._verify = verify
        self._enrol()
        self._look(first.at)

    @property
    def problem(self) -> Problem:
        """Arms, objectives and known noise, with arms that were retired."""
        return self.settings.problem

    def apply(self, event: Event) -> None:
        """Take the next event in."""
        if event.seq != self.seq + 1:
            raise StorageError(f"event {event.seq} cannot follow event {self.seq}")
        handlers: dict[str, Callable[[Event], None]] = {
            "asked": self._asked,
            "told": self._told,
            "dropped": self._dropped,
            "expired": self._expired,
            "arm_added": self._arm_added,
            "arm_retired": self._arm_retired,
            "closed": self._closed,
        }
        if event.kind not in handlers:
            raise StorageError(f"event {event.seq} is {event.kind!r}, which this mobai does not know")
        try:
            handlers[event.kind](event)
        except (LookupError, TypeError, ValueError) as error:
            raise StorageError(f"event {event.seq} ({event.kind}) is damaged: {error}") from error
        self.seq = event.seq

    def apply_all(self, events: Iterable[Event]) -> None:
        """Take the next events in."""
        for event in events:
            self.apply(event)

    def choose(self, number: int) -> int:
        """Let the rule choose for the assignment of this number, and count it as handed out."""
        tally = self.tally if self.roster.everyone else self.tally.rows(self._rows)
        arm, self._memory = self.settings.rule.choose(self._part, self._memory, tally, self._coins.at(number))
        chosen = int(self._rows[arm])
        self.tally.ask(chosen)
        return chosen

    def hand_out(self, event: Event) -> None:
        """Add the assignments of an ask whose arms were chosen here."""
        for arm in event.body["arms"]:
            self.assignments.add(arm, event.at)
        self.seq = event.seq

    def tell(self, event: Event, reports: Iterable[Report]) -> None:
        """Take an event's reports in, and look at the evidence after every one."""
        for number, rewards in reports:
            arm, status = self.assignments.arm(number), self.assignments.status(number)
            if status == EXPIRED:
                self.tally.ask(arm)
            self.assignments.answer(number, rewards)
            self.tally.tell(arm, self.problem.orient(rewards), first=status != ANSWERED)
            self._look(event.at)
        self.seq = event.seq

    @property
    def memory(self) -> tuple[Any, ...]:
        """What the sampling rule carries from choice to choice."""
        return tuple(self._memory)

    def restore(self, memory: list[np.ndarray[Any, Any]]) -> None:
        """Take over a rule's memory, and weigh the evidence again."""
        self._enrol()
        if memory:
            self._memory = type(self._memory)(*memory)
        self.leaders, self.evidence = weigh(self.problem, self.tally, self.roster)

    def _enrol(self) -> None:
        """Take note of who takes part, and start the rule for them."""
        self.roster = Roster(self.initial, self.active, self.settings.reserve)
        self.level = self.roster.level(self.settings.log_inv_delta, self.problem.shape[1])
        self._rows = np.flatnonzero(self.active)
        names = [self.problem.arms[i] for i in self._rows]
        self._part = Problem(names, self.problem.objectives, self.problem.sd[self._rows])
        self._memory = self.settings.rule.init(self._part)

    def _asked(self, event: Event) -> None:
        for arm in map(self.problem.arm_index, event.body["arms"]):
            number = self.assignments.count + 1
            if self._verify or self.memory:
                chosen = self.choose(number)
                if chosen != arm:
                    raise StorageError(f"assignment {number} was arm {arm} in the journal and is arm {chosen} now")
            else:
                self.tally.ask(arm)
            self.assignments.add(arm, event.at)

    def _told(self, event: Event) -> None:
        reports = only_new(self.problem, self.assignments, event.body["reports"])
        if body_of(self.problem, reports) != event.body:
            raise InputError("it reports what was told before, or nothing")
        self.tell(event, reports)

    def _dropped(self, event: Event) -> None:
        for number in map(self.assignments.check, event.body["ids"]):
            self._expect(number, PENDING, EXPIRED)
            if self.assignments.status(number) == PENDING:
                self.tally.drop(self.assignments.arm(number))
            self.assignments.mark(number, DROPPED)

    def _expired(self, event: Event) -> None:
        for number in map(self.assignments.check, event.body["ids"]):
            self._expect(number, PENDING)
            self.tally.drop(self.assignments.arm(number))
            self.assignments.mark(number, EXPIRED)

    def _expect(self, number: int, *statuses: int) -> None:
        status = self.assignments.status(number)
        if status not in statuses:
            raise InputError(f"assignment {number} is {STATUS_NAMES[status]}")

    def _arm_added(self, event: Event) -> None:
        row = [np.nan if value is None else value for value in event.body["sd"]]
        self.settings = self.settings.with_arm(event.body["arm"], row)
        self.tally.add_arm()
        self.active = np.append(self.active, True)
        self._enrol()
        # What was decided is true of the arms there were; the newcomer opens every objective again.
        for m in range(len(self.decisions)):
            self._open_again(m)
        self._look(event.at)

    def _arm_retired(self, event: Event) -> None:
        arm = self.problem.arms.index(event.body["arm"])
        self.active[arm] = False
        self._enrol()
        for m, decision in enumerate(self.decisions):
            if decision is not None and decision.arm == arm:
                self._open_again(m)
        self._look(event.at)

    def _closed(self, event: Event) -> None:
        self.closed_at = event.at

    def _open_again(self, m: int) -> None:
        """Put what was decided on an objective, if anything was, among what is past."""
        decision = self.decisions[m]
        if decision is not None:
            self.past.append((self.problem.objective_names[m], decision))
            self.decisions[m] = None

    def _look(self, at: float) -> None:
        """Weigh the evidence; decisions stand once made."""
        self.leaders, self.evidence = weigh(self.problem, self.tally, self.roster)
        for m, evidence in enumerate(self.evidence.tolist()):
            if self.decisions[m] is None and evidence > self.level:
                self.decisions[m] = Decision(int(self.leaders[m]), self.tally.told, at)
        if self.settings.focus:
            self.tally.open[:] = [decision is None for decision in self.decisions]

    def check_open(self) -> None:
        """Refuse to change an experiment that is closed."""
        if self.closed_at is not None:
            raise InputError("the experiment is closed")
