"""What has been observed so far, in the arrays that the kernels read: the bridge between problems and kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence import costs as cost_kernels
from mobai.kernels.evidence import limits as limit_kernels
from mobai.kernels.evidence.betting import SHARES
from mobai.kernels.evidence.coupled import new_workspace
from mobai.kernels.models.dispatch import make_up_details
from mobai.kernels.programs.dense import Integers
from mobai.kernels.stats.observations import (
    COST_POWER,
    COUNT,
    FREE,
    MODELS,
    PAIR,
    STATED,
    LimitArrays,
    LimitState,
    ObjectiveArrays,
    ObservationArrays,
    QuantileArrays,
    RatioArrays,
)
from mobai.kernels.trials import engine as kernels
from mobai.problem import FloatArray, Guardrail, IntArray, Problem
from mobai.problem.families import Quantile, Ratio

# What cannot be computed from the rest, per arm, and per arm and objective.
_PER_ARM = ("active", "asked", "answered")
_STATISTICS = ("pending", "counts", "first", "sums", "scatter", "histograms", "worst", "early")
_PER_OBJECTIVE = ("undecided", "opening")


class Moment(NamedTuple):
    """Rewards that are told together: arms, oriented rewards, and which are the first of their pull.

    A reward is NaN where there is none, and infinite where it is known that none will come.
    """

    arms: Integers
    rewards: FloatArray
    first: npt.NDArray[np.bool_]


class Observations:
    """Counts, sums and scatter per arm and objective, kept up to date reward by reward: everything a rule may look at.

    Rewards are *oriented*: minimised objectives are negated at the border, so that more is better here. Tables are
    copies, arm by objective.

    Parameters
    ----------
    problem
        The arms and objectives.
    counts_pending
        Whether pending rewards count as if they had come and were like the others. Sampling rules see it so, which
        spreads what is asked for; evidence is weighed without.
    """

    def __init__(self, problem: Problem, *, counts_pending: bool = False) -> None:
        arms, objectives = problem.shape[0], len(problem.metrics)
        self.objectives = problem.shape[1]
        self.counts_pending = counts_pending
        self.told = 0
        self.families = tuple(metric.family for metric in problem.metrics)
        counts, sums, means, scatter, sd, spread, costs = np.zeros((7, objectives, arms))
        means[:], sd[:] = -np.inf, problem.sd.T
        active, asked, answered = np.ones(arms, np.int64), *np.zeros((2, arms), np.int64)
        leaders, stale, undecided, opening = np.zeros((4, objectives), np.int64)
        stale[:] = 1
        undecided[: self.objectives] = 1
        # Of arms on the same things, limits are not looked at through means.
        limits = describe_limits(problem, () if problem.design is not None else problem.guardrails)
        described = describe_objectives(problem)
        # Sampling reads no histograms.
        points = 0 if counts_pending or not described.bins.any() else int(described.bins.max()) + 1
        early = np.zeros((objectives, arms, 4))
        early[:, :, COUNT], early[:, :, PAIR] = 1.0, np.nan
        first = np.repeat(described.offset[:, None], arms, axis=1)  # NaN without a range
        # Per metric and arm of a known range: counts, levels, and the bounds of the mean that were found for them.
        self.bounds = np.full((objectives, 4, arms), np.nan)
        self.arrays = ObservationArrays(
            objectives=described,
            active=active,
            eligible=active.copy() if problem.guardrails else active,
            asked=asked,
            answered=answered,
            pending=np.zeros((objectives, arms), np.int64),
            counts=counts,
            first=first,
            sums=sums,
            means=means,
            scatter=scatter,
            histograms=np.zeros((objectives, arms, points)),
            worst=np.zeros((objectives, arms)),
            work=new_workspace(points),
            early=early,
            opening=opening,
            initial=np.full(1, arms),
            sd=sd,
            spread=spread,
            leaders=leaders,
            costs=costs,
            stale=stale,
            undecided=undecided,
            unobserved=np.full(1, arms * objectives),
            quantiles=describe_quantiles(problem),
            ratios=describe_ratios(problem, with_grid=not counts_pending),
            costs_by=costs_by(problem),
            cost_of=damped_costs(problem),
            limits=limits,
        )

    @classmethod
    def of_statistics(
        cls, problem: Problem, means: FloatArray, counts: npt.NDArray[np.number], scatter: FloatArray
    ) -> Observations:
        """Return observations with these statistics, tables of arms by objectives."""
        made = cls(problem)
        arrays = made.arrays
        offset = arrays.objectives.offset
        offset[np.isnan(offset)] = 0.0
        arrays.counts[:], arrays.means[:], arrays.scatter[:] = counts.T, means.T - offset[:, None], scatter.T
        arrays.first[:], arrays.sums[:] = offset[:, None], arrays.means * arrays.counts
        make_up_details(arrays)
        cost_kernels.renew(arrays)
        if problem.guardrails:
            limit_kernels.look_at_limits(arrays)
            cost_kernels.renew(arrays)
        return made

    @property
    def asked(self) -> IntArray:
        """How often each arm was asked for, answered or not. Tracking reads this. Shape (K,)."""
        return self.arrays.asked.copy()

    @property
    def answered(self) -> IntArray:
        """How many of these pulls have been answered, with one reward or with all. Shape (K,)."""
        return self.arrays.answered.copy()

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Which arms take part. Shape (K,)."""
        return self.arrays.active.astype(np.bool_)

    @property
    def pulls(self) -> IntArray:
        """How many rewards each arm has returned, per objective. Estimates read this. Shape (K, M)."""
        return self.arrays.counts.T.astype(np.intp)

    @property
    def sums(self) -> FloatArray:
        """The sum of those rewards. Shape (K, M)."""
        sums: FloatArray = (self.arrays.sums + self.arrays.counts * np.nan_to_num(self.arrays.first)).T
        return sums

    @property
    def means(self) -> FloatArray:
        """The empirical means; an arm that has not answered yet counts as minus infinity. Shape (K, M)."""
        return absolute_means(self.arrays)

    @property
    def offset(self) -> FloatArray:
        """What the rewards of each objective are counted from; 0 before the first. Shape (M,)."""
        return np.nan_to_num(self.arrays.objectives.offset)

    @property
    def scatter(self) -> FloatArray:
        """The sum of the squared distances of those rewards from their mean. Shape (K, M)."""
        return self.arrays.scatter.T.copy()

    @property
    def leaders(self) -> IntArray:
        """The empirical best arm of every objective, the first in a tie, of those that seem to keep every limit.

        Shape (M,).
        """
        return self.arrays.leaders[: self.objectives].copy()

    def leads(self, m: int) -> bool:
        """Whether the leader of an objective has rewards, and no other arm that may lead ties with it."""
        means = self.arrays.means[m][self.arrays.eligible == 1]
        return bool(np.isfinite(means.max()) and (means == means.max()).sum() == 1)

    @property
    def costs(self) -> FloatArray:
        """The transport cost of every arm's pair with the leader; infinite for the leader itself. Shape (K, M)."""
        cost_kernels.renew(self.arrays)
        return self.arrays.costs[: self.objectives].T.copy()

    @property
    def undecided(self) -> npt.NDArray[np.bool_]:
        """The objectives that sampling should still work for. Shape (M,)."""
        return self.arrays.undecided[: self.objectives].astype(np.bool_)

    @property
    def complete(self) -> bool:
        """Whether every arm has answered in every objective."""
        return bool(self.arrays.unobserved[0] == 0)

    def ask(self, arm: int, times: int = 1) -> None:
        """Count an arm as asked for; a negative number of times for pulls that were never asked for after all."""
        self.arrays.asked[arm] += times
        if self.counts_pending:
            kernels.expect(self.arrays, arm, times)

    def tell(self, arm: int, rewards: npt.ArrayLike, *, first: bool = True) -> None:
        """Add the oriented rewards of one pull; NaN where one is missing.

        Rewards that come after the first ones of the same pull are told with ``first=False``.
        """
        self.tell_all(Moment(np.array([arm]), np.array([rewards], np.float64), np.array([first])))

    def tell_all(self, *moments: Moment) -> None:
        """Add the rewards of several pulls, moment by moment; rows of arms below 0 are left out."""
        rows, ends = moments[0], np.array([len(moments[0].arms)])
        if len(moments) > 1:
            rows = Moment(*map(np.concatenate, zip(*moments, strict=True)))
            ends = np.array([len(moment.arms) for moment in moments]).cumsum()
        self.tell_in_order(rows, ends)

    def tell_in_order(self, rows: Moment, ends: Integers) -> None:
        """Add the rewards of several pulls; ``ends`` has the number of rows up to the end of each moment."""
        kernels.take_in_moments(self.arrays, *rows, ends, self.counts_pending)
        self.told += int(np.count_nonzero(rows.first))

    def expect_the_worst(self, m: int, arm: int) -> None:
        """Count a reward that will never be known as the worst that it could be, whatever is claimed of its arm."""
        self.arrays.worst[m, arm] += 1.0

    def limit_statuses(self, level: float, surcharges: FloatArray) -> IntArray:
        """Return the :class:`LimitState` of each arm and limit at a level.

        Where it was settled before, that stands; where both could be said, the stronger. Shape (guardrails, K).
        """
        limits = self.arrays.limits
        kept, broken = limits.evidence - surcharges
        told = np.where(broken > level, LimitState.BROKEN, LimitState.OPEN)
        found = np.where(kept > level, LimitState.KEPT, told)
        found[(kept > level) & (broken > kept)] = LimitState.BROKEN
        return np.where(limits.settled != LimitState.OPEN, limits.settled, found)

    def settle(self, statuses: IntArray) -> bool:
        """Let statuses of limits stand from now on; return whether there is a new one."""
        settled = self.arrays.limits.settled
        if np.array_equal(settled, statuses):
            return False
        settled[:] = statuses
        limit_kernels.renew_eligible(self.arrays)
        return True

    def focus_on(self, undecided: Sequence[bool]) -> None:
        """Let sampling work for these objectives only; for all of them if there are none."""
        self.arrays.undecided[: self.objectives] = undecided if any(undecided) else True

    def retire(self, arm: int) -> None:
        """Let an arm lead no objective any more; its rewards are kept."""
        self.arrays.active[arm] = 0
        self._renew()

    def with_arms(self, problem: Problem, rows: Sequence[int]) -> Observations:
        """Return the observations of a changed problem; ``rows`` says which arm each one was, -1 for a new one."""
        changed = Observations(problem, counts_pending=self.counts_pending)
        old = np.array(rows)
        kept = np.flatnonzero(old >= 0)
        for name in _PER_ARM:
            getattr(changed.arrays, name)[kept] = getattr(self.arrays, name)[old[kept]]
        for name in _STATISTICS:
            getattr(changed.arrays, name)[:, kept] = getattr(self.arrays, name)[:, old[kept]]
        for name in _PER_OBJECTIVE:
            getattr(changed.arrays, name)[:] = getattr(self.arrays, name)
        for new, before in zip(_detailed(changed.arrays), _detailed(self.arrays), strict=True):
            new[:, kept] = before[:, old[kept]]
        changed.arrays.limits.evidence[:, :, kept] = self.arrays.limits.evidence[:, :, old[kept]]
        changed.arrays.limits.settled[:, kept] = self.arrays.limits.settled[:, old[kept]]
        changed.arrays.initial[:] = min(self.arrays.initial[0], problem.shape[0])
        changed.arrays.objectives.offset[:] = self.arrays.objectives.offset
        changed.told = self.told
        changed._renew()
        return changed

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that cannot be computed from the rest."""
        names = (*_PER_ARM, *_STATISTICS, *_PER_OBJECTIVE, "initial")
        offset, limits = self.arrays.objectives.offset, self.arrays.limits
        told = {"told": np.array(self.told), "offset": offset, "claims": limits.evidence, "settled": limits.settled}
        told |= {f"detail_{n}": detail for n, detail in enumerate(_detailed(self.arrays)) if detail.size}
        return {**told, **{name: getattr(self.arrays, name) for name in names}}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`state` returned; ValueError if it cannot have."""
        for name in (*_PER_ARM, *_STATISTICS, *_PER_OBJECTIVE, "initial"):
            mine = getattr(self.arrays, name)
            if state[name].shape != mine.shape or state[name].dtype != mine.dtype:
                raise ValueError(f"{name}: not {mine.shape} of type {mine.dtype}")
            mine[:] = state[name]
        self.arrays.objectives.offset[:] = state["offset"]
        for n, detail in enumerate(_detailed(self.arrays)):
            if detail.size:
                detail[:] = state[f"detail_{n}"]
        self.arrays.limits.evidence[:] = state["claims"]
        self.arrays.limits.settled[:] = state["settled"]
        self.told = int(state["told"])
        self._renew()

    def refresh(self) -> None:
        """Find noise, leaders and costs anew, after statistics were changed by hand."""
        cost_kernels.renew(self.arrays)

    def _renew(self) -> None:
        """Find everything that follows from counts, sums and scatter."""
        arrays, seen = self.arrays, self.arrays.counts > 0
        np.divide(arrays.sums, arrays.counts, out=arrays.means, where=seen)
        np.add(arrays.first - arrays.objectives.offset[:, None], arrays.means, out=arrays.means, where=seen)
        if len(arrays.limits.what):
            limit_kernels.renew_eligible(self.arrays)
        cost_kernels.renew(self.arrays)


def describe_limits(problem: Problem, guardrails: Sequence[Guardrail]) -> LimitArrays:
    """Return what the kernels know about guardrails of a problem."""
    arms, count = problem.shape[0], len(guardrails)
    what, terms = np.zeros((count, 3), np.int64), np.zeros((count, 2))
    for c, guardrail in enumerate(guardrails):
        metric = problem.metric_names.index(guardrail.metric)
        sign = problem.signs[metric]
        baseline = -1 if guardrail.of is None else problem.arms.index(guardrail.of)
        what[c] = metric, sign * guardrail.sign, baseline
        terms[c] = sign * guardrail.limit if guardrail.limit is not None else guardrail.within, guardrail.eps
    return LimitArrays(
        what=what,
        terms=terms,
        evidence=np.full((2, count, arms), -np.inf),
        settled=np.zeros((count, arms), np.int64),
        touched=np.zeros(arms, np.int64),
    )


def describe_objectives(problem: Problem) -> ObjectiveArrays:
    """Return what the kernels know about the objectives."""
    models = np.array([MODELS.index(metric.family.model) for metric in problem.metrics], np.int64)
    low, width = problem.ranges
    bins = np.array([metric.family.histogram_bins for metric in problem.metrics], np.int64)
    # Copies: read-only arrays are of another type to numba, and a copy of everything would be compiled for anew.
    eps = problem.eps.copy()
    offset = np.where(bins > 0, low, np.where(models >= MODELS.index("quantile"), 0.0, np.nan))
    return ObjectiveArrays(models, offset, width.copy(), eps, bins)


def describe_ratios(problem: Problem, *, with_grid: bool) -> RatioArrays:
    """Return what the kernels know about ratios, and no rewards yet; sampling needs no grid."""
    count, families = len(problem.metrics), {}
    for m, metric in enumerate(problem.metrics):
        if isinstance(metric.family, Ratio):
            families[m] = metric.family
    scale, middle, points = np.ones(count), np.ones(count), np.zeros((count, 2), np.int64)
    for m, family in families.items():
        scale[m], middle[m], points[m] = family.high / family.most, family.middle / family.most, family.points
    cells = int((points + 1).prod(axis=1).max()) if families and with_grid else 0
    arms, kept = problem.shape[0], count if families else 0
    sums, grid = np.zeros((kept, arms, 5)), np.zeros((kept, arms, cells))
    return RatioArrays(problem.signs.copy(), scale, middle, points, sums, grid)


def _detailed(arrays: ObservationArrays) -> tuple[FloatArray, ...]:
    """Return what is kept of rewards of which not the mean is compared, by objective and arm."""
    return arrays.quantiles.reached, arrays.ratios.sums, arrays.ratios.grid


def damped_costs(problem: Problem) -> FloatArray:
    """Return how much a pull of each arm costs, as sampling weighs it: 1 for the dearest, and for all without costs."""
    if problem.costs is None or problem.costs.by_arm is None:
        return np.ones(problem.shape[0])
    costs = np.array(problem.costs.by_arm)
    damped: FloatArray = (costs / costs.max()) ** COST_POWER
    return damped


def costs_by(problem: Problem) -> npt.NDArray[np.int64]:
    """Return what says what a pull costs: nothing, the problem, or a metric; and its sign."""
    if problem.costs is None:
        return np.array([FREE, 1])
    if problem.costs.metric is None:
        return np.array([STATED, 1])
    m = problem.metric_names.index(problem.costs.metric)
    return np.array([m, int(problem.signs[m])])


def describe_quantiles(problem: Problem) -> QuantileArrays:
    """Return what the kernels know about quantiles, and no rewards yet."""
    count, found = len(problem.metrics), dict[int, tuple[float, FloatArray]]()
    for m, metric in enumerate(problem.metrics):
        if isinstance(metric.family, Quantile):
            oriented = metric.family.level if metric.sign > 0 else 1 - metric.family.level
            found[m] = oriented, np.sort(metric.sign * metric.family.edges)
    most = max((len(edges) for _, edges in found.values()), default=0)
    level, last, edges = np.zeros(count), np.zeros(count, np.int64), np.zeros((count, most))
    gains = np.zeros((count, 2 * len(SHARES)))
    for m, (p, cells) in found.items():
        level[m], last[m], edges[m, : len(cells)] = p, len(cells) - 1, cells
        gains[m] = [math.log1p(u / chance - u) for chance in (1 - p, p) for u in SHARES]
    return QuantileArrays(level, last, edges, gains, np.zeros((count, problem.shape[0], most)))


def absolute_means(arrays: ObservationArrays) -> FloatArray:
    """Return the empirical means, not relative to offsets; minus infinity without rewards. Shape (K, M)."""
    means: FloatArray = np.where(arrays.counts > 0, arrays.means + arrays.objectives.offset[:, None], -np.inf).T
    return means
