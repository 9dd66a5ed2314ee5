"""Stopping by the GLR statistic with one of the thresholds of :mod:`mobai.theory.thresholds`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mobai.errors import InputError
from mobai.kernels.evidence.scores import Scoring
from mobai.kernels.programs.dense import Integers
from mobai.kernels.stats.health import HealthArrays
from mobai.kernels.stats.repeats import RepeatArrays
from mobai.kernels.trials import engine as kernels
from mobai.problem import FloatArray, Problem
from mobai.problem.families import is_number
from mobai.problem.guardrail import NOBODY
from mobai.rules.stopping.base import Decision
from mobai.rules.stopping.records import EvidenceRecords
from mobai.rules.stopping.roster import KEPT_BACK, Roster
from mobai.theory.intervals import IntervalLevels
from mobai.theory.observations import Moment, Observations
from mobai.theory.thresholds import INTERVAL_SHARE, check_families, evidence_of, find_threshold, reached_log_inv_delta

_LEAST_RESERVE = 1e-100


@dataclass(frozen=True)
class GLR:
    """Decide an objective once its evidence exceeds the level that delta demands.

    With ``mixture`` and ``kaufmann_koolen`` every objective is decided at its own time and stays decided. With
    ``theory`` and ``empirical``, and with ``at_once``, all are decided together, at the first time when every one
    exceeds the level (the paper).

    Parameters
    ----------
    threshold
        ``"mixture"``, ``"kaufmann_koolen"``, ``"theory"`` or ``"empirical"`` (the last is not certified).
    at_once
        Whether all objectives are decided together.
    reserve
        The share of delta kept for arms that are added or retired later; with ``mixture`` only.
    interval_share
        The share of delta that the confidence intervals have for themselves; with ``mixture`` only. More makes them
        narrower, and decisions later.

    Examples
    --------
    >>> GLR().certified, GLR("empirical").certified
    (True, False)
    """

    threshold: str = "mixture"
    at_once: bool = False
    reserve: float = 0.0
    interval_share: float = INTERVAL_SHARE

    def __post_init__(self) -> None:
        """Check the parameters."""
        find_threshold(self.threshold)
        if not is_number(self.reserve) or not (self.reserve == 0 or _LEAST_RESERVE <= self.reserve <= 0.5):
            raise InputError("reserve", f"must be a number from {_LEAST_RESERVE:g} to 0.5, or 0, not {self.reserve!r}")
        if self.reserve > 0 and not self.fits_intervals:
            raise InputError(
                "reserve", f"must be 0, not {self.reserve!r}: only 'mixture', not at once, is proven with one"
            )
        if not is_number(self.interval_share) or not _LEAST_RESERVE <= self.interval_share <= 0.9:
            raise InputError(
                "interval_share", f"must be a number from {_LEAST_RESERVE:g} to 0.9, not {self.interval_share!r}"
            )
        if self.interval_share != INTERVAL_SHARE and not self.fits_intervals:
            raise InputError(
                "interval_share",
                f"must be {INTERVAL_SHARE:g}, not {self.interval_share!r}: with other rules than 'mixture', "
                "intervals have a delta of their own",
            )

    @property
    def name(self) -> str:
        """The name in results: the threshold's, followed by ``, all at once`` if ``at_once`` is set."""
        return f"{self.threshold}, all at once" if self.at_once else self.threshold

    @property
    def certified(self) -> bool:
        """Whether there is a proof that the error probability is at most delta."""
        return find_threshold(self.threshold).certified

    @property
    def sticky(self) -> bool:
        """Whether objectives are decided one by one."""
        return find_threshold(self.threshold).sticky and not self.at_once

    @property
    def kind(self) -> int:
        """The number of its score among the compiled ones."""
        return find_threshold(self.threshold).kind

    @property
    def fits_intervals(self) -> bool:
        """Whether its decisions are right on the event of the confidence intervals, so that these may use them."""
        return self.threshold == "mixture" and not self.at_once

    @property
    def _kept_back(self) -> float:
        """The share of delta that is not spent on the pairs of the start."""
        return max(self.reserve, KEPT_BACK) if self.fits_intervals else 0.0

    def level(self, problem: Problem, log_inv_delta: float) -> float:
        """Return the evidence that delta demands of every objective; refuses families it is not proven for."""
        rule = find_threshold(self.threshold)
        if rule.gaussian_only:
            check_families(f"threshold {self.threshold!r}", problem)
        return rule.level(log_inv_delta, *problem.shape) + self._price(problem)

    def _price(self, problem: Problem) -> float:
        """Return what a reserve, limits, a baseline and another share for the intervals add to the level, in nats."""
        intervals = math.log1p(-INTERVAL_SHARE) - math.log1p(-self.interval_share)
        return intervals - math.log1p(-self._kept_back) + self._more_claims(problem)

    def _more_claims(self, problem: Problem) -> float:
        """Return what limits and a baseline add to the level, in nats; refuses rules that are not proven with them."""
        pairs, others = problem.claims
        if others and not self.fits_intervals:
            raise InputError(f"threshold {self.name!r} is not proven for guardrails and a baseline; use 'mixture'")
        return math.log1p(others / pairs)

    def reached(self, problem: Problem, evidence: float) -> float:
        """Return the largest log(1/delta) that some evidence is enough for, 0 if for none."""
        enough = evidence - self._price(problem)
        return reached_log_inv_delta(find_threshold(self.threshold), enough, *problem.shape)

    def start(self, problem: Problem, log_inv_delta: float | None = None) -> GLRMonitor:
        """Begin to follow an experiment."""
        if problem.design is not None:
            raise InputError(
                "design", f"{problem.design.words} are for live experiments, mobai.race and tables of items"
            )
        return (RosterMonitor if self.fits_intervals else GLRMonitor)(self, problem, log_inv_delta)


class GLRMonitor:
    """The records of one experiment's evidence: that of each objective's weakest pair."""

    def __init__(self, rule: GLR, problem: Problem, log_inv_delta: float | None) -> None:
        self._rule, self._problem = rule, problem
        only = None if log_inv_delta is None else rule.level(problem, log_inv_delta)
        self.records = EvidenceRecords(problem.shape[1], sticky=rule.sticky, level=only)
        self.roster = Roster.of(problem, np.ones(problem.shape[0], np.bool_), rule.reserve)
        self._kind, self._sticky = rule.kind, rule.sticky
        self._blocks, self._found = np.full((len(self.records.to_beat), 3), -1), np.empty(len(self.records.to_beat))
        # Of each group of objectives: how many rewards the arms in question must have before it is decided.
        self.least = np.zeros(len(self.records.to_beat))

    def scoring(self, pulls: int) -> Scoring:
        """Return how pairs are scored after this many pulls."""
        return Scoring(self._kind, self.roster.prices, float(pulls))

    def look(self, observations: Observations, at: float | None = None) -> bool:
        """Enter what exceeds all evidence so far, or the only level that matters; whether something did."""
        found, arrays, scoring = self._found, observations.arrays, self.scoring(observations.told)
        if not kernels.look(scoring, self._sticky, arrays, self.records.to_beat, self.least, self._blocks, found):
            return False
        self._enter(scoring, observations, at)
        return True

    def follow(
        self,
        observations: Observations,
        repeats: RepeatArrays,
        health: HealthArrays,
        rows: Moment,
        looks: Integers,
        begin: int,
    ) -> tuple[int, bool]:
        """Take in rows, each a moment of its own, and look at these numbers of rows, until something is found.

        Return how many looks were taken with those before ``begin``, and whether something was found, to be entered.
        """
        scoring = self.scoring(observations.told)
        records = self.records.to_beat, self.least, self._blocks, self._found
        read = rows.arms, rows.rewards, rows.first
        done, pulls = kernels.follow(scoring, observations.arrays, repeats, health, records, read, looks, begin)
        observations.told += pulls
        return done, bool((self._found > -np.inf).any())

    def enter(self, observations: Observations, at: float | None) -> None:
        """Enter what was found."""
        self._enter(self.scoring(observations.told), observations, at)

    def _enter(self, scoring: Scoring, observations: Observations, at: float | None) -> None:
        """Enter what was found."""
        found, arrays, pulls = self._found, observations.arrays, observations.told
        nobody = kernels.nobody_qualifies(scoring, arrays) if self._problem.guardrails else -math.inf
        for n in np.flatnonzero(found > -np.inf).tolist():
            answers = arrays.leaders if found[n] > nobody else np.full_like(arrays.leaders, NOBODY)
            self.records.add(n, float(found[n]), answers, pulls, at)

    def evidence(self, observations: Observations) -> FloatArray:
        """Return the evidence of every objective at this moment, in nats."""
        return evidence_of(find_threshold(self._rule.threshold), observations, observations.told, self.roster.prices)

    def decisions(self, log_inv_delta: float) -> tuple[Decision | None, ...]:
        """Return each objective's first crossing of the level of delta, or None."""
        return self.records.decisions(self._rule.level(self._problem, log_inv_delta))


class RosterMonitor(GLRMonitor):
    """The same for the threshold that is proven for arms that come and go."""

    def arms_changed(self, observations: Observations) -> None:
        """Take note of who takes part now."""
        self.roster = Roster.of(self._problem, observations.active, self._rule.reserve)

    @property
    def surcharges(self) -> FloatArray:
        """What each arm pays above the initial level, in nats. Shape (K,)."""
        return self.roster.surcharges

    def interval_levels(self, log_inv_delta: float) -> IntervalLevels:
        """Return the levels of the confidence intervals that are right together with the decisions."""
        share = self._rule.interval_share
        arms = self.roster.interval_levels(log_inv_delta, len(self._problem.metrics), share)
        return IntervalLevels(arms, self._rule.level(self._problem, log_inv_delta))

    def lacks(self, observations: Observations, objective: int, level: float) -> bool:
        """Whether the evidence of an objective is enough, and the arms in question have too few rewards."""
        least, scoring = self.least[objective], self.scoring(observations.told)
        return bool(least > 0 and kernels.lacking(scoring, observations.arrays, objective, least, level))

    def reopen(self, objective: int) -> None:
        """Forget what was decided on an objective."""
        self.records.forget(objective)

    def restore(self, objective: int, decision: Decision) -> None:
        """Take over a decision made before, at the only delta that is asked for."""
        self.records.restore(objective, decision)
