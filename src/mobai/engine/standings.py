"""How every arm stands to the one that leads an objective, where all are measured on the same things, and where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Standing(NamedTuple):
    """An arm of an objective, beside the one that leads it or was decided on.

    ``measured`` is up to which index it was read, ``out_at`` after which index it was ruled out, and ``out_by`` which
    arm: None for those that are left, and where a limit is broken. Its ``difference`` to the leader, in the objective's
    own unit, lies between ``lower`` and ``upper``: all of them together, at all times, within the share of delta that
    the intervals have. With wins a difference is the share of wins less that of losses. None where nothing is known.
    """

    objective: str
    arm: str
    measured: int
    out_at: int | None
    out_by: str | None
    difference: float | None
    lower: float | None
    upper: float | None

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self._asdict()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Standing:
        """Return what :meth:`json` made plain data of."""
        return cls(**row)


class HardItem(NamedTuple):
    """An item on which the leader of an objective loses: by how much, with what, and to what of which other arm."""

    objective: str
    item: str | int
    lost: float
    value: float
    rival: str
    rival_value: float

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self._asdict()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> HardItem:
        """Return what :meth:`json` made plain data of."""
        return cls(**row)
