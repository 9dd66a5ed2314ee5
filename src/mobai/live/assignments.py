"""All assignments of an experiment, in arrays: which arm, since when, how they stand, and what was told."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.errors import InputError
from mobai.problem import FloatArray

PENDING, ANSWERED, DROPPED, EXPIRED = 0, 1, 2, 3
STATUS_NAMES = ("pending", "answered", "dropped", "expired")


class Assignment(NamedTuple):
    """One pull to make: its number, and the arm."""

    id: int
    arm: str


class Assignments:
    """Numbered from 1 in the order in which they were handed out."""

    def __init__(self, objectives: int) -> None:
        self.count = 0
        self._arms = np.zeros(64, np.int32)
        self._status = np.zeros(64, np.int8)
        self._since = np.zeros(64)
        self._rewards: FloatArray = np.full((64, objectives), np.nan)
        self._oldest = 1
        self.pending = 0

    def add(self, arm: int, at: float) -> None:
        """Hand one out."""
        if self.count == len(self._arms):
            self._grow(2 * self.count)
        self._arms[self.count], self._status[self.count], self._since[self.count] = arm, PENDING, at
        self.count += 1
        self.pending += 1

    def arm(self, number: int) -> int:
        """Give the arm of an assignment."""
        return int(self._arms[self._place(number)])

    def status(self, number: int) -> int:
        """Give how an assignment stands."""
        return int(self._status[self._place(number)])

    def since(self, number: int) -> float:
        """Give when it was handed out."""
        return float(self._since[self._place(number)])

    def rewards(self, number: int) -> FloatArray:
        """Give what was told so far, NaN for what was not."""
        found: FloatArray = self._rewards[self._place(number)]
        return found

    def mark(self, number: int, status: int) -> None:
        """Change how an assignment stands."""
        place = self._place(number)
        self.pending += int(status == PENDING) - int(self._status[place] == PENDING)
        self._status[place] = status

    def answer(self, number: int, rewards: FloatArray) -> None:
        """Add rewards that were not there before."""
        self.mark(number, ANSWERED)
        place = self._place(number)
        self._rewards[place] = np.where(np.isnan(rewards), self._rewards[place], rewards)

    def overdue(self, before: float) -> list[int]:
        """Give the pending assignments that were handed out before a time."""
        while self._oldest <= self.count and self._status[self._oldest - 1] != PENDING:
            self._oldest += 1
        start = self._oldest - 1
        late = (self._status[start : self.count] == PENDING) & (self._since[start : self.count] < before)
        return (np.flatnonzero(late) + self._oldest).tolist()

    def arrays(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        """Give everything as arrays."""
        n = self.count
        return {"arms": self._arms[:n], "status": self._status[:n], "since": self._since[:n], "told": self._rewards[:n]}

    def restore(self, arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> None:
        """Take over what :meth:`arrays` gave."""
        count = len(arrays["arms"])
        self._grow(max(64, 2 * count))
        self._arms[:count], self._status[:count] = arrays["arms"], arrays["status"]
        self._since[:count], self._rewards[:count] = arrays["since"], arrays["told"]
        self.count, self.pending = count, int((self._status[:count] == PENDING).sum())

    def _place(self, number: int) -> int:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 1 <= number <= self.count:
            raise InputError(f"assignment: there is none with the id {number!r}")
        return int(number) - 1

    def _grow(self, size: int) -> None:
        rewards = np.full((size, self._rewards.shape[1]), np.nan)
        rewards[: self.count] = self._rewards[: self.count]
        self._rewards = rewards
        self._arms, self._status = np.resize(self._arms, size), np.resize(self._status, size)
        self._since = np.resize(self._since, size)
