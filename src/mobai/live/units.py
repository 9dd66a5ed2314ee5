"""Which assignment a unit (a visitor, a patient, a job) has: one for ever.

A unit is known by 16 bytes of the hash of its name, and its assignment by a number: a million of them take 24 MB. Those
that came last are in a dictionary; once they are many, they are merged into the sorted arrays of the others.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_LEAST_MERGED = 4096
_SHARE_MERGED = 1 / 16
Words = npt.NDArray[np.uint64]


class Unit(str):
    """The name of a unit, in place of an assignment in a list of reports.

    Examples
    --------
    >>> Unit("visitor 42")
    Unit('visitor 42')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Say what it is."""
        return f"Unit({str(self)!r})"


class UnitOfArm(NamedTuple):
    """The name of a unit and the arm it was shown, in place of an assignment: refused if it has another one."""

    unit: str
    arm: str


# What a key was used for.
ASKED, TOLD, RECORDED = 0, 1, 2


class Asked(NamedTuple):
    """What was handed out at once: the first assignment, how many there are and were asked for, and by what call."""

    first: int
    came: int
    wanted: int
    by: int = ASKED

    @property
    def packed(self) -> int:
        """All of it in one number."""
        return (self.first << 30) | (self.by << 28) | (self.came << 14) | self.wanted

    @classmethod
    def unpack(cls, number: int) -> Asked:
        """Return what :attr:`packed` was made of.

        Examples
        --------
        >>> Asked.unpack(Asked(7, 2, 3).packed)
        Asked(first=7, came=2, wanted=3, by=0)
        """
        return cls(number >> 30, (number >> 14) & 0x3FFF, number & 0x3FFF, (number >> 28) & 0x3)


def digest(name: str) -> bytes:
    """Return what a name is known by."""
    return hashlib.blake2b(name.encode(), digest_size=16).digest()


class NumberTable:
    """Numbers by name. Names are never given back: only their hashes are kept."""

    def __init__(self) -> None:
        self._first, self._second = np.zeros((2, 0), np.uint64)
        self._numbers = np.zeros(0, np.int64)
        self._recent: dict[bytes, int] = {}

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._numbers) + len(self._recent)

    def get(self, name: str) -> int | None:
        """Return the number of a name, None if there is none."""
        key = digest(name)
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        first, second = (np.uint64(word) for word in np.frombuffer(key, ">u8"))
        place = int(self._first.searchsorted(first))
        while place < len(self._first) and self._first[place] == first:
            if self._second[place] == second:
                return int(self._numbers[place])
            place += 1
        return None

    def add(self, name: str, number: int) -> None:
        """Enter a name that is not there."""
        self._recent[digest(name)] = number
        if len(self._recent) > max(_LEAST_MERGED, _SHARE_MERGED * len(self._numbers)):
            self._merge()

    def _merge(self) -> None:
        words = np.frombuffer(b"".join(self._recent), ">u8").reshape(-1, 2).astype(np.uint64)
        first, second = np.append(self._first, words[:, 0]), np.append(self._second, words[:, 1])
        numbers = np.append(self._numbers, np.fromiter(self._recent.values(), np.int64))
        order = np.lexsort((second, first))
        self._first, self._second, self._numbers = first[order], second[order], numbers[order]
        self._recent.clear()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as arrays, sorted."""
        self._merge()
        return {"first": self._first, "second": self._second, "numbers": self._numbers}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` returned; ValueError if it cannot have."""
        first, second, numbers = arrays["first"], arrays["second"], arrays["numbers"]
        kinds = [array.dtype.name for array in (first, second, numbers)]
        if kinds != ["uint64", "uint64", "int64"] or not first.shape == second.shape == numbers.shape:
            raise ValueError("units: not arrays of hashes and numbers")
        self._first, self._second, self._numbers = first, second, numbers
        self._recent.clear()
