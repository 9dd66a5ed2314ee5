"""Where the numbers of a pair come from: samples of each arm, or measurements of all arms on the same things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem.guardrail import Guardrail
from mobai.problem.objective import Objective, is_name
from mobai.seeds import stream

MOST_ITEMS, MOST_NAMES = 10_000_000, 100_000
_KINDS = {"items": "a finite benchmark", "stream": "a stream of items", "rounds": "rounds"}


@dataclass(frozen=True)
class Design:
    """Arms are measured on the same things, one index after the other, and compared by their differences.

    Parameters
    ----------
    kind
        What an index is: one of so many ``items``, which are all there are; an item of a ``stream`` that is drawn from
        one population; or one of ``rounds``, a block of visitors or repetitions, one for each arm.
    size
        How many items there are; None where there is no end.
    names
        What they are called, in the order in which they were stated; None where they are numbered.
    """

    kind: Literal["items", "stream", "rounds"]
    size: int | None = None
    names: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no design."""
        if self.kind not in _KINDS:
            raise InputError("design", f"must be one of {', '.join(_KINDS)}, not {self.kind!r}")
        if (self.kind == "items") != (self.size is not None):
            raise InputError("items", "a finite benchmark has a number of items, and nothing else has")
        if self.size is not None and (
            isinstance(self.size, bool) or not isinstance(self.size, int) or not 1 <= self.size <= MOST_ITEMS
        ):
            raise InputError("items", f"must be 1 to {MOST_ITEMS:,} items, not {self.size!r}")

    @property
    def words(self) -> str:
        """What it is called."""
        return f"{self.size:,} items" if self.size is not None else _KINDS[self.kind]

    def order(self, seed: int) -> npt.NDArray[np.int64]:
        """Return the items of a finite benchmark in the order in which an experiment of this seed measures them."""
        return stream(seed, "items").permutation(self.size or 0)

    def check(self, metric: Objective, limits: Sequence[Guardrail]) -> None:
        """Refuse a metric whose differences cannot be weighed in this design, and limits of it that cannot be told."""
        self._check_limits(metric, limits)
        family = metric.family
        if metric.window is not None:
            raise InputError("window", "is not for items and rounds: report what there is, or null", metric=metric.name)
        if family.functional:
            what = "quantiles" if family.model == "quantile" else "ratios"
            raise InputError(
                f"differences of {what} are not {what} of differences: compare means on items, or {what} of samples of "
                "each arm",
                metric=metric.name,
            )
        if family.shares_noise:
            raise InputError(
                "is for samples of each arm; on the same things differences count: use unknown-variance, or a range",
                metric=metric.name,
            )
        if self.kind == "items" and not metric.has_worst:
            raise InputError(
                "differences are weighed by their range; state bernoulli, bounded=LOW..HIGH, or wins",
                metric=metric.name,
            )
        if self.kind == "rounds" and family.model == "student" and not family.counts_wins:
            raise InputError(
                "rounds may drift, and differences that drift have no variance that could be estimated; state "
                "bounded=LOW..HIGH, or wins",
                metric=metric.name,
            )

    def _check_limits(self, metric: Objective, limits: Sequence[Guardrail]) -> None:
        if limits and metric.family.counts_wins:
            raise InputError("wins have no mean that could be limited; limit another metric", metric=metric.name)
        if self.kind == "rounds" and any(one.limit is not None for one in limits):
            raise InputError(
                "in rounds the level may drift, so that no mean keeps a limit; state within=NUMBER:of=ARM",
                metric=metric.name,
            )


def design_of(items: Any = None, rounds: bool = False) -> Design | None:
    """Return the design that is stated; None for samples of each arm alone.

    ``items`` is how many there are, their names, or ``"stream"``.

    Examples
    --------
    >>> design_of(500), design_of(["first", "second"]), design_of("stream"), design_of(rounds=True)
    (Design(kind='items', size=500), Design(kind='items', size=2), Design(kind='stream', size=None),
    Design(kind='rounds', size=None))
    """
    if not isinstance(rounds, bool):
        raise InputError("rounds", f"must be True or False, not {rounds!r}")
    if rounds and items is not None:
        raise InputError("rounds", "must not be given with items: one of the two")
    if rounds or items is None:
        return Design("rounds") if rounds else None
    if isinstance(items, str):
        if items != "stream":
            raise InputError("items", f'must be how many there are, their names, or "stream", not {items!r}')
        return Design("stream")
    if isinstance(items, int | np.integer):
        return Design("items", int(items) if not isinstance(items, bool) else items)
    names = _names_of(items)
    return Design("items", len(names), names)


def _names_of(items: Any) -> tuple[str, ...]:
    """Return the names of items, each another one."""
    if not isinstance(items, Sequence):
        raise InputError("items", f'must be how many there are, their names, or "stream", not {items!r}')
    names = tuple(items)
    if len(names) > MOST_NAMES:
        raise InputError("items", f"at most {MOST_NAMES:,} can have names, not {len(names):,}; say how many there are")
    if not names:
        raise InputError("items", "must be one item at least")
    if not all(is_name(name) for name in names):
        wrong = next(name for name in names if not is_name(name))
        raise InputError("items", f"must be names: texts that are not empty, not {str(wrong)[:80]!r}")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError("items", f"{twice!r} is there twice")
    return names
