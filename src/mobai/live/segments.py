"""Segments: groups of visitors, each with an experiment of its own, all under one delta.

What is best for the young need not be best for the old. A segment is an experiment called ``NAME@SEGMENT``, with its
own pulls, rule, journal and page, and with its part of delta; so everything said of all of them together is wrong with
probability delta at most (docs/guarantee.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mobai import views
from mobai.errors import ConflictError, InputError, NotFoundError, StorageError
from mobai.live.assigning import check_name
from mobai.live.experiment import Experiment
from mobai.live.part import Part
from mobai.live.settings import to_body
from mobai.live.status import Status
from mobai.live.storage import experiment_names
from mobai.problem import Objective
from mobai.problem.families import is_number
from mobai.problem.objective import is_name
from mobai.store.journal import Journal
from mobai.theory.confidence import check_small

SEPARATOR = "@"
# The segment of visitors who are in none of the others, if it is declared.
OTHER = "other"


class Overall(NamedTuple):
    """The arm that looks best in one objective over all segments, by their stated shares.

    ``lower`` and ``upper`` bound its mean over all; ``decided`` says whether it is within eps of the best one.
    """

    objective: str
    arm: str
    mean: float
    lower: float
    upper: float
    decided: bool


@dataclass(frozen=True)
class SegmentedStatus:
    """Where the segments of an experiment stand.

    Attributes
    ----------
    name
        What it is called.
    delta
        The error probability of everything that is decided, in all segments.
    by_segment
        The status of every segment.
    overall
        Per objective, who is best over all, where shares are stated and nothing stands against it.
    """

    name: str
    delta: float
    by_segment: Mapping[str, Status]
    overall: tuple[Overall, ...] = ()

    @property
    def stopped(self) -> bool:
        """Whether every objective is decided in every segment."""
        return all(status.verdict.stopped for status in self.by_segment.values())

    @property
    def answers(self) -> tuple[str | None, ...]:
        """The answers, segment by segment, each in the order of the objectives."""
        return tuple(answer for status in self.by_segment.values() for answer in status.verdict.answers)

    @property
    def pulls(self) -> int:
        """How many pulls were answered, in all segments."""
        return sum(status.pulls for status in self.by_segment.values())

    @property
    def certified(self) -> bool:
        """Whether the guarantee holds in every segment."""
        return all(status.verdict.certified for status in self.by_segment.values())

    def __str__(self) -> str:
        """Say it in a table."""
        return views.segments_text(self)

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return views.segments_json(self)


class Segments(Mapping[str, Experiment]):
    """An experiment in segments: a mapping from their names to the experiment of each.

    Examples
    --------
    >>> import mobai
    >>> shop = mobai.Segments.create("memory:", "shop", ["plain", "bold"], ["signup:bernoulli"], ["young", "old"])
    >>> (assignment,) = shop.of("young").ask()
    >>> shop.of("young").tell(assignment, {"signup": 1})
    >>> shop.status().by_segment["young"].pulls
    1
    >>> for one in shop.values():
    ...     mobai.delete("memory:", one.name)
    """

    def __init__(self, name: str, experiments: Mapping[str, Experiment]) -> None:
        self._experiments = dict(experiments)
        part = next(iter(self._experiments.values())).settings.part
        assert part is not None
        self.name, self.delta, self.shares = name, part.delta, part.shares

    @classmethod
    def create(
        cls,
        storage: str | Path | Journal,
        name: str,
        arms: Sequence[str],
        objectives: Sequence[Objective | str] | Mapping[str, str],
        segments: Sequence[str],
        *,
        shares: Mapping[str, float] | None = None,
        delta: float = 0.05,
        **options: Any,
    ) -> Segments:
        """Begin an experiment in every segment.

        Parameters
        ----------
        storage, name, arms, objectives
            As for :meth:`Experiment.create`.
        segments
            What the groups are called, such as ``["18-24", "25-34", "other"]``. Visitors without a group, or of one
            that is not there, go to ``other`` if it is one of them, and are refused otherwise.
        shares
            Which part of all visitors each segment is, for who is best over all of them. They must be known, not read
            off the visitors of the experiment.
        delta
            The error probability of everything that is decided, in all segments together.
        options
            As for :meth:`Experiment.create`, for each segment; budgets are those of one segment.
        """
        names = _names(name, segments)
        weights = _shares(names, shares)
        if not is_number(delta) or not 0 < delta < 1:
            raise InputError("delta", f"must be a number between 0 and 1, not {delta!r}")
        if not options.get("allow_large_delta", False):
            check_small(delta, "allow_large_delta=True, --allow-large-delta")
        if "part" in options:
            raise InputError("part", "is given by segments")
        parts = [Part(name, segment, names, weights, float(delta)) for segment in names]
        _refuse_others(storage, name, parts)
        found, made = dict[str, Experiment](), 0
        for part in parts:
            segment = part.segment
            given = {**options, "delta": delta / len(names), "part": part}
            try:
                found[segment] = Experiment.create(storage, part.name, arms, objectives, **given)
                made += 1
            except ConflictError:  # left by somebody who was interrupted, if it is the same
                there = Experiment.load(storage, part.name)
                if there.settings.part != part:
                    raise
                found[segment] = there
        if not made:
            raise ConflictError("name", f"there is an experiment {name!r} in these segments already")
        bodies = [{**to_body(one.settings), "part": None} for one in found.values()]
        if any(body != bodies[0] for body in bodies):
            raise ConflictError("name", f"there are segments of {name!r} already, begun with other settings")
        return cls(name, found)

    @classmethod
    def load(cls, storage: str | Path | Journal, name: str) -> Segments:
        """Take the segments of an experiment up again."""
        for one in experiment_names(storage):
            if one.startswith(f"{name}{SEPARATOR}"):
                part = Experiment.load(storage, one).settings.part
                if part is not None and part.of == name:
                    return cls(name, {segment: _of_segment(storage, name, segment) for segment in part.segments})
        raise NotFoundError("name", f"there is no experiment {name!r} in segments")

    def __getitem__(self, segment: str) -> Experiment:
        """Return the experiment of a segment."""
        return self._experiments[segment]

    def __iter__(self) -> Iterator[str]:
        """Return the names of the segments."""
        return iter(self._experiments)

    def __len__(self) -> int:
        """Return how many segments there are."""
        return len(self._experiments)

    def of(self, segment: str | None) -> Experiment:
        """Return the experiment for visitors of a segment, which must be known before they see an arm."""
        if segment in self._experiments:
            return self._experiments[segment]
        if OTHER in self._experiments:
            return self._experiments[OTHER]
        known = ", ".join(self._experiments)
        raise InputError("segment", f"must be one of {known}, not {segment!r}; declare 'other' for everybody else")

    def status(self) -> SegmentedStatus:
        """Return where every segment stands, and who is best over all where shares are stated."""
        found = {segment: experiment.status() for segment, experiment in self._experiments.items()}
        return segmented_status(self.name, self.delta, found, self.shares)

    def __str__(self) -> str:
        """Say where they stand."""
        return str(self.status())


def _of_segment(storage: str | Path | Journal, name: str, segment: str) -> Experiment:
    try:
        return Experiment.load(storage, f"{name}{SEPARATOR}{segment}")
    except NotFoundError:
        said = f"the segment {segment!r} of {name!r} is gone; to create them again with the same settings makes it anew"
        raise NotFoundError("name", said) from None


def _refuse_others(storage: str | Path | Journal, name: str, parts: Sequence[Part]) -> None:
    """Refuse a name that other experiments, or other segments, have."""
    try:
        there = [one for one in experiment_names(storage) if one.startswith(f"{name}{SEPARATOR}")]
    except (InputError, StorageError):  # nothing is there yet
        return
    wanted = {part.name: part for part in parts}
    for one in there:
        part = Experiment.load(storage, one).settings.part
        if one in wanted and part != wanted[one]:
            raise ConflictError("name", f"there is another experiment {one!r}")
        if one not in wanted and part is not None and part.of == name:
            others = ", ".join(part.segments)
            raise ConflictError("name", f"there is an experiment {name!r} in other segments: {others}")


def segmented_status(
    name: str, delta: float, found: Mapping[str, Status], shares: Sequence[float] | None
) -> SegmentedStatus:
    """Return the status of segments, given that of each."""
    return SegmentedStatus(name, delta, found, _overall(list(found.values()), shares) if shares else ())


def _overall(found: Sequence[Status], shares: Sequence[float]) -> tuple[Overall, ...]:
    """Return who is best over all segments, by the intervals and decisions of each, which hold on one event."""
    problem = found[0].verdict.problem
    if problem.guardrails or any(status.verdict.problem.arms != problem.arms for status in found):
        return ()
    answers = []
    for m, objective in enumerate(problem.objectives):
        if objective.family.functional:  # the quantile of all is no average of those of the segments
            continue
        active = [i for i in range(len(problem.arms)) if all(status.active[i] for status in found)]
        means, lows, highs = ([] for _ in range(3))
        for i in active:
            weighed = [(p, float(one.means[i, m]), *_ends(one, i, m)) for p, one in zip(shares, found, strict=True)]
            means.append(sum(p * mean for p, mean, _, _ in weighed))
            lows.append(sum(p * low for p, _, low, _ in weighed))
            highs.append(sum(p * high for p, _, _, high in weighed))
        if not active or not all(math.isfinite(mean) for mean in means):
            continue
        best = max(range(len(active)), key=lambda k: objective.sign * means[k])
        leads = [_lead(found, shares, m, active[best], i) for i in active if i != active[best]]
        decided = bool(leads) and min(leads) >= -objective.eps and all(one.verdict.certified for one in found)
        arm = problem.arms[active[best]]
        answers.append(Overall(objective.name, arm, means[best], lows[best], highs[best], decided))
    return tuple(answers)


def _ends(status: Status, i: int, m: int) -> tuple[float, float]:
    return float(status.intervals.lower[i, m]), float(status.intervals.upper[i, m])


def _lead(found: Sequence[Status], shares: Sequence[float], m: int, best: int, i: int) -> float:
    """Return by how much one arm is better than another at least, over all segments; not above 0 if it is tied."""
    total = 0.0
    for share, status in zip(shares, found, strict=True):
        objective, (low, high), (other_low, other_high) = (
            status.verdict.problem.objectives[m],
            _ends(status, best, m),
            _ends(status, i, m),
        )
        lead = low - other_high if objective.sign > 0 else other_low - high
        decision = status.verdict.decisions[m]
        if decision is not None and decision.arm == best and status.intervals.fitted:
            lead = max(lead, -objective.eps)
        total += share * lead
    return total


def _names(name: str, segments: Sequence[str]) -> tuple[str, ...]:
    if isinstance(segments, str) or not all(is_name(one) and SEPARATOR not in one for one in segments):
        raise InputError("segments", f"must be a list of names without {SEPARATOR!r}, not {segments!r}")
    names = tuple(segments)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError("segments", f"must be two or more, each another one, not {list(names)!r}")
    check_name(name)
    if SEPARATOR in name:
        raise InputError("name", f"must be without {SEPARATOR!r} where there are segments, not {name!r}")
    for one in names:
        check_name(f"{name}{SEPARATOR}{one}")
    return names


def _shares(names: tuple[str, ...], shares: Mapping[str, float] | None) -> tuple[float, ...] | None:
    if shares is None:
        return None
    if not isinstance(shares, Mapping) or set(shares) != set(names):
        raise InputError("shares", f"must have one for each of {', '.join(names)}, not {shares!r}")
    if not all(is_number(one) and one > 0 for one in shares.values()):
        raise InputError("shares", f"must be numbers above 0, not {shares!r}")
    total = math.fsum(shares.values())
    if not math.isclose(total, 1.0, rel_tol=1e-6):
        raise InputError("shares", f"must add up to 1, not to {total:g}")
    return tuple(float(shares[one]) / total for one in names)
