"""All assignments of an experiment, in arrays: which arm, since when, how they stand, and what was told."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError, NotFoundError

STATUS_NAMES = ("pending", "answered", "dropped", "expired")
PENDING, ANSWERED, DROPPED, EXPIRED = range(len(STATUS_NAMES))
_OPEN, _GONE = (PENDING, ANSWERED), (DROPPED, EXPIRED)


class Assignment(NamedTuple):
    """One pull to make: its number, and the arm."""

    id: int
    arm: str

    @property
    def item(self) -> str | int | None:
        """What is to be measured: its name, or its number from 0; None without items and rounds."""
        return None

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """Its place in the common order of items or rounds, from 0; None where there is none."""
        return None


class PlacedAssignment(Assignment):
    """One pull to make on something that every arm is measured on."""

    _place: tuple[int, str | int]

    @classmethod
    def at(cls, number: int, arm: str, index: int, item: str | int) -> PlacedAssignment:
        """Return an assignment at a place of the common order."""
        made = cls(number, arm)
        made._place = index, item
        return made

    @property
    def item(self) -> str | int:
        """What is to be measured: its name, or its number from 0."""
        return self._place[1]

    @property
    def index(self) -> int:  # type: ignore[override]
        """Its place in the common order, from 0."""
        return self._place[0]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all of it."""
        return PlacedAssignment.at, (self.id, self.arm, *self._place)

    def __repr__(self) -> str:
        """Show all of it."""
        return f"PlacedAssignment(id={self.id}, arm={self.arm!r}, item={self.item!r})"


def assignment_json(assignment: Assignment, key: str = "assignment") -> dict[str, Any]:
    """Return an assignment as plain data, its number under a ``key``."""
    facts = {key: assignment.id, "arm": assignment.arm}
    if isinstance(assignment, PlacedAssignment):
        facts |= {"item": assignment.item, "index": assignment.index}
    return facts


def assignment_of(facts: Mapping[str, Any]) -> Assignment:
    """Return what :func:`assignment_json` made plain data of."""
    if facts.get("index") is None:
        return Assignment(facts["assignment"], facts["arm"])
    return PlacedAssignment.at(facts["assignment"], facts["arm"], facts["index"], facts["item"])


def id_of(number: Any) -> int:
    """Return an id of an assignment as a plain int; raise if it cannot be one."""
    if isinstance(number, int | np.integer) and not isinstance(number, bool):
        return int(number)
    hint = ""
    if isinstance(number, list | tuple) and number and isinstance(number[0], Assignment):
        hint = "; ask returns a list: (assignment,) = test.ask()"
    elif isinstance(number, str) and number.isdecimal():
        hint = "; ids are numbers"
    raise InputError("assignment", f"must be an id that was handed out, not {repr(number)[:60]}{hint}")


class Assignments:
    """Numbered from 1 in the order in which they were handed out.

    Attributes
    ----------
    incomplete
        How many were answered and wait for a metric.
    by_status
        How many stand how, by status and arm.
    """

    def __init__(self, objectives: int) -> None:
        self.incomplete = 0
        self.by_status: tuple[Counter[int], ...] = tuple(Counter() for _ in STATUS_NAMES)
        self._totals = [0] * len(STATUS_NAMES)
        self._objectives = objectives
        self._arms, self._status, self._since = array("i"), array("b"), array("d")
        # When each counts as handed out: no later than those that came after it, whatever a clock said that was ahead.
        self._due = array("d")
        self._told = array("d")  # the rewards of the first one, of the second one, ...
        self._dropped_open: set[int] = set()
        self._by_clock = bytearray()  # like what was told: 1 where a window was over, or nobody waits any more
        self._settled = 0  # up to which number none is pending, and how these stand
        self._settled_as: tuple[Counter[int], ...] = tuple(Counter() for _ in STATUS_NAMES)
        self._oldest = [1] * objectives  # of each metric: the first assignment of which it may still come

    def freeze(self) -> None:
        """Let go of what others change: a shallow copy keeps what it has."""
        self._arms, self._status, self._since = self._arms[:], self._status[:], self._since[:]
        self._told = self._told[:]

    @property
    def count(self) -> int:
        """How many have been handed out."""
        return len(self._arms)

    @property
    def pending(self) -> int:
        """How many have not been answered yet."""
        return self._totals[PENDING]

    def total(self, status: int) -> int:
        """Return how many stand so."""
        return self._totals[status]

    @property
    def handed_out(self) -> int:
        """How many have been handed out and were neither dropped nor expired."""
        return self.count - sum(self._totals[status] for status in _GONE)

    def add(self, arm: int, at: float) -> None:
        """Hand one out."""
        self._arms.append(arm)
        self._status.append(PENDING)
        self._since.append(at)
        self._due.append(at)
        place = len(self._due) - 1
        while place > 0 and self._due[place - 1] > at:
            place -= 1
            self._due[place] = at
        self._told.extend([math.nan] * self._objectives)
        self._by_clock.extend(bytes(self._objectives))
        self._count(arm, PENDING, 1)

    def check(self, number: int) -> int:
        """Return a number as a plain int, if there is an assignment of that number; nothing else checks it."""
        number = id_of(number)
        if not 1 <= number <= self.count:
            raise NotFoundError(None, "must be an id that was handed out", assignment=number)
        return number

    def arm(self, number: int) -> int:
        """Return the arm of an assignment."""
        return self._arms[number - 1]

    def status(self, number: int) -> int:
        """Return how an assignment stands."""
        return self._status[number - 1]

    def since(self, number: int) -> float:
        """Return when it was handed out."""
        return self._since[number - 1]

    def rewards(self, number: int) -> list[float]:
        """Return what was told so far, NaN for what was not."""
        end = number * self._objectives
        return self._told[end - self._objectives : end].tolist()

    def column(self, m: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Return the arm of every assignment, and what was told of a metric; not finite where nothing was."""
        arms = np.array(self._arms, np.int32)
        return arms, np.array(self._told, np.float64).reshape(-1, self._objectives)[:, m]

    def mark(self, number: int, status: int) -> None:
        """Change how an assignment stands."""
        arm = self._arms[number - 1]
        if number <= self._settled:
            self._settled_as[self._status[number - 1]][arm] -= 1
            self._settled_as[status][arm] += 1
        self._count(arm, self._status[number - 1], -1)
        self._count(arm, status, 1)
        self._status[number - 1] = status
        if status == DROPPED and self._waits(number):
            self._dropped_open.add(number)

    def _count(self, arm: int, status: int, by: int) -> None:
        self._totals[status] += by
        self.by_status[status][arm] += by

    def answer(self, number: int, rewards: list[float]) -> None:
        """Add rewards that were not there before."""
        self.incomplete -= self._status[number - 1] == ANSWERED and self._waits(number)
        self.mark(number, ANSWERED)
        for place, reward in enumerate(rewards, (number - 1) * self._objectives):
            if not math.isnan(reward):
                self._told[place] = reward
        self.incomplete += self._waits(number)

    def give_up(self, number: int, which: list[bool]) -> None:
        """Let these metrics, of which nothing was told, be known not to come."""
        answered = self._status[number - 1] == ANSWERED
        self.incomplete -= answered and self._waits(number)
        for place, given_up in enumerate(which, (number - 1) * self._objectives):
            if given_up:
                self._told[place] = math.inf
        self.incomplete += answered and self._waits(number)
        if not self._waits(number):
            self._dropped_open.discard(number)

    def settle(self, number: int, which: list[bool]) -> None:
        """Note that it is settled, by the clock, what these metrics count as."""
        for place, settled in enumerate(which, (number - 1) * self._objectives):
            if settled:
                self._by_clock[place] = 1

    def is_settled(self, number: int, m: int) -> bool:
        """Whether it was settled by the clock what a metric counts as."""
        return self._by_clock[(number - 1) * self._objectives + m] == 1

    def missing(self, number: int) -> list[bool]:
        """Return of which metrics nothing was told."""
        return list(map(math.isnan, self.rewards(number)))

    def _waits(self, number: int) -> bool:
        """Whether a metric of an assignment may still come."""
        return any(map(math.isnan, self.rewards(number)))

    def settled(self) -> tuple[Counter[int], ...]:
        """Return how many stand how, by status and arm, of those before the first one that is pending."""
        while self._settled < self.count and self._status[self._settled] != PENDING:
            self._settled_as[self._status[self._settled]][self._arms[self._settled]] += 1
            self._settled += 1
        return self._settled_as

    def due(self, number: int) -> float:
        """Return when it counts as handed out."""
        return self._due[number - 1]

    def dropped_open(self, before: float) -> list[int]:
        """Return the assignments handed out before a time that were dropped, and of which a metric is waited for."""
        return sorted(number for number in self._dropped_open if self._due[number - 1] < before)

    def waited_for(self, m: int, before: float) -> list[int]:
        """Return the assignments handed out before a time of which a metric may still come, in that order."""
        while self._oldest[m] <= self.count and not self._may_come(self._oldest[m], m):
            self._oldest[m] += 1
        found = []
        for number in range(self._oldest[m], self.count + 1):
            if self._due[number - 1] >= before:
                break
            if self._may_come(number, m):
                found.append(number)
        return found

    def _may_come(self, number: int, m: int) -> bool:
        return self._status[number - 1] in _OPEN and math.isnan(self._told[(number - 1) * self._objectives + m])

    def arrays(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        """Return everything as arrays."""
        return {
            "arms": np.array(self._arms),
            "status": np.array(self._status),
            "since": np.array(self._since),
            "told": np.array(self._told).reshape(-1, self._objectives),
            "by_clock": np.frombuffer(bytes(self._by_clock), np.int8),
        }

    def restore(self, arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> None:
        """Take over what :meth:`arrays` gave; ValueError if it cannot have."""
        count = len(arrays["arms"])
        for name, kind, shape in (
            ("arms", "i", (count,)),
            ("status", "b", (count,)),
            ("since", "d", (count,)),
            ("told", "d", (count, self._objectives)),
        ):
            if arrays[name].dtype != np.dtype(kind) or arrays[name].shape != shape:
                raise ValueError(f"{name}: not {shape} of type {kind}")
            setattr(self, f"_{name}", array(kind, arrays[name].tobytes()))
        if arrays["by_clock"].shape != (count * self._objectives,):
            raise ValueError("by_clock: not as many as rewards")
        self._by_clock = bytearray(arrays["by_clock"].tobytes())
        self._due = array("d", np.minimum.accumulate(arrays["since"][::-1])[::-1].tobytes())
        for status, counter in enumerate(self.by_status):
            counts = np.bincount(arrays["arms"][arrays["status"] == status]).tolist()
            counter.clear()
            counter.update({arm: count for arm, count in enumerate(counts) if count})
            self._totals[status] = sum(counts)
        open_ones = np.isnan(arrays["told"]).any(axis=1) & (arrays["status"] == DROPPED)
        self._dropped_open = set((np.flatnonzero(open_ones) + 1).tolist())
        self._settled = 0
        for counter in self._settled_as:
            counter.clear()
        waits = np.isnan(arrays["told"]).any(axis=1) & (arrays["status"] == ANSWERED)
        self.incomplete = int(waits.sum())
