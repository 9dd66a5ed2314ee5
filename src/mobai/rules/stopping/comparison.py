"""Arms compared on the same things: what was measured at every index, who is out, and who is decided on.

What was measured is a sheet of indices by arms; an arm is read up to the first index at which something of it may still
come. The evidence of a pair is a function of the differences in the prefix that both have: whoever is measured when,
however late results come and in which order they are told, the same sheet says the same (docs/guarantee.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.kernels.evidence import paired as kernels
from mobai.kernels.evidence.paired import BETS, SCALE, SCATTER, SIGN, Bets, Measures, Sheet
from mobai.problem import FloatArray, IntArray, Objective, Problem
from mobai.problem.guardrail import NOBODY
from mobai.rules.stopping.base import Decision
from mobai.rules.stopping.paired_limits import PairedLimits

Truths = npt.NDArray[np.bool_]
_FIRST_ROWS = 64
# Bytes of bets and sheets that are kept at most.
_MOST_BYTES = 4 * 2**30
# Nats; what is certain has infinitely many.
_MOST_SHOWN = 1000.0
_BYTES_PER_CLAIM = 8 * (len(kernels.SHARES) + 7)


class Comparison:
    """A sheet of measurements, and what it proves at a level of evidence.

    Attributes
    ----------
    out, out_at, out_by
        Per objective and arm: whether it is ruled out; after which index, and by which arm (-1 while it is not, and if
        it breaks a limit).
    limits
        What is proven of the limits of all arms.
    decided
        Per objective: the answer, or None.
    tied
        Per objective: the arms that a finite benchmark has found exactly equal, when that is the answer.
    """

    def __init__(self, problem: Problem, level: float, least: float = 0.0) -> None:
        design = problem.design
        assert design is not None
        self.problem, self.level, self.size = problem, level, design.size or 0
        arms, objectives = problem.shape
        self._check_memory()
        self.measures = _measures(problem, least)
        metrics = len(problem.metrics)
        rows = self.size or _FIRST_ROWS
        self.sheet = Sheet(np.full((rows, arms, metrics), np.nan), np.zeros((arms, metrics), np.int64))
        zones = np.where(self.measures.kinds[:objectives] == SIGN, 0.0, problem.eps[:objectives])
        layers = np.vstack([np.zeros(objectives), zones]) if zones.any() else np.zeros((1, objectives))
        self.bets = kernels.new_bets(layers, arms, arms)
        self.limits = PairedLimits(problem, self.measures, level)
        self.out = np.zeros((objectives, arms), np.bool_)
        self.out_at, self.out_by = np.full((2, objectives, arms), -1)
        self.decided: list[Decision | None] = [None] * objectives
        self.tied: list[tuple[int, ...]] = [()] * objectives
        self._sums, self._told = np.zeros((arms, metrics)), np.zeros((arms, metrics), np.int64)
        self._fresh: set[int] = set()

    def _check_memory(self) -> None:
        arms, objectives = self.problem.shape
        claims, cells = 2 * objectives * arms * arms, self.size * arms * len(self.problem.metrics)
        if claims * _BYTES_PER_CLAIM + 8 * cells > _MOST_BYTES:
            raise InputError(
                "arms",
                f"{arms:,} arms, {objectives:,} objectives and {self.size:,} items take more than 4 GiB of memory: "
                f"{_BYTES_PER_CLAIM} bytes per pair of arms and objective, and 8 per measurement; begin with fewer",
            )

    @property
    def until(self) -> npt.NDArray[np.int64]:
        """Up to which index each arm has been read, per metric. Shape (K, metrics)."""
        return self.sheet.until

    @property
    def is_wins(self) -> Truths:
        """Which objectives count wins. Shape (M,)."""
        return np.asarray(self.measures.kinds[: len(self.decided)] == SIGN)

    def tell(self, index: int, arm: int, rewards: Sequence[float]) -> None:
        """Enter oriented rewards: NaN for what may still come, or what stands for what never will."""
        self._make_room(index)
        for m, reward in enumerate(rewards):
            if not math.isnan(reward) and math.isnan(self.sheet.values[index, arm, m]):
                self.sheet.values[index, arm, m] = reward
                self._read_on(arm, m)

    def at(self, index: int, arm: int) -> FloatArray:
        """Return what was told of an arm at an index: NaN for what may still come."""
        return self.sheet.values[index, arm] if index < len(self.sheet.values) else np.full(self.until.shape[1], np.nan)

    def _make_room(self, index: int) -> None:
        values = self.sheet.values
        if index >= len(values):
            more = np.full((max(len(values), index + 1 - len(values)), *values.shape[1:]), np.nan)
            self.sheet = self.sheet._replace(values=np.concatenate([values, more]))

    def _read_on(self, arm: int, m: int) -> None:
        """Go past everything that has come of an arm in a metric."""
        column, until = self.sheet.values[:, arm, m], int(self.sheet.until[arm, m])
        while until < len(column) and not math.isnan(column[until]):
            if math.isfinite(column[until]):
                self._sums[arm, m] += column[until]
                self._told[arm, m] += 1
            until += 1
            self._fresh.add(arm)
        self.sheet.until[arm, m] = until

    def look(self, pull: int, at: float | None = None) -> bool:
        """Weigh what was told since the last look; return whether something was decided, or somebody ruled out."""
        closed, news = self.closed(), False
        for arm in sorted(self._fresh):
            news |= kernels.advance(self.sheet, self.measures, self.bets, arm, closed, self.level)
            news |= self.limits.advance(self.sheet, arm)
            news |= self.size > 0 and bool((self.until[arm] == self.size).any())  # nothing more is to come of it
        self._fresh.clear()
        return news and self.settle(pull, at)

    def settle(self, pull: int, at: float | None = None) -> bool:
        """Rule arms out and decide, as far as the evidence goes; return whether anything is new."""
        if self.size and len(self.limits):
            self.limits.settle_exactly(self.sheet)
        return any([self._settle(m, pull, at) for m in range(len(self.decided))])  # noqa: C419 - every one of them

    def fill(self, values: FloatArray) -> None:
        """Put oriented rewards of all arms in their places, as if nothing had been read yet beyond what was."""
        self.sheet = self.sheet._replace(values=np.ascontiguousarray(values))

    def arrays(self) -> tuple[Sheet, Measures, Bets, IntArray, Bets]:
        """Return what the kernels of a race work on."""
        return self.sheet, self.measures, self.bets, self.limits.what, self.limits.claims

    def closed(self) -> npt.NDArray[np.uint8]:
        """Return of which arms nothing more is claimed: who is out, and all where it is decided. Shape (M, K)."""
        decided = np.array([one is not None for one in self.decided])
        # Who may win must go on to beat those that others have beaten.
        over = (self.out & ~self.is_wins[:, None]) | self.limits.broken | decided[:, None]
        return np.asarray(over.astype(np.uint8))

    def _settle(self, m: int, pull: int, at: float | None) -> bool:
        """Rule arms out of an objective, and decide it, as far as the evidence goes."""
        if self.decided[m] is not None:
            return False
        found, arm = self._bar(m), -1
        if self.is_wins[m]:
            found |= self._rule_out(m, 0)
            arm = self._beats_all(self.bets.top[0, m], ~self.limits.broken)
        else:
            found |= self._rule_out(m, 1)
            left = np.flatnonzero(~self.out[m])
            if len(left) == 1 and self.limits.kept[left[0]]:
                arm = int(left[0])
            elif len(self.limits) or self.bets.margins[-1, m] > 0:
                arm = self._beats_all(self.bets.top[-1, m], ~self.out[m])
            if arm < 0 and self._is_exhausted(m, left):
                arm, self.tied[m] = int(left[0]), tuple(left.tolist())
        if arm < 0 and len(self.limits) and self.limits.broken.all():
            arm = NOBODY
        if arm != -1:
            self.decided[m] = Decision(arm, pull, at, self._evidence_for(m, arm))
        return found or arm != -1

    def _bar(self, m: int) -> bool:
        """Rule out who breaks a limit; return whether anybody was."""
        barred = np.flatnonzero(self.limits.broken & ~self.out[m]).tolist()
        for i in barred:
            self.out[m, i], self.out_at[m, i] = True, self.limits.out_at(i)
        return len(barred) > 0

    def _rule_out(self, m: int, spared: int) -> bool:
        """Rule out who is beaten by one that keeps every limit, the clearest first, but for the last ones.

        Return whether anybody was.
        """
        top = np.where(self.limits.strictly_kept[:, None], self.bets.top[0, m], 0.0)
        best = np.where(self.out[m], -np.inf, top.max(axis=0))
        beaten = [i for i in np.argsort(-best, kind="stable").tolist() if best[i] > self.level]
        for i in beaten[: int((~self.out[m]).sum()) - spared]:
            by = int(top[:, i].argmax())
            self.out[m, i], self.out_by[m, i], self.out_at[m, i] = True, by, self.bets.read[0, m, by, i]
        return bool(beaten)

    def _beats_all(self, top: FloatArray, rivals: Truths) -> int:
        """Return the arm that keeps every limit and beats every other one of these, -1 if there is none."""
        weakest = np.where(np.eye(len(top), dtype=bool) | ~rivals, np.inf, top).min(axis=1)
        weakest[~(rivals & self.limits.kept)] = -np.inf
        arm = int(weakest.argmax())
        return arm if weakest[arm] > self.level else -1

    def _is_exhausted(self, m: int, left: IntArray) -> bool:
        """Whether every item was measured for all arms left, and nothing of it is missing: they are exactly equal."""
        if not self.size or not len(left) or (self.until[left, m] < self.size).any():
            return False
        if not self.limits.kept[left].all():
            return False
        return bool(np.isfinite(self.sheet.values[:, left, m]).all())

    def is_over(self, m: int) -> bool:
        """Whether nothing more can be learned of an objective: it is decided, or nobody can be any more."""
        return not self.open_for(m).any()

    def open_for(self, m: int) -> Truths:
        """Return which arms are to be measured for an objective."""
        if self.decided[m] is not None:
            return np.zeros(len(self.out[m]), np.bool_)
        if not self.is_wins[m]:
            return np.asarray(~self.out[m])
        beats, broken = self.bets.top[0, m] > self.level, self.limits.broken
        candidates = ~(beats & self.limits.strictly_kept[:, None]).any(axis=0) & ~broken
        # Who is beaten goes on for as long as somebody who may win has not beaten it.
        rivals = (candidates[:, None] & ~beats).any(axis=0) & ~broken
        return np.asarray(candidates | rivals) if candidates.any() else candidates

    def open_arms(self) -> Truths:
        """Return which arms are to be measured for some objective. Shape (K,)."""
        found: Truths = np.any([self.open_for(m) for m in range(len(self.decided))], axis=0)
        return found | self.limits.needed_for(found)

    def means(self) -> FloatArray:
        """Return the means of what has been read, oriented; NaN where there is nothing. Shape (K, metrics)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self._sums / np.where(self._told > 0, self._told, np.nan))

    def leaders(self) -> IntArray:
        """Return who looks best in every objective, of those left that seem to keep every limit. Shape (M,)."""
        return np.array([self._leader(m) for m in range(len(self.decided))], np.intp)

    def _leader(self, m: int) -> int:
        decision = self.decided[m]
        if decision is not None and decision.arm >= 0:
            return decision.arm
        left = ~self.out[m] if not self.out[m].all() else np.ones(len(self.out[m]), np.bool_)
        if len(self.limits):
            fit = left & self.limits.look_fit(self.means())
            left = fit if fit.any() else left
        if self.is_wins[m]:
            ahead = self.bets.total[0, m] + np.where(np.eye(len(self.out[m])), np.inf, 0.0)
            return int(np.where(left, ahead.min(axis=1), -np.inf).argmax())
        return int(np.where(left, self._means_in_common(m, left), -np.inf).argmax())

    def _means_in_common(self, m: int, arms: Truths) -> FloatArray:
        """Return the means of what all these arms have been read on, minus infinity where there is nothing of one.

        Where there is nothing in common yet, all that there is counts.
        """
        until, values = int(self.until[arms, m].min()), self.sheet.values[:, :, m]
        sums, told = self._sums[:, m].copy(), self._told[:, m].copy()
        if until:
            for i in np.flatnonzero(arms & (self.until[:, m] > until)).tolist():
                ahead = values[until : self.until[i, m], i]
                there = np.isfinite(ahead)
                sums[i], told[i] = sums[i] - ahead[there].sum(), told[i] - there.sum()
        return np.asarray(np.where(told > 0, sums / np.maximum(told, 1), -np.inf))

    def leads(self, m: int) -> bool:
        """Whether the leader's mean is above all others that are not out."""
        arm = self._leader(m)
        if self.is_wins[m]:
            return bool(not self.out[m, arm] and (np.delete(self.bets.total[0, m, arm], arm) > 0).all())
        left = ~self.out[m]
        left[arm] = True
        means = np.where(left, self._means_in_common(m, left), -np.inf)
        return bool(math.isfinite(means[arm]) and (means[arm] > np.delete(means, arm)).all())

    def evidence(self) -> FloatArray:
        """Return the evidence of every objective: that of its leader against the rival that is hardest to beat."""
        return np.array([self._evidence_for(m, self._leader(m)) for m in range(len(self.decided))])

    def _evidence_for(self, m: int, arm: int) -> float:
        """Return the evidence for an arm, in nats; of what is certain, no more than a number that can be shown."""
        decision, most = self.decided[m], max(_MOST_SHOWN, 2.0 * self.level)
        if decision is not None:
            return decision.evidence or 0.0
        if arm < 0:
            return min(float(self.limits.least_broken()), most)
        others = np.arange(len(self.out[m])) != arm
        rivals = others & ~(self.limits.broken if self.is_wins[m] else self.out[m])
        if len(self.limits):
            most = max(min(most, float(self.limits.least_kept(arm))), 0.0)
        if not rivals.any():  # the last one left
            beaten = self.bets.top[0, m].max(axis=0)[others & ~self.limits.broken]
            return min(float(beaten.min(initial=math.inf)), most)
        layer = 0 if self.is_wins[m] else len(self.bets.margins) - 1
        now, top = self.bets.now[layer, m, arm, rivals], self.bets.top[layer, m, arm, rivals]
        return min(max(float(np.where(top > self.level, top, now).min()), 0.0), most)

    def differences(self, m: int, b: int, i: int) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return by how much arm b was better than i, what never came being the worst for b, and at which indices."""
        until = int(min(self.until[b, m], self.until[i, m]))
        x, y = self.sheet.values[:until, b, m], self.sheet.values[:until, i, m]
        there = (x < np.inf) & (y < np.inf)
        if self.measures.kinds[m] == SIGN:
            band = self.measures.band[m]
            with np.errstate(invalid="ignore"):
                wins = np.where(np.isfinite(x) & np.isfinite(y), (x - y > band) * 1.0 - (y - x > band), -1.0)
            return wins[there], np.flatnonzero(there)
        low, high = self.measures.low[m], self.measures.low[m] + self.measures.width[m]
        x, y = np.where(x == -np.inf, low, x)[there], np.where(y == -np.inf, high, y)[there]
        return x - y, np.flatnonzero(there)

    def known_differences(self, m: int, b: int, i: int) -> FloatArray:
        """Return by how much arm b was better than i where both were measured; with wins, the signs of that."""
        until = int(min(self.until[b, m], self.until[i, m]))
        x, y = self.sheet.values[:until, b, m], self.sheet.values[:until, i, m]
        there = np.isfinite(x) & np.isfinite(y)
        apart, band = x[there] - y[there], self.measures.band[m]
        return np.asarray((apart > band) * 1.0 - (apart < -band) if self.measures.kinds[m] == SIGN else apart)

    def rewards(self, m: int, arm: int, stand_in: float) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return what was read of an arm, with something in place of what never came, and at which indices."""
        column = self.sheet.values[: int(self.until[arm, m]), arm, m]
        there = column < np.inf
        return np.where(column == -np.inf, stand_in, column)[there], np.flatnonzero(there)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was measured, and who is out, in arrays: the rest follows from it."""
        rows = len(self.sheet.values) if self.size else int(self._last_row())
        return {
            "values": self.sheet.values[:rows],
            "out": self.out,
            "out_at": self.out_at,
            "out_by": self.out_by,
            "tied": np.array([[i in tied for i in range(self.problem.shape[0])] for tied in self.tied]),
        }

    def _last_row(self) -> int:
        known = np.flatnonzero(~np.isnan(self.sheet.values).all(axis=(1, 2)))
        return int(known[-1]) + 1 if len(known) else 0

    def restore(self, state: dict[str, npt.NDArray[Any]], decided: Sequence[Decision | None]) -> None:
        """Take over what :meth:`state` returned; ValueError or KeyError if it cannot have."""
        values = state["values"]
        if values.ndim != 3 or values.shape[1:] != self.sheet.values.shape[1:] or values.dtype != np.float64:
            raise ValueError("sheet: not of these arms and objectives")
        for arm in range(values.shape[1]):
            for index in np.flatnonzero(~np.isnan(values[:, arm]).all(axis=1)).tolist():
                self.tell(index, arm, values[index, arm].tolist())
        self.look(0)
        self.out, self.out_at, self.out_by = (state[name].copy() for name in ("out", "out_at", "out_by"))
        self.tied = [tuple(np.flatnonzero(row).tolist()) for row in state["tied"]]
        self.decided = list(decided)


def _measures(problem: Problem, least: float) -> Measures:
    """Return what is known of every metric, for the kernels."""
    metrics = problem.metrics
    low, width = problem.ranges
    return Measures(
        kinds=np.array([_kind(one) for one in metrics], np.int64),
        low=low.copy(),
        width=np.array([1.0 if one.family.counts_wins else width[m] for m, one in enumerate(metrics)]),
        band=np.array([one.eps if one.family.counts_wins else 0.0 for one in metrics]),
        least=np.array([least if one.family.hides_extremes else 0.0 for one in metrics]),
        sd=np.ascontiguousarray(problem.sd.T),
        size=np.array([problem.design.size or 0 if problem.design is not None else 0]),
    )


def _kind(metric: Objective) -> int:
    """Return how the differences of a metric are weighed."""
    family = metric.family
    if family.counts_wins:
        return SIGN
    if math.isfinite(family.range[0]):
        return BETS
    return SCALE if family.known_noise else SCATTER
