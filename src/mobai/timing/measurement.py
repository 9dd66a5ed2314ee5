"""What one run took."""

from __future__ import annotations

from typing import NamedTuple


class Measurement(NamedTuple):
    """What one run took: seconds of wall, user and system time, bytes at the most, and how it ended.

    What was not measured is None.
    """

    seconds: float
    user: float | None = None
    system: float | None = None
    memory: int | None = None
    code: int = 0
