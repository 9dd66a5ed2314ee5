"""What was asked for, in its order, and what has come of it: the order in which rewards become evidence.

Rewards come when they are ready, and slow ones are often not like the others. So evidence does not read them as they
come: of each metric it reads the asks one after the other, and waits for the next one that is not *resolved*, told or
known not to come (docs/guarantee.md). Observations that were recorded together are read together: in which order they
are given may depend on their values.

With ``order="told"`` a pull is read once nothing of it is waited for, whatever was asked before it: for those who know
that delays have nothing to do with values. Experiments of earlier versions are read ``at-once``, every reward when it
was told.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.programs.dense import Integers
from mobai.problem import FloatArray, IntArray

# Those that can be chosen; and that of experiments of earlier versions.
ORDERS = ("asked", "told")
AT_ONCE = "at-once"
# What may stand for a reward: it may still come; it never will; it never will, and counts as the worst there could be.
UNRESOLVED, LEFT_OUT, WORST = math.nan, math.inf, -math.inf
_TOLD, _READ = 1, 2
_LEAST_FORGOTTEN = 4096


class Resolution(NamedTuple):
    """What an ask brings, as far as it is resolved: per metric a value in its own unit, or what stands for one."""

    number: int
    values: Sequence[float]


class Rows(NamedTuple):
    """Arms, values, and which are the first of their ask; and the number of rows up to the end of each moment."""

    arms: Integers
    values: FloatArray
    first: npt.NDArray[np.bool_]
    ends: Integers


class Look(NamedTuple):
    """A time at which evidence is looked at: when it was, and how many rows and moments are in it by then.

    ``worst`` has the metrics and arms of rewards that count as the worst there could be. Asks that were made ``apart``
    each end a moment.
    """

    at: float | None
    rows: int
    moments: int
    apart: bool
    worst: tuple[tuple[int, int], ...] = ()


class Waiting(NamedTuple):
    """What holds a metric up: how many of its values wait to be read, for which ask of which arm."""

    metric: int
    values: int
    number: int
    arm: int


class Asks:
    """Every ask that evidence has not gone past, numbered from 1 in the order of asking.

    Attributes
    ----------
    count, answered
        How many asks there have been, and of how many something was told.
    """

    def __init__(self, metrics: int, order: str = "asked") -> None:
        self.count = 0
        self.answered = 0
        self._metrics, self._order = metrics, order
        self._nothing = (UNRESOLVED,) * metrics
        self._forgotten = 0  # asks that everything has gone past, and that are kept no more
        self._arms, self._starts = array("i"), array("q")  # of each ask: its arm, and the first ask of its group
        self._values, self._seen = array("d"), bytearray()
        self._resolved = [0] * metrics  # up to which ask everything is resolved
        self._read = [0] * metrics  # up to which ask it has been read
        self._passed: set[int] = set()  # arms that nobody waits for
        self._holed: dict[tuple[int, int], int] = {}  # of metrics and arms: the first ask that was passed over
        # What was told, what evidence can go on with and when it is to be looked at, until it is taken.
        self._told, self._rows = _Rows(), _Rows()
        self._looks: list[Look] = []

    def add(self, arm: int, *, more: bool = False) -> int:
        """Take down an ask, with ``more`` one that is read together with the one before; return its number."""
        self.count += 1
        self._arms.append(arm)
        self._starts.append(self._starts[-1] if more else self.count)
        self._values.extend(self._nothing)
        self._seen.append(0)
        return self.count

    def arm(self, number: int) -> int:
        """Return the arm of an ask that is not forgotten."""
        return self._arms[number - self._forgotten - 1]

    def hear(self, outcomes: Iterable[Resolution], at: float | None = None) -> None:
        """Take down what has come at one time, and what evidence can go on with; values come once."""
        size, complete = self._metrics, []
        for number, values in outcomes:
            place = number - self._forgotten - 1
            if self._order != AT_ONCE and number <= min(self._read):  # it was passed over
                continue
            for n, value in enumerate(values, place * size):
                if value == value:  # not NaN; this is the innermost line of reading a journal
                    self._values[n] = value
            fresh = not self._seen[place] & _TOLD and any(map(math.isfinite, values))
            self._seen[place] |= _TOLD * fresh
            self.answered += fresh
            if self._order == "told":
                values = self._values[place * size : (place + 1) * size]
                if any(map(math.isnan, values)):
                    continue
                complete.append(place)
                fresh = any(map(math.isfinite, values))
            self._told.add(self._arms[place], values, fresh)
            if self._order == AT_ONCE and any(map(math.isfinite, values)):
                self._rows.add(self._arms[place], _finite(values), fresh)
        self._told.end()
        if self._order == "asked":
            self.go_on(at)
        else:
            self._read_as_told(complete, at)

    def add_resolved(self, arms: IntArray, values: FloatArray, together: npt.NDArray[np.bool_]) -> None:
        """Take down asks with all that comes of them; those ``together`` with the one before are read with it.

        What :meth:`add` and :meth:`hear` would do, one group after the other, of any number of them at once. Nothing
        that was asked for before may be waited for.
        """
        assert self._order == "asked"
        assert set(self._read) == {self.count}
        told = np.asarray(np.isfinite(values).any(axis=1))
        ends = np.flatnonzero(np.append(~together[1:], True)) + 1
        self.count += len(arms)
        self.answered += int(told.sum())
        self._resolved, self._read = ([self.count] * self._metrics for _ in range(2))
        self._forgotten, self._arms, self._starts = self.count, array("i"), array("q")
        self._values, self._seen = array("d"), bytearray()
        self._told.extend(arms, np.where(np.isfinite(values), values, LEFT_OUT), told, ends)
        rows = np.append(0, told.cumsum())[ends] + len(self._rows)
        apart, before, moments = np.diff(ends, prepend=0) == 1, len(self._rows), len(self._rows.ends)
        self._rows.extend(arms[told], values[told], np.ones(int(told.sum()), np.bool_), rows)
        for last, alone in zip(rows.tolist(), apart.tolist(), strict=True):
            if last > before:
                moments, before = moments + 1, last
                self._looks.append(Look(None, last, moments, alone))

    def pass_over(self, arms: Iterable[int]) -> None:
        """Wait no longer for what was asked of these arms."""
        self._passed.update(arms)

    def go_on(self, at: float | None = None) -> None:
        """Take down what evidence can go on with now, as one look."""
        if self._order == "asked":
            until = [self._readable(m) for m in range(self._metrics)]
            if until != self._read:
                self._read_on(until, at)
                self._read = until
                self._forget()

    @property
    def is_taken(self) -> bool:
        """Whether there is nothing to be taken."""
        return not (len(self._told) or self._looks)

    @property
    def behind(self) -> int:
        """How many pulls are still to be taken."""
        return self._rows.pulls

    def take(self) -> tuple[Rows | None, Rows | None, list[Look]]:
        """Return what was told since, the rows that evidence can go on with, and when to look at it."""
        told, rows, looks = self._told.take(self._metrics), self._rows.take(self._metrics), self._looks
        self._told, self._rows, self._looks = _Rows(), _Rows(), []
        return told, rows, looks

    def waiting(self) -> list[Waiting]:
        """Return what holds metrics up of which something waits behind it."""
        found = []
        for m in range(self._metrics if self._order == "asked" else 0):
            number = self._resolved[m] + 1
            if number <= self.count:
                begin, end = self._read[m] - self._forgotten, self.count - self._forgotten
                column = np.frombuffer(self._values, np.float64)[begin * self._metrics + m : end * self._metrics]
                behind = int(np.isfinite(column[:: self._metrics]).sum())
                if behind:
                    found.append(Waiting(m, behind, number, self.arm(number)))
        return found

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything, in arrays."""
        begin = min(self._read) - self._forgotten
        return {
            "counts": np.array([self.count, self.answered, self._forgotten + begin]),
            "arms": np.array(self._arms[begin:]),
            "starts": np.array(self._starts[begin:]),
            "values": np.array(self._values[begin * self._metrics :]),
            "seen": np.frombuffer(bytes(self._seen[begin:]), np.uint8),
            "resolved": np.array(self._resolved),
            "read": np.array(self._read),
            "passed": np.array(sorted(self._passed), np.int64),
            "holed": np.array(sorted((*key, n) for key, n in self._holed.items()), np.int64).reshape(-1, 3),
        }

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`state` returned; ValueError or KeyError if it cannot have."""
        self.count, self.answered, self._forgotten = state["counts"].tolist()
        kept = self.count - self._forgotten
        sizes = {"arms": kept, "starts": kept, "values": kept * self._metrics, "seen": kept}
        if any(state[name].shape != (size,) for name, size in sizes.items()):
            raise ValueError("asks: not arrays of the same length")
        self._arms, self._starts = array("i", state["arms"].tobytes()), array("q", state["starts"].tobytes())
        self._values, self._seen = array("d", state["values"].tobytes()), bytearray(state["seen"].tobytes())
        self._resolved, self._read = state["resolved"].tolist(), state["read"].tolist()
        if len(self._resolved) != self._metrics or len(self._read) != self._metrics:
            raise ValueError("asks: not of these metrics")
        self._passed = set(state["passed"].tolist())
        self._holed = {(m, arm): n for m, arm, n in state["holed"].tolist()}

    def _readable(self, m: int) -> int:
        """Return up to which ask a metric can be read: all of a group, or none of it."""
        n, values, skip = self._resolved[m], self._values, self._forgotten
        while n < self.count:
            if math.isnan(values[(n - skip) * self._metrics + m]):
                if self._arms[n - skip] not in self._passed:
                    break
                self._holed.setdefault((m, self._arms[n - skip]), n)
            n += 1
        self._resolved[m] = n
        return n if n == self.count else self._starts[n - skip] - 1

    def _read_on(self, until: Sequence[int], at: float | None) -> None:
        """Take down the asks up to these, each with the metrics that have not been read."""
        size, skip, before = self._metrics, self._forgotten, self._read
        alike = len(set(until)) == len(set(before)) == 1 and not self._holed
        asks = _union([range(one, other) for one, other in zip(before, until, strict=True)])
        worst: list[tuple[int, int]] = []
        groups, rows, last = 0, self._rows, 0
        for n in asks:
            place = n - skip
            arm, values = self._arms[place], self._values[place * size : (place + 1) * size]
            if self._starts[place] != last:
                rows.end()
                last, groups = self._starts[place], groups + 1
            if not alike:
                for m in range(size):
                    if not before[m] <= n < until[m] or self._holed.get((m, arm), n + 1) <= n:
                        values[m] = UNRESOLVED
            if math.inf in values or WORST in values:
                worst += [(m, arm) for m in range(size) if values[m] == WORST]
                values = _finite(values)
            if any(map(math.isfinite, values)):
                rows.add(arm, values, not self._seen[place] & _READ)
                self._seen[place] |= _READ
        rows.end()
        self._look(at, groups == len(asks), worst)

    def _read_as_told(self, places: Sequence[int], at: float | None) -> None:
        """Take down complete pulls as one moment, with what was taken down before in it."""
        worst: list[tuple[int, int]] = []
        for place in places:
            values = self._values[place * self._metrics : (place + 1) * self._metrics]
            worst += [(m, self._arms[place]) for m in range(self._metrics) if values[m] == WORST]
            if any(map(math.isfinite, values)):
                self._rows.add(self._arms[place], _finite(values), True)
        before = self._looks[-1].rows if self._looks else 0
        self._rows.end()
        self._look(at, len(self._rows) - before == 1, worst)
        self._go_past_resolved()

    def _look(self, at: float | None, apart: bool, worst: Sequence[tuple[int, int]]) -> None:
        rows, moments = len(self._rows), len(self._rows.ends)
        before = self._looks[-1] if self._looks else Look(None, 0, 0, True)
        if worst or rows > before.rows:
            self._looks.append(Look(at, rows, moments, apart and not worst, tuple(worst)))

    def _go_past_resolved(self) -> None:
        """Note up to which ask everything was told, whatever was told of later ones."""
        if self._order == AT_ONCE:  # what was given up may be told after all
            return
        n = self._read[0]
        while n < self.count and not any(math.isnan(self._value(n + 1, m)) for m in range(self._metrics)):
            n += 1
        self._read = [n] * self._metrics
        self._forget()

    def _value(self, number: int, m: int) -> float:
        return self._values[(number - self._forgotten - 1) * self._metrics + m]

    def _forget(self) -> None:
        """Let go of asks that every metric has gone past, once there are many."""
        gone = min(self._read) - self._forgotten
        if gone >= _LEAST_FORGOTTEN and gone >= len(self._arms) // 2:
            del self._arms[:gone], self._starts[:gone], self._seen[:gone]
            del self._values[: gone * self._metrics]
            self._forgotten += gone


def left_out(rewards: Iterable[float]) -> list[float]:
    """Return rewards of which those that are missing, NaN, will not come."""
    return [LEFT_OUT if math.isnan(reward) else reward for reward in rewards]


def _union(parts: Sequence[range]) -> list[int]:
    """Return the numbers in some of these ranges, in order."""
    if all(part == parts[0] for part in parts):
        return list(parts[0])
    return sorted(set().union(*parts))


def _finite(values: Iterable[float]) -> array[float]:
    """Return values without those that will not come."""
    return array("d", [value if math.isfinite(value) else UNRESOLVED for value in values])


class _Rows:
    """Rows that are put together one by one."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.pulls = 0
        self._arms: list[int] = []
        self._first: list[bool] = []
        self._values = array("d")

    def __len__(self) -> int:
        return len(self._arms)

    def add(self, arm: int, values: Sequence[float], first: bool) -> None:
        """Add a row to the moment."""
        self._arms.append(arm)
        self._first.append(first)
        self._values.extend(values)
        self.pulls += first

    def extend(self, arms: IntArray, values: FloatArray, first: npt.NDArray[np.bool_], ends: Integers) -> None:
        """Add many rows; ``ends`` has the number of rows up to the end of each moment."""
        begin = self.ends[-1] if self.ends else 0
        self._arms += arms.tolist()
        self._first += first.tolist()
        self._values.frombytes(np.ascontiguousarray(values, np.float64).tobytes())
        self.pulls += int(first.sum())
        self.ends += [end for end in np.unique(ends).tolist() if end > begin]

    def end(self) -> None:
        """End the moment, if there is anything in it."""
        if len(self._arms) > (self.ends[-1] if self.ends else 0):
            self.ends.append(len(self._arms))

    def take(self, metrics: int) -> Rows | None:
        """Return all rows in arrays, None if there is none."""
        if not self._arms:
            return None
        values = np.array(self._values).reshape(-1, metrics)
        return Rows(np.array(self._arms), values, np.array(self._first), np.array(self.ends))
