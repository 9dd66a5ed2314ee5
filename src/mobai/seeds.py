"""Seeds from named axes: the same names give the same random numbers, whatever else runs beside them."""

from __future__ import annotations

import hashlib

import numpy as np


def digest(*axes: str | int) -> int:
    """Return a number below 2^128 for a list of names."""
    name = "\x1f".join(str(axis) for axis in axes)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")


def stream(seed: int, *axes: str | int) -> np.random.Generator:
    """Return the random generator of a place in an experiment, such as ``stream(1, "noise", "trial", 7)``.

    Examples
    --------
    >>> stream(1, "noise").random() == stream(1, "noise").random()
    True
    >>> stream(1, "noise").random() == stream(1, "rule").random()
    False
    """
    return np.random.default_rng([seed, digest(*axes)])


class NumberedStreams:
    """Streams known by a number, each as good as one made by :func:`stream` at a twentieth of the price.

    They share one counter-based generator, which is set to a stream's beginning: the one returned before is then no
    longer valid.

    Examples
    --------
    >>> streams = NumberedStreams(1, "ask")
    >>> streams.at(7).random() == NumberedStreams(1, "ask").at(7).random()
    True
    >>> streams.at(7).random() == streams.at(8).random()
    False
    """

    def __init__(self, seed: int, *axes: str | int) -> None:
        self._bits = np.random.Philox(key=digest(seed, *axes))
        self._generator = np.random.Generator(self._bits)
        self._start = self._bits.state

    def at(self, number: int) -> np.random.Generator:
        """Return the generator, set to the beginning of a stream."""
        # The first word of the counter counts the numbers drawn from a stream.
        self._start["state"]["counter"][1] = number
        self._bits.state = self._start
        return self._generator
