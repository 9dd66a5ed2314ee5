"""What can be asked of an experiment under way: its verdict, and all that is known beside it. Nothing changes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from mobai.engine.asks import Asks
from mobai.engine.contention import Contention, Contest
from mobai.engine.evidence import Evidence
from mobai.engine.family_check import FamilyCheck
from mobai.engine.standings import HardItem, Standing
from mobai.engine.verdict import Verdict
from mobai.errors import InputError
from mobai.kernels.evidence.scores import Scoring
from mobai.kernels.stats.observations import LimitState
from mobai.kernels.trials.engine import pair_evidences
from mobai.problem import FloatArray, IntArray, Problem
from mobai.problem.problem import frozen
from mobai.rules.stopping import ScoresPairs, SharesDelta, StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.differences import Differences, difference_intervals
from mobai.theory.forecast import Remaining, at_least, remaining_samples, remaining_with_limits
from mobai.theory.intervals import IntervalLevels, Intervals, confidence_intervals, fit_to_limits
from mobai.theory.observations import Observations


class Answers:
    """What an engine answers, given what it knows."""

    problem: Problem
    stopping: StoppingRule
    asks: Asks
    _evidence: Evidence
    _check: FamilyCheck
    _at_start: Problem  # levels belong to the initial arms
    _only: float | None  # the only log(1/delta) that is asked about
    _least: int  # rewards of an arm that rule out rare extremes
    _barred: npt.NDArray[np.bool_]

    @property
    def observations(self) -> Observations:
        """Every reward of every arm that has become evidence."""
        return self._evidence.observations

    @property
    def told(self) -> int:
        """How many pulls have become evidence, in one metric at least."""
        return self.observations.told

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Which arms take part. Shape (K,)."""
        return self.observations.active

    def stopped(self, log_inv_delta: float | None = None) -> bool:
        """Whether every objective has been decided at an error probability; much cheaper than a verdict."""
        return None not in self._evidence.monitor.decisions(self._log_inv_delta_asked(log_inv_delta))

    def winner(self, m: int) -> int:
        """Return the arm that an objective is decided for at the only delta; -1 for none."""
        decision = self._evidence.monitor.decisions(self._known_delta())[m]
        return -1 if decision is None else decision.arm

    def contention(self, log_inv_delta: float | None = None) -> tuple[Contention, ...]:
        """Return, per objective, who may still be best; nothing for stopping rules that are not proven for it."""
        x, scoring = self._log_inv_delta_asked(log_inv_delta), self.scoring()
        if scoring is None or not (isinstance(self.stopping, SharesDelta) and self.stopping.fits_intervals):
            return ()
        decisions, level = self._evidence.monitor.decisions(x), self.level(x)
        known = Contest(self.problem, self.observations, scoring, level, self._least, self._intervals(x), decisions)
        return known.contention()

    def verdict(self, log_inv_delta: float | None = None, *, contention: bool = False) -> Verdict:
        """Return where the experiment stands at an error probability; with ``contention``, who may still be best."""
        x = self._log_inv_delta_asked(log_inv_delta)
        return Verdict(
            problem=self.problem,
            log_inv_delta=x,
            leaders=tuple(self.leaders.tolist()),
            leading=tuple(self.leads(m) for m in range(self.problem.shape[1])),
            decisions=self._evidence.monitor.decisions(x),
            evidence=frozen(self._evidence.monitor.evidence(self.observations)),
            threshold=frozen(np.full(self.problem.shape[1], self.level(x))),
            pulls=self.asks.answered,
            proven=self.stopping.certified,
            doubts=self._doubts(x),
            limits=self.limits(x),
            held=tuple(self._is_held(m, x) for m in range(self.problem.shape[1])),
            least=int(self._least),
            contention=self.contention(x) if contention else (),
            reaches=partial(self.stopping.reached, self._at_start),
        )

    @property
    def leaders(self) -> IntArray:
        """The arm that looks best in every objective. Shape (M,)."""
        return self.observations.leaders

    def leads(self, m: int) -> bool:
        """Whether the leader of an objective is above all others."""
        return self.observations.leads(m)

    def _is_held(self, m: int, x: float) -> bool:
        """Whether an objective has the evidence, and too few rewards to rule out rare extremes."""
        return self._evidence.is_held(m, self.level(x))

    def standings(self) -> tuple[Standing, ...]:
        """Return how every arm stands to the leader of every objective, where all are measured on the same things."""
        return ()

    def hardest(self, count: int, item: Callable[[int], str | int]) -> tuple[HardItem, ...]:  # noqa: ARG002
        """Return, per objective, the items on which the leader loses most; ``item`` says what is at an index."""
        return ()

    def _doubts(self, x: float) -> tuple[str | None, ...]:
        """Return, per metric, what speaks against its family; of its shape only once something is decided of it."""
        decided = [one is not None for one in self._evidence.monitor.decisions(x)]
        return self._check.doubts(self.problem, self.observations, decided)

    def level(self, log_inv_delta: float) -> float:
        """Return the evidence that delta demands of every objective."""
        return self.stopping.level(self._at_start, log_inv_delta)

    def scoring(self) -> Scoring | None:
        """Return how pairs are scored at this moment; None for stopping rules that do not score them."""
        monitor = self._evidence.monitor
        return monitor.scoring(self.told) if isinstance(monitor, ScoresPairs) else None

    def evidence(self) -> FloatArray:
        """Return the evidence of every objective at this moment, in nats."""
        return self._evidence.monitor.evidence(self.observations)

    def plain_intervals(self) -> Intervals:
        """Return the intervals at the only delta, without a look at whether the families hold."""
        return self._intervals(self._known_delta())

    def intervals(self, log_inv_delta: float | None = None) -> Intervals:
        """Return a confidence interval for every mean, K x M, in the objectives' own units.

        With probability at least 1 - delta all of them hold at all times. Where the decisions are right on the same
        event, the intervals are fitted to them, so that they never contradict the verdict.
        """
        x = self._log_inv_delta_asked(log_inv_delta)
        return self._intervals(x)._replace(certified=not any(self._doubts(x)))

    def _intervals(self, x: float) -> Intervals:
        if not (isinstance(self.stopping, SharesDelta) and self.stopping.fits_intervals):
            return confidence_intervals(self.problem, self.observations, IntervalLevels.alone(x, *self._at_start.shape))
        levels = self._evidence.changing.interval_levels(x)
        decided = tuple(None if one is None else one.arm for one in self._evidence.monitor.decisions(x))
        if self.problem.guardrails:
            # An arm decided on is the best of those that keep every limit, not of all.
            decided = (None,) * len(decided)
        found = confidence_intervals(self.problem, self.observations, levels, decided)
        return fit_to_limits(self.problem, found, self.limits(x))

    def differences(self, log_inv_delta: float | None = None) -> Differences | None:
        """Return by how much every arm differs from the baseline, metric by metric; None without a baseline."""
        if self.problem.baseline is None:
            return None
        x = self._log_inv_delta_asked(log_inv_delta)
        decided = tuple(None if one is None else one.arm for one in self._evidence.monitor.decisions(x))
        # With guardrails, an arm decided on is the best of those that keep every limit, not of all.
        fitted = (None,) * len(decided) if self.problem.guardrails else decided
        level, surcharges = self.stopping.level(self._at_start, x), self._evidence.changing.surcharges
        return difference_intervals(self.problem, self.observations, level, surcharges, fitted, self._intervals(x))

    def limits(self, log_inv_delta: float | None = None) -> tuple[tuple[LimitState, ...], ...]:
        """Return whether each limit is kept or broken, arm by arm, or open."""
        if not self.problem.guardrails:
            return ()
        statuses = self._evidence.limit_statuses(self.level(self._log_inv_delta_asked(log_inv_delta)))
        return tuple(tuple(map(LimitState, row)) for row in statuses.tolist())

    def limit_evidence(self) -> FloatArray:
        """Return the evidence that each arm keeps, and breaks, each limit, in nats. Shape (2, guardrails, K)."""
        return self.observations.arrays.limits.evidence

    @property
    def barred(self) -> npt.NDArray[np.bool_]:
        """Which arms are asked for no more because they break a limit. Shape (K,)."""
        return self._barred.copy()

    def forecast(self, log_inv_delta: float | None = None) -> Remaining | None:
        """Forecast how many more samples the undecided objectives take.

        None before every arm has been observed, and for stopping rules that do not compare evidence with a level.
        """
        x = self._log_inv_delta_asked(log_inv_delta)
        undecided = np.array([decision is None for decision in self._evidence.monitor.decisions(x)])
        scoring, level = self.scoring(), self.level(x)
        if scoring is None:
            return None
        if self.problem.guardrails:
            free = self.active & ~self._barred
            found = remaining_with_limits(self.observations, undecided, free, level, scoring)
        else:
            found = remaining_samples(self.observations, undecided, level, scoring)
        if found is None or not self._least:
            return found
        return at_least(found, self._lacking(np.flatnonzero(undecided).tolist()))

    def _lacking(self, objectives: Sequence[int]) -> FloatArray:
        """Return how many rewards of each arm are lacking to rule out rare extremes. Shape (M, K)."""
        found, level = np.zeros((self.problem.shape[1], self.problem.shape[0])), self.level(self._known_delta())
        scoring = self.scoring()
        for m in objectives:
            if scoring is not None and self.problem.objectives[m].family.hides_extremes:
                evidence, broken = np.empty((2, self.problem.shape[0]))
                pair_evidences(scoring, self.observations.arrays, m, level, evidence, broken)
                near = self.active & ~(np.maximum(evidence, broken) > 2 * level)
                near[self.observations.leaders[m]] = True
                found[m, near] = np.maximum(self._least - self.observations.arrays.counts[m, near], 0.0)
        return found

    def _known_delta(self) -> float:
        assert self._only is not None
        return self._only

    def _log_inv_delta_asked(self, log_inv_delta: float | None) -> float:
        """Return the log(1/delta) to answer at."""
        x = self._only if log_inv_delta is None else log_inv_delta
        if self._only is not None and x != self._only:
            raise InputError("log_inv_delta", f"must be {self._only:g}, the one it was started with, not {x!r}")
        return resolve_log_inv_delta(log_inv_delta=x)
