"""What a log says: the best arm of every objective, or how many more samples it takes to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai import views
from mobai.analysis.goals import answer_on_items
from mobai.analysis.guess import guess, without_range
from mobai.analysis.items import assumption_of_items, engine_of_items
from mobai.analysis.logs import (
    ASSUMPTION,
    ASSUMPTION_OF_ORDER,
    NOT_LOOKED_AT,
    NOTHING_FOUND,
    Log,
    looks_sorted,
    read_log,
)
from mobai.engine import RARE, Engine, Verdict
from mobai.engine.concerns import reward_concerns
from mobai.engine.engine import check_rare
from mobai.engine.standings import Standing
from mobai.errors import InputError
from mobai.extras import need
from mobai.problem import FloatArray, Guardrail, IntArray, Objective
from mobai.rules.goals import GoalAnswer, goal_of
from mobai.rules.sampling.uniform import Uniform
from mobai.rules.stopping import GLR
from mobai.theory.confidence import check_small, resolve_log_inv_delta
from mobai.theory.differences import Differences
from mobai.theory.forecast import Remaining
from mobai.theory.intervals import Intervals


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a log says.

    Attributes
    ----------
    verdict
        What is decided, after which row (``decisions[m].pull``), and the evidence.
    intervals
        Confidence intervals for every mean, K x M.
    counts, missing
        Per arm and objective: rewards, and rows without one. Shape (K, M).
    means
        The mean of those rewards, NaN without any. Shape (K, M).
    forecast
        How many more samples it takes and where, if the means are as they look; None if an arm has no rewards.
    differences
        By how much the arms differ from the baseline; None without one.
    assumption
        What the guarantee rests on, in a sentence.
    findings
        What looks wrong in the order of the rows; or that nothing was looked for, because the order is not known.
    standings
        How every arm stands to the leader of every objective, where all were measured on the same items.
    answer
        What is proven of the ``goal``, with an error probability delta of its own; None unless one was stated.
    """

    verdict: Verdict
    intervals: Intervals
    counts: IntArray
    missing: IntArray
    means: FloatArray
    forecast: Remaining | None
    differences: Differences | None = None
    assumption: str = ASSUMPTION
    findings: tuple[str, ...] = ()
    standings: tuple[Standing, ...] = ()
    answer: GoalAnswer | None = None

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the means with their intervals, objective by objective; return the figure, or save it."""
        from mobai.analysis.plot import plot_means

        return plot_means(self, path)

    def to_pandas(self) -> Any:
        """Return a data frame: a row per arm and metric, labelled by both: rewards, mean and interval.

        With a baseline also the difference from it with its ends, in the metric's unit and in percent, and what that
        proves.
        """
        problem, ends = self.verdict.problem, self.intervals
        rows = [
            {
                "arm": arm,
                "metric": name,
                "rewards": int(self.counts[i, m]),
                "missing": int(self.missing[i, m]),
                "mean": float(self.means[i, m]),
                "lower": float(ends.lower[i, m]),
                "upper": float(ends.upper[i, m]),
                **self._difference(i, m),
            }
            for i, arm in enumerate(problem.arms)
            for m, name in enumerate(problem.metric_names)
        ]
        return need("pandas").DataFrame(rows).set_index(["arm", "metric"])

    def _difference(self, i: int, m: int) -> dict[str, float | str]:
        found = self.differences
        if found is None:
            return {}
        return {
            "difference": float(self.means[i, m] - self.means[found.baseline, m]),
            "difference_lower": float(found.lower[i, m]),
            "difference_upper": float(found.upper[i, m]),
            "lift_lower_percent": 100 * float(found.lift_lower[i, m]),
            "lift_upper_percent": 100 * float(found.lift_upper[i, m]),
            "against_baseline": found.words(i, m),
        }

    def __str__(self) -> str:
        """Say it in a few lines."""
        return views.analysis_text(self)

    def _repr_html_(self) -> str:
        return views.analysis_html(self)


def analyse(
    data: Any,
    objectives: Sequence[Objective | str] | None = None,
    *,
    arm: str = "arm",
    arms: Sequence[str] | None = None,
    delta: float = 0.05,
    sd: npt.ArrayLike | None = None,
    guardrails: Sequence[Guardrail | str] = (),
    baseline: str | None = None,
    ordered: bool = False,
    time: str | None = None,
    item: str | None = None,
    all_items: bool = False,
    rare: float | None = RARE,
    goal: str | None = None,
) -> Analysis:
    """Say what observations that are already there prove, as a live experiment would have.

    The evidence is looked at once, after the last row: that is right whatever the order of the rows, and whenever the
    collection was stopped. With ``ordered`` or ``time`` it is looked at after every row, as it would have been live:
    then decisions have a row, and some come earlier. Which arm came next must not have depended on its outcome.

    Parameters
    ----------
    data
        A file (CSV with a header, JSON lines, a JSON array of objects, Parquet), a data frame (pandas, polars, Arrow),
        or rows: mappings from column to value. Empty cells are missing metrics.
    objectives
        The columns to compare, as :class:`Objective` values or short forms (``"signup:bernoulli"``).
    arm
        The column that names the arm.
    arms
        The arms there are; those of the log, in the order of their first rows, unless given.
    delta
        The error probability, for all objectives together.
    sd, guardrails, baseline
        As for :class:`Problem`.
    ordered
        Whether the rows are in the order in which arms were chosen: not by value, by arm, or by when a result came in.
    time
        The column that says when each row's arm was chosen, a number or ISO 8601; rows are read in that order, those of
        the same time together.
    item
        The column that says what each row's arm was measured on: a question, a file, a split. Arms are then compared
        by their differences on the same items, which are taken for a sample of those that you want to know about. Of
        a metric with a range, a cell that is missing counts as the worst there could be.
    all_items
        Whether these items are all there are: which arm is best on this very list.
    rare
        How rare an extreme may be that must not hide in an unknown or shared variance; None to rule them out.
    goal
        With ``item``, what else to prove: ``"pareto"``, the arms that no other one beats in every objective;
        ``"top=3"``, the best three of every objective; ``"ranking"``, their order. It has an error probability delta of
        its own.

    Examples
    --------
    >>> rows = [{"variant": "AB"[n % 2], "click": int(n % 2 == 0 or n % 10 == 1)} for n in range(200)]
    >>> found = analyse(rows, ["click:bernoulli"], arm="variant")
    >>> found.verdict.answers, found.verdict.stopped, found.counts.tolist()
    (('A',), True, [[100], [100]])
    """
    x = resolve_log_inv_delta(delta)
    check_small(delta)
    limits: dict[str, Any] = {"guardrails": guardrails, "baseline": baseline}
    if objectives is None:
        found = guess(data, None if arm == "arm" else arm, [item, time])
        stated = [without_range(one) for one in found.objectives]
        raise InputError("objectives", f"must be named; they seem to be {stated}, arm={found.arm!r}")
    if item is not None and (ordered or time is not None):
        raise InputError("item", "must come without ordered and time: the order of items does not matter")
    log = read_log(data, objectives, arm=arm, arms=arms, sd=sd, time=time, item=item, all_items=all_items, **limits)
    return analyse_log(log, x, ordered=ordered or time is not None, rare=rare, goal=goal)


def analyse_log(
    log: Log,
    log_inv_delta: float,
    *,
    ordered: bool = False,
    rare: float | None = RARE,
    doubts: Sequence[str] = (),
    goal: str | None = None,
) -> Analysis:
    """Say what a log proves, as one moment or, ``ordered``, row by row; with ``doubts``, nothing is certified."""
    problem = log.problem
    check_rare(rare)
    answer = None if goal is None else answer_on_items(log, goal_of(goal), log_inv_delta)
    engine = _engine_of(log, log_inv_delta, ordered, rare)
    counts = engine.observations.pulls
    rows = np.bincount(log.arms, minlength=problem.shape[0])
    if log.items is not None:  # of which every arm could have been measured on each
        rows[:] = len(set(log.items))
    with np.errstate(invalid="ignore"):
        means = np.where(counts > 0, engine.observations.means * problem.signs + 0.0, np.nan)
    alarms = (*doubts, *(looks_sorted(log) if ordered else ()))
    intervals = engine.intervals()
    return Analysis(
        verdict=replace(engine.verdict(contention=True), alarms=alarms),
        intervals=intervals._replace(certified=intervals.certified and not alarms),
        counts=counts,
        missing=rows[:, None] - counts,
        means=means,
        forecast=engine.forecast(),
        differences=engine.differences(),
        assumption=_assumption(log, ordered),
        findings=() if log.items is not None else _findings(engine),
        standings=engine.standings(),
        answer=answer,
    )


def _engine_of(log: Log, log_inv_delta: float, ordered: bool, rare: float | None) -> Engine:
    """Return an engine that has read a log."""
    if log.items is not None:
        return engine_of_items(log, log_inv_delta, rare)
    engine = Engine(log.problem, Uniform(), GLR(), log_inv_delta=log_inv_delta, rare=rare, follows_health=ordered)
    if ordered:
        together = np.zeros(len(log.arms), np.bool_) if log.with_the_one_before is None else log.with_the_one_before
    else:
        together = np.arange(len(log.arms)) > 0
    engine.ingest(log.arms, log.rewards, together)
    return engine


def _assumption(log: Log, ordered: bool) -> str:
    if log.items is not None:
        return assumption_of_items(log)
    return ASSUMPTION_OF_ORDER if ordered else ASSUMPTION


def _findings(engine: Engine) -> tuple[str, ...]:
    """Return what looks wrong in the order of the rows; or that nothing was looked for."""
    if engine.health is None:
        return (NOT_LOOKED_AT,)
    found = [one.text for one in reward_concerns(engine.problem, engine.observations, engine.health)]
    return tuple(found) or (NOTHING_FOUND,)
