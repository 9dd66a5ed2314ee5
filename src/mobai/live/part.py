"""Of an experiment in segments: which segment one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mobai.errors import InputError


@dataclass(frozen=True)
class Part:
    """Which segment of an experiment this is: of which one, beside which others, and what delta all of them have.

    Parameters
    ----------
    of, segment
        What the experiment and the segment are called.
    segments, shares
        All segments, and which part of all visitors each is; None where nobody said.
    delta
        The error probability of all segments together.
    """

    of: str
    segment: str
    segments: tuple[str, ...]
    shares: tuple[float, ...] | None
    delta: float

    @property
    def name(self) -> str:
        """What the segment's own experiment is called."""
        return f"{self.of}@{self.segment}"

    def facts(self) -> dict[str, Any]:
        """Return it as plain data."""
        shares = {} if self.shares is None else {"shares": list(self.shares)}
        return {
            "of": self.of,
            "segment": self.segment,
            "segments": list(self.segments),
            "delta": self.delta,
            **shares,
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Part:
        """Read back what :meth:`facts` returned."""
        try:
            segments, shares = tuple(map(str, facts["segments"])), facts.get("shares")
            weights = None if shares is None else tuple(map(float, shares))
            found = cls(str(facts["of"]), str(facts["segment"]), segments, weights, float(facts["delta"]))
        except (LookupError, TypeError, ValueError):
            raise InputError("part", "must say of, segment, segments and delta") from None
        if found.segment not in segments or (weights is not None and len(weights) != len(segments)):
            raise InputError("part", "must be one of its segments")
        return found
