"""Seeds from named axes: the same names give the same random numbers, whatever else runs beside them."""

from __future__ import annotations

import hashlib

import numpy as np


def digest(*axes: str | int) -> int:
    """Give a number below 2^128 for a list of names."""
    name = "\x1f".join(str(axis) for axis in axes)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")


def stream(seed: int, *axes: str | int) -> np.random.Generator:
    """Give the random generator of a place in an experiment, such as ``stream(1, "noise", "trial", 7)``.

    Examples
    --------
    >>> stream(1, "noise").random() == stream(1, "noise").random()
    True
    >>> stream(1, "noise").random() == stream(1, "rule").random()
    False
    """
    return np.random.default_rng([seed, digest(*axes)])
