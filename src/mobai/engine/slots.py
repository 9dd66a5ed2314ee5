"""Which index of the common order every ask is for, and which arm is next."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.problem.design import Design

Truths = npt.NDArray[np.bool_]


class Slots:
    """The places of a race: an arm takes one index after the other, and first of all those that were given back.

    ``ahead`` is how far arms may go beyond the first index at which something is still to come.
    """

    def __init__(self, design: Design, arms: int, ahead: int | None) -> None:
        self._design, self._ahead = design, ahead
        self._next = np.zeros(arms, np.int64)
        self._returned: list[list[int]] = [[] for _ in range(arms)]
        self._arms, self._indices = array("i"), array("q")  # of each ask
        # Of rounds that have begun and are not handed out in full: the arms that are still to take part.
        self._rounds: dict[int, set[int]] = {}

    def __len__(self) -> int:
        """Return how many asks have a place."""
        return len(self._arms)

    def place(self, number: int) -> tuple[int, int]:
        """Return the index and the arm of an ask."""
        return self._indices[number - 1], self._arms[number - 1]

    def take(self, arm: int, open_arms: Truths) -> int:
        """Hand the next index of an arm out; return it."""
        if self._returned[arm]:
            index = heappop(self._returned[arm])
        else:
            index = int(self._next[arm])
            self._next[arm] += 1
        self._arms.append(arm)
        self._indices.append(index)
        if self._design.kind == "rounds":
            self._enter_round(index, arm, open_arms)
        return index

    def _enter_round(self, index: int, arm: int, open_arms: Truths) -> None:
        """Note who takes part in a round: all who are open when it begins."""
        rest = self._rounds.setdefault(index, set(np.flatnonzero(open_arms).tolist()))
        rest.discard(arm)
        if not rest:
            del self._rounds[index]

    def give_back(self, number: int) -> bool:
        """Let the index of an ask be handed out again; return whether it will be. In rounds nobody can stand in."""
        if self._design.kind == "rounds":
            return False
        index, arm = self.place(number)
        heappush(self._returned[arm], index)
        return True

    def begin_of(self, arm: int) -> int:
        """Return the index that an arm would take next."""
        return self._returned[arm][0] if self._returned[arm] else int(self._next[arm])

    def candidates(self, open_arms: Truths, until: npt.NDArray[np.int64]) -> list[int]:
        """Return the arms that may be next, any of them as likely as the others; none if all have to wait.

        ``until`` says up to which index everything has come of each arm.
        """
        if self._rounds:
            return sorted(self._rounds[min(self._rounds)])
        arms = np.flatnonzero(open_arms).tolist()
        if not arms:
            return []
        begins = {arm: self.begin_of(arm) for arm in arms}
        first = min(begins.values())
        return [arm for arm in arms if begins[arm] == first] if first < self._end(arms, until) else []

    def room(self, open_arms: Truths, until: npt.NDArray[np.int64]) -> int | None:
        """Return how many asks there is a place for now, None for any number."""
        arms = np.flatnonzero(open_arms).tolist()
        begun = sum(map(len, self._rounds.values()))
        if not arms:
            return begun
        end = self._end(arms, until)
        if end == math.inf:
            return None
        free = sum(len(self._returned[arm]) + max(int(end) - int(self._next[arm]), 0) for arm in arms)
        waiting = sum(len(rest.intersection(arms)) for rest in self._rounds.values())
        return begun - waiting + free if self._rounds else free

    def _end(self, arms: Sequence[int], until: npt.NDArray[np.int64]) -> float:
        """Return the index that these arms cannot take now."""
        size = math.inf if self._design.size is None else self._design.size
        return size if self._ahead is None else min(size, int(until[arms].min()) + self._ahead)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything, in arrays."""
        returned = [(arm, index) for arm, found in enumerate(self._returned) for index in sorted(found)]
        rounds = [(index, arm) for index, rest in sorted(self._rounds.items()) for arm in sorted(rest)]
        return {
            "next": self._next.copy(),
            "arms": np.array(self._arms, np.int64),
            "indices": np.array(self._indices, np.int64),
            "returned": np.array(returned, np.int64).reshape(-1, 2),
            "rounds": np.array(rounds, np.int64).reshape(-1, 2),
        }

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`state` returned; ValueError or KeyError if it cannot have."""
        if state["next"].shape != self._next.shape or len(state["arms"]) != len(state["indices"]):
            raise ValueError("slots: not of these arms")
        self._next = state["next"].copy()
        self._arms, self._indices = array("i", state["arms"].tolist()), array("q", state["indices"].tolist())
        for arm, index in state["returned"].tolist():
            heappush(self._returned[arm], index)
        for index, arm in state["rounds"].tolist():
            self._rounds.setdefault(index, set()).add(arm)
