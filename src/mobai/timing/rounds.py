"""Time in rounds, each of which runs everything once in a random order, until it is known who is fastest.

What slows all of a round down, a load that comes and goes, makes nobody look faster. The evidence is that of a race of
which wins count (:mod:`mobai.live.race`): who is faster in more rounds than slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mobai.errors import InputError, did_you_mean
from mobai.live.experiment import Experiment
from mobai.store.journal import MemoryJournal
from mobai.theory.confidence import check_small, resolve_log_inv_delta
from mobai.theory.medians import median_interval
from mobai.timing.commands import CommandFailedError
from mobai.timing.measurement import Measurement

METRICS = ("seconds", "user", "memory")
CommandError = CommandFailedError
_SMALLEST = 1e-9  # what a clock says of something that took no time


@dataclass
class Timing:
    """What was timed, and what that proves.

    Attributes
    ----------
    names
        What was timed.
    metrics
        What was compared: ``seconds``, ``user`` or ``memory``.
    delta
        The error probability of all that is said, but for the intervals, which have their own.
    at_least
        By which share somebody must be faster for it to count.
    runs
        By name, the measurements with the round they were made in.
    ending
        ``decided``, ``max-rounds``, ``interrupted``, or ``running``.
    fastest
        By metric, who is better in more rounds than every other one; None where that is not known.
    baseline, slower_by
        Whom the others are compared with, and by which share they must not be slower.
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    delta: float
    at_least: float = 0.0
    runs: dict[str, list[tuple[int, Measurement]]] = field(default_factory=dict)
    ending: str = "running"
    fastest: dict[str, str | None] = field(default_factory=dict)
    baseline: str | None = None
    slower_by: float = 0.0

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return max((rounds[-1][0] + 1 for rounds in self.runs.values() if rounds), default=0)

    def values(self, name: str, metric: str = "seconds") -> list[float]:
        """Return what was measured of one, in the order of rounds."""
        return [float(getattr(made, metric)) for _, made in self.runs[name]]

    def median(self, name: str, metric: str = "seconds") -> float:
        """Return the median of what was measured, NaN if nothing was."""
        values = self.values(name, metric)
        return float(np.median(values)) if values else math.nan

    def interval(self, name: str, metric: str = "seconds") -> tuple[float, float]:
        """Return between which numbers the median lies with probability 1 - delta, if nothing drifts."""
        low, high = median_interval(self.values(name, metric), self.delta)
        return max(low, 0.0), high

    def ratio(self, name: str, other: str, metric: str = "seconds") -> tuple[float, float, float]:
        """Return the median over rounds of what one took as a multiple of another, and its ends; drift cancels."""
        ratios = np.exp(self._log_ratios(name, other, metric))
        if name == other or not len(ratios):
            return (1.0, 1.0, 1.0) if name == other else (math.nan, 0.0, math.inf)
        low, high = median_interval(ratios, self.delta)
        return float(np.median(ratios)), max(low, 0.0), high

    def won(self, name: str, other: str, metric: str = "seconds") -> tuple[int, int]:
        """Return in how many rounds one was better than another, and in how many there were both."""
        ratios = self._log_ratios(name, other, metric)
        return int((ratios < -math.log1p(self.at_least)).sum()), len(ratios)

    def slower(self) -> dict[str, bool | None]:
        """Return of everybody but the baseline whether it is slower by more than was said; None while that is open."""
        found: dict[str, bool | None] = {}
        for name in self.names:
            if name != self.baseline and self.baseline is not None:
                share = self.delta / (len(self.names) - 1)
                low, high = median_interval(self._log_ratios(name, self.baseline, "seconds"), share)
                limit = math.log1p(self.slower_by)
                found[name] = True if low > limit else False if high <= limit else None
        return found

    def best_looking(self) -> str:
        """Return who is fastest, or has the smallest median as long as that is not known."""
        known = self.fastest.get(self.metrics[0])
        if known is not None:
            return known
        timed = [name for name in self.names if self.runs[name]]
        return min(timed or self.names, key=lambda name: self.median(name, self.metrics[0]))

    def _log_ratios(self, name: str, other: str, metric: str) -> Any:
        ours = {place: getattr(made, metric) for place, made in self.runs[name]}
        theirs = {place: getattr(made, metric) for place, made in self.runs[other]}
        both = [place for place in ours if place in theirs]
        pairs = [(max(ours[place], _SMALLEST), max(theirs[place], _SMALLEST)) for place in both]
        return np.array([math.log(one / two) for one, two in pairs])


def time_rounds(
    names: Sequence[str],
    measure: Callable[[str], Measurement],
    *,
    metrics: Sequence[str] = ("seconds",),
    delta: float = 0.05,
    at_least: float = 0.0,
    max_rounds: int = 100,
    baseline: str | None = None,
    slower_by: float = 0.0,
    seed: int = 0,
    watch: Callable[[Timing], None] | None = None,
) -> Timing:
    """Time in rounds until it is known who is fastest, or with a ``baseline``, who is slower than that.

    Parameters
    ----------
    names
        What to time, two at least.
    measure
        Called with a name; runs it once and returns what that took.
    metrics
        What is compared: ``seconds`` of wall time, ``user`` time, ``memory`` at the most; all of them are decided
        before it ends.
    delta
        The error probability.
    at_least
        By which share somebody must be faster for a round to be won: 0.03 for three percent.
    max_rounds
        How many rounds there are at most.
    baseline, slower_by
        Whom to compare the others with; it then ends once it is known of everyone whether the median of what it takes
        is more than ``slower_by`` above that of the baseline.
    seed
        Fixes the order in each round.
    watch
        Called with what there is after every round.

    Examples
    --------
    >>> took = {"short": 0.1, "long": 0.2}
    >>> found = time_rounds(list(took), lambda name: Measurement(took[name]))
    >>> found.fastest, found.rounds
    ({'seconds': 'short'}, 10)
    """
    timing = _checked(names, metrics, delta, at_least, max_rounds, baseline, slower_by)
    try:
        if baseline is None:
            _race(timing, measure, max_rounds, seed, watch)
        else:
            _check(timing, measure, max_rounds, seed, watch)
    except KeyboardInterrupt:
        timing.ending = "interrupted"
    return timing


def _checked(
    names: Sequence[str],
    metrics: Sequence[str],
    delta: float,
    at_least: float,
    max_rounds: int,
    baseline: str | None,
    slower_by: float,
) -> Timing:
    """Refuse what cannot be timed."""
    check_small(delta)
    resolve_log_inv_delta(delta)
    if len(set(names)) < 2:
        raise InputError(f"there must be two to compare at least, not {', '.join(names) or 'none'} alone")
    for metric in metrics:
        if metric not in METRICS:
            raise InputError(
                "metrics", f"must be of {', '.join(METRICS)}, not {metric!r}{did_you_mean(metric, METRICS)}"
            )
    if not metrics:
        raise InputError("metrics", f"must be one at least of {', '.join(METRICS)}")
    for argument, share in (("at_least", at_least), ("slower_by", slower_by)):
        if not 0 <= share < 1:
            raise InputError(argument, f"must be a share below 1, 0.05 for 5 %, not {share!r}")
    if isinstance(max_rounds, bool) or not isinstance(max_rounds, int) or max_rounds < 1:
        raise InputError("max_rounds", f"must be a whole number, 1 or more, not {max_rounds!r}")
    if slower_by and baseline is None:
        raise InputError("baseline", "must be stated with slower_by: whom the others are compared with")
    if baseline is not None and baseline not in names:
        raise InputError(
            "baseline", f"must be one of {', '.join(names)}, not {baseline!r}{did_you_mean(baseline, list(names))}"
        )
    runs: dict[str, list[tuple[int, Measurement]]] = {name: [] for name in names}
    nobody = dict.fromkeys(metrics)
    return Timing(tuple(names), tuple(metrics), delta, at_least, runs, "running", {**nobody}, baseline, slower_by)


def _race(
    timing: Timing,
    measure: Callable[[str], Measurement],
    max_rounds: int,
    seed: int,
    watch: Callable[[Timing], None] | None,
) -> None:
    """Run rounds of all who may still be fastest."""
    eps = f":eps={math.log1p(timing.at_least)!r}" if timing.at_least else ""
    objectives = [f"{metric}:min:wins{eps}" for metric in timing.metrics]
    arms = [f"{place}" for place in range(len(timing.names))]  # commands may be called anything
    experiment = Experiment.create(
        MemoryJournal(), "timing", arms, objectives, rounds=True, delta=timing.delta, seed=seed
    )
    last = 0
    while True:
        given = experiment.ask(if_decided="stop")
        if not given:
            timing.ending = "decided"
            break
        assert given[0].index is not None
        if given[0].index > last:
            last = given[0].index
            _look(timing, experiment)
            _tell(watch, timing)
        if last >= max_rounds:
            timing.ending = "max-rounds"
            break
        name = timing.names[int(given[0].arm)]
        made = measure(name)
        timing.runs[name].append((last, made))
        told = {metric: math.log(max(getattr(made, metric), _SMALLEST)) for metric in timing.metrics}
        experiment.tell(given[0], told)
    _look(timing, experiment)
    _tell(watch, timing)


def _look(timing: Timing, experiment: Experiment) -> None:
    winners = experiment.verdict().winners
    timing.fastest = {name: None if arm is None else timing.names[int(arm)] for name, arm in winners.items()}


def _check(
    timing: Timing,
    measure: Callable[[str], Measurement],
    max_rounds: int,
    seed: int,
    watch: Callable[[Timing], None] | None,
) -> None:
    """Run rounds of everyone until it is known who is slower than the baseline."""
    coins = np.random.default_rng(seed)
    for place in range(max_rounds):
        for number in coins.permutation(len(timing.names)).tolist():
            name = timing.names[number]
            timing.runs[name].append((place, measure(name)))
        _tell(watch, timing)
        if None not in timing.slower().values():
            timing.ending = "decided"
            return
    timing.ending = "max-rounds"


def _tell(watch: Callable[[Timing], None] | None, timing: Timing) -> None:
    if watch is not None:
        watch(timing)
