"""All assignments of an experiment, in arrays: which arm, since when, how they stand, and what was told."""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

import numpy as np

from mobai.errors import InputError, NotFoundError

STATUS_NAMES = ("pending", "answered", "dropped", "expired")
PENDING, ANSWERED, DROPPED, EXPIRED = range(len(STATUS_NAMES))
_GONE = (DROPPED, EXPIRED)


class Assignment(NamedTuple):
    """One pull to make: its number, and the arm."""

    id: int
    arm: str


class Assignments:
    """Numbered from 1 in the order in which they were handed out."""

    def __init__(self, objectives: int) -> None:
        self.pending = self._lost = 0
        self._objectives = objectives
        self._arms, self._status, self._since = array("i"), array("b"), array("d")
        # When each counts as handed out: no later than those that came after it, whatever a clock said that was ahead.
        self._due = array("d")
        self._told = array("d")  # the rewards of the first one, of the second one, ...
        self._oldest = 1

    def freeze(self) -> None:
        """Let go of what others change: a shallow copy keeps what it has."""
        self._arms, self._status, self._since = self._arms[:], self._status[:], self._since[:]
        self._told = self._told[:]

    @property
    def count(self) -> int:
        """How many have been handed out."""
        return len(self._arms)

    @property
    def handed_out(self) -> int:
        """How many have been handed out and were neither dropped nor expired."""
        return self.count - self._lost

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
        self.pending += 1

    def check(self, number: int) -> int:
        """Return a number as a plain int, if there is an assignment of that number; nothing else checks it."""
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise InputError(f"assignment must be an id that was handed out, not {number!r}")
        if not 1 <= number <= self.count:
            raise NotFoundError(f"assignment must be an id that was handed out, not {int(number)}")
        return int(number)

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

    def mark(self, number: int, status: int) -> None:
        """Change how an assignment stands."""
        before = self._status[number - 1]
        self.pending += int(status == PENDING) - int(before == PENDING)
        self._lost += int(status in _GONE) - int(before in _GONE)
        self._status[number - 1] = status

    def answer(self, number: int, rewards: list[float]) -> None:
        """Add rewards that were not there before."""
        self.mark(number, ANSWERED)
        for place, reward in enumerate(rewards, (number - 1) * self._objectives):
            if not math.isnan(reward):
                self._told[place] = reward

    def overdue(self, before: float) -> list[int]:
        """Return the pending assignments that were handed out before a time: they are looked for in that order."""
        while self._oldest <= self.count and self._status[self._oldest - 1] != PENDING:
            self._oldest += 1
        late = []
        for number in range(self._oldest, self.count + 1):
            if self._status[number - 1] == PENDING:
                if self._due[number - 1] >= before:
                    break
                late.append(number)
        return late

    def arrays(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        """Return everything as arrays."""
        return {
            "arms": np.array(self._arms),
            "status": np.array(self._status),
            "since": np.array(self._since),
            "told": np.array(self._told).reshape(-1, self._objectives),
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
        self._due = array("d", np.minimum.accumulate(arrays["since"][::-1])[::-1].tobytes())
        self.pending = self._status.count(PENDING)
        self._lost = sum(self._status.count(status) for status in _GONE)
