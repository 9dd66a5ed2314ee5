"""The engine of items and rounds: arms are measured on the same things, and compared by their differences.

It is an engine like any other: what differs is where the evidence comes from (:class:`Comparison`), which arm is next
(:class:`Slots`), and the bounds that follow from differences. Means and counts are those of all that was told.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.engine.asks import LEFT_OUT, Resolution
from mobai.engine.contention import Contention
from mobai.engine.difference_check import doubt_of_differences
from mobai.engine.engine import Engine, part_of_state
from mobai.engine.explain import Pair
from mobai.engine.paired_bounds import leads_at_most, least_difference, mean_bounds
from mobai.engine.paired_forecast import remaining_on_items
from mobai.engine.slots import Slots
from mobai.engine.standings import HardItem, Standing
from mobai.errors import InputError
from mobai.kernels.evidence.paired import SCALE, SCATTER, SIGN, WORST
from mobai.kernels.stats.observations import BROKEN, LimitState
from mobai.problem import FloatArray, IntArray, Problem
from mobai.rules.sampling.race import Race
from mobai.rules.stopping import Decision, Paired
from mobai.rules.stopping.comparison import Comparison
from mobai.rules.stopping.paired import PairedMonitor
from mobai.theory.differences import Differences, lifts_of
from mobai.theory.forecast import Remaining
from mobai.theory.intervals import Intervals, fit_to_limits

# Of how many arms left every pair is bounded.
_MOST_COMPARED = 3
# Nats; what is certain has infinitely many.
_MOST_SHOWN = 1000.0


class PairedEngine(Engine):
    """An experiment under way whose arms are measured on the same things.

    ``ahead`` is how many indices arms may be ahead of the first one at which something is still to come; None for any
    number.
    """

    def __init__(
        self, problem: Problem, stopping: Paired, *, log_inv_delta: float, rare: float | None = None, ahead: int | None
    ) -> None:
        super().__init__(problem, Race(), stopping, log_inv_delta=log_inv_delta, rare=rare, follows_health=True)
        assert problem.design is not None
        self.design, self._interval_share = problem.design, stopping.interval_share
        self.slots = Slots(problem.design, problem.shape[0], ahead)
        # Differences are in the metrics' own units; with wins they are shares, and more of them is better.
        wins = [one.family.counts_wins for one in problem.metrics]
        self._signs = np.where(wins, 1.0, problem.signs)
        self._stands_for_none = [WORST if one.has_worst else LEFT_OUT for one in problem.metrics]

    @property
    def comparison(self) -> Comparison:
        """What was measured at every index, and what that proves."""
        monitor = self._evidence.monitor
        assert isinstance(monitor, PairedMonitor)
        return monitor.comparison

    def choice(self, rng: np.random.Generator) -> tuple[int, Any]:
        found = self._next_arms()
        if not found:
            raise InputError(self._why_nobody())
        return found[int(rng.integers(len(found)))], ()

    def _next_arms(self) -> list[int]:
        return self.slots.candidates(self.comparison.open_arms(), self._until())

    def _until(self) -> Any:
        """Return up to which index everything has come of each arm, in objectives that are open."""
        still_open = [m for m, one in enumerate(self.comparison.decided) if one is None]
        if not still_open:
            return self.comparison.until.max(axis=1)
        guarded = range(self.problem.shape[1], len(self.problem.metrics))
        return self.comparison.until[:, [*still_open, *guarded]].min(axis=1)

    def _why_nobody(self) -> str:
        if self.is_used_up:
            return self.why_used_up
        if not self.comparison.open_arms().any():
            return "everything is decided, and there is nothing left to measure"
        return "what was handed out must be answered first, so that no arm runs ahead of the others"

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left to be handed out though something is open: every item was, or nobody can win."""
        if all(one is not None for one in self.comparison.decided):
            return False
        size, arms = self.comparison.size, np.flatnonzero(self.comparison.open_arms()).tolist()
        return all(size > 0 and self.slots.begin_of(arm) >= size for arm in arms)

    @property
    def why_used_up(self) -> str:
        """Why nothing is left to be handed out."""
        names = zip(self.problem.objective_names, self.comparison.decided, strict=True)
        still_open = " and ".join(name for name, decision in names if decision is None)
        if self.comparison.open_arms().any():
            awaited = int(self.sampling.observations.arrays.pending.max(axis=0).sum())
            if awaited:
                return f"every item was handed out; {awaited:,} of them are to be answered"
            if self.comparison.is_wins.all():
                return f"every item was measured, and no arm beats every other one in {still_open}"
            return "every item was measured, and there is nothing left to hand out; what is missing counts as the worst"
        return f"every arm is beaten by another one in {still_open}: nobody wins, and there is nothing left to measure"

    def is_read(self, arm: int) -> bool:
        return bool(self.comparison.open_arms()[arm])

    def room(self) -> int | None:
        return self.slots.room(self.comparison.open_arms(), self._until())

    def place(self, number: int) -> int | None:
        return self.slots.place(number)[0]

    def ask(self, arm: int) -> int:
        self.slots.take(arm, self.comparison.open_arms())
        return super().ask(arm)

    def record(self, arm: int, *, more: bool = False) -> int:
        if self.asks.count >= len(self.slots):
            raise InputError("rows", f"what nobody asked for is none of {self.design.words}")
        return super().record(arm, more=more)

    def hear(self, outcomes: Sequence[Resolution], at: float | None = None) -> None:
        super().hear(outcomes, at)
        for number, values in outcomes:
            self._enter(number, values)
        self.comparison.look(self.asks.answered, at)

    def _enter(self, number: int, values: Sequence[float]) -> None:
        """Enter what came of an ask; one of which nothing ever will goes out again, where it can."""
        index, arm = self.slots.place(number)
        nothing = all(value == LEFT_OUT for value in values)
        if nothing and np.isnan(self.comparison.at(index, arm)).all() and self.slots.give_back(number):
            return
        if nothing and self.design.kind == "rounds":
            found = list(values)
        else:
            stand_ins = zip(values, self._stands_for_none, strict=True)
            found = [none if value == LEFT_OUT else value for value, none in stand_ins]
        signs = self.problem.signs.tolist()
        rewards = [value * sign if math.isfinite(value) else value for value, sign in zip(found, signs, strict=True)]
        self.comparison.tell(index, arm, rewards)

    def read_table(self, table: FloatArray) -> None:
        """Take in results that are already there, by index, arm and metric; NaN for what never came."""
        outcomes = []
        for index, row in enumerate(table):
            for arm, values in enumerate(row):
                self._enter_row(index, arm, values)
                if np.isfinite(values).any():
                    outcomes.append(Resolution(super().record(arm), values.tolist()))
        super().hear(outcomes)
        self.catch_up()
        self.comparison.look(self.asks.answered)

    def race_over(self, table: FloatArray) -> int:
        """Take in of a table only what a race would have measured, index by index; return how many measurements."""
        made = 0
        for index, row in enumerate(table):
            arms = np.flatnonzero(self.comparison.open_arms()).tolist()
            if not arms:
                break
            for arm in arms:
                self._enter_row(index, arm, row[arm])
                made += bool(np.isfinite(row[arm]).any())
            self.comparison.look(made)
        return made

    def _enter_row(self, index: int, arm: int, values: FloatArray) -> None:
        """Enter what is there of an arm at an index; what is not there will never come."""
        oriented = np.where(np.isnan(values), self._stands_for_none, values * self.problem.signs)
        self.comparison.tell(index, arm, oriented.tolist())

    def add_arm(self, problem: Problem, at: float | None = None) -> None:  # noqa: ARG002
        raise InputError(
            "arm", "arms cannot be added to items and rounds yet: begin another experiment with all of them"
        )

    def retire_arm(self, arm: int, at: float | None = None) -> None:  # noqa: ARG002
        raise InputError("arm", "arms of items and rounds take part until they are ruled out, and cannot be retired")

    @property
    def leaders(self) -> IntArray:
        return self.comparison.leaders()

    def leads(self, m: int) -> bool:
        return self.comparison.leads(m)

    def _is_held(self, m: int, x: float) -> bool:  # noqa: ARG002
        seen = self.comparison
        enough = float(seen.evidence()[m]) > seen.level
        return bool(seen.decided[m] is None and seen.measures.least[m] > 0 and enough)

    def _doubts(self, x: float) -> tuple[str | None, ...]:  # noqa: ARG002
        found = list(self._check.doubts(self.problem, self.observations))
        for m in range(self.problem.shape[1]):
            if found[m] is None and self.comparison.measures.kinds[m] in (SCALE, SCATTER):
                found[m] = doubt_of_differences(self.comparison, m)
        return tuple(found)

    def contention(self, log_inv_delta: float | None = None) -> tuple[Contention, ...]:  # noqa: ARG002
        return tuple(map(self._contention_of, range(self.problem.shape[1])))

    def _contention_of(self, m: int) -> Contention:
        seen, names, eps = self.comparison, self.problem.arms, float(self.problem.eps[m])
        out = seen.out[m].copy()
        decision = seen.decided[m]
        if decision is not None and self._decides_best(m) and not seen.tied[m]:
            out = np.arange(len(names)) != decision.arm
        left = np.flatnonzero(~out)
        within, apart = self._closeness(m, left)
        if decision is not None and not seen.is_wins[m]:
            within = min(math.inf if within is None else within, eps)
        return Contention(
            self.problem.objective_names[m],
            tuple(names[i] for i in left.tolist()),
            tuple(names[i] for i in np.flatnonzero(out).tolist()),
            within,
            apart,
        )

    def _closeness(self, m: int, left: IntArray) -> tuple[float | None, float | None]:
        """Return by how much the best can be above the leader, and above any arm left; None where that is not known."""
        seen, leader = self.comparison, int(self.comparison.leaders()[m])
        if seen.is_wins[m] or leader not in left:
            return None, None
        if len(left) == 1:
            return 0.0, 0.0
        if len(left) <= _MOST_COMPARED:
            most = np.maximum(leads_at_most(seen, m, left), 0.0).max(axis=1)
            return _known(most[np.flatnonzero(left == leader)[0]]), _known(most.max())
        others = [i for i in left.tolist() if i != leader]
        return _known(max(0.0, *(-least_difference(seen, m, leader, i, seen.level) for i in others))), None

    def plain_intervals(self) -> Intervals:
        """Return no intervals: those of a trace would take longer than all the rest."""
        shape = self.problem.shape[0], len(self.problem.metrics)
        return Intervals(
            np.full(shape, -np.inf), np.full(shape, np.inf), np.zeros(self.problem.shape[1], np.bool_), True
        )

    def _intervals(self, x: float) -> Intervals:
        found, seen = self.plain_intervals(), self.comparison
        arms, metrics = self.problem.shape[0], len(self.problem.metrics)
        level = math.log(4 * arms * metrics / self._interval_share) + x
        for m in range(metrics):
            if self.design.kind == "rounds" or seen.measures.kinds[m] == SIGN:
                continue
            for i in range(arms):
                ends = mean_bounds(seen, m, i, level)
                low, high = ends if self.problem.signs[m] > 0 else (-ends[1], -ends[0])
                found.lower[i, m], found.upper[i, m] = low + 0.0, high + 0.0
        return fit_to_limits(self.problem, found, self.limits(x))

    def limits(self, log_inv_delta: float | None = None) -> tuple[tuple[LimitState, ...], ...]:  # noqa: ARG002
        return tuple(tuple(map(LimitState, row)) for row in self.comparison.limits.statuses().tolist())

    def limit_evidence(self) -> FloatArray:
        return np.minimum(self.comparison.limits.evidence(), _MOST_SHOWN)

    @property
    def barred(self) -> npt.NDArray[np.bool_]:
        return self.comparison.limits.broken

    def differences(self, log_inv_delta: float | None = None) -> Differences | None:
        if self.problem.baseline is None:
            return None
        base = self.problem.arms.index(self.problem.baseline)
        table = self.differences_to([base] * len(self.problem.metrics), self.comparison.level + math.log(2))
        self._fit([base] * self.problem.shape[1], *table)
        flipped = self._signs < 0
        better, worse = np.where(flipped, table[1] < 0, table[0] > 0), np.where(flipped, table[0] > 0, table[1] < 0)
        for m, decision in enumerate(self.comparison.decided):
            if decision is not None and self._decides_best(m):
                # Of equal arms none is better than another one.
                best = np.isin(np.arange(len(worse)), self.comparison.tied[m] or [decision.arm])
                better[:, m] |= best & (not best[base])
                worse[:, m] |= ~best & best[base]
        verdicts = np.where(better, 1, np.where(worse, -1, 0)).astype(np.intp)
        x = self._log_inv_delta_asked(log_inv_delta)
        return Differences(base, *table, verdicts, *lifts_of(base, *table, self._intervals(x)))

    def differences_to(self, others: Sequence[int], level: float) -> tuple[FloatArray, FloatArray]:
        """Return between which numbers every arm's difference to another is, metric by metric, in its own units."""
        lower, upper = np.zeros((2, self.problem.shape[0], len(self.problem.metrics)))
        for m, other in enumerate(others):
            for i in range(self.problem.shape[0]):
                if i != other and not self._is_tied(m, i, other):
                    low = least_difference(self.comparison, m, i, other, level)
                    high = -least_difference(self.comparison, m, other, i, level)
                    lower[i, m], upper[i, m] = (low, high) if self._signs[m] > 0 else (-high, -low)
        return lower + 0.0, upper + 0.0

    def forecast(self, log_inv_delta: float | None = None) -> Remaining | None:  # noqa: ARG002
        return remaining_on_items(self.comparison)

    def pairs(self, x: float) -> tuple[Pair, ...]:  # noqa: ARG002
        """Return every rival of every objective's leader, the one that holds it up first."""
        seen, found = self.comparison, []
        for m, name in enumerate(self.problem.objective_names):
            leader, layer = int(seen.leaders()[m]), 0 if seen.is_wins[m] else len(seen.bets.margins) - 1
            for i, arm in enumerate(self.problem.arms):
                if i != leader:
                    values = seen.known_differences(m, leader, i)
                    gap = float(values.mean()) if len(values) else math.nan
                    broken = float(self.limit_evidence()[BROKEN, :, i].max(initial=-math.inf))
                    evidence = float(max(seen.bets.now[layer, m, leader, i], seen.bets.top[layer, m, leader, i]))
                    if seen.out[m, i] and seen.out_by[m, i] >= 0:
                        evidence = max(evidence, float(seen.bets.top[0, m, seen.out_by[m, i], i]))
                    names = name, self.problem.arms[leader], arm
                    found.append(Pair(*names, gap, min(evidence, _MOST_SHOWN), broken, seen.level))
        return tuple(sorted(found, key=lambda pair: pair.evidence))

    def standings(self) -> tuple[Standing, ...]:
        seen, problem = self.comparison, self.problem
        arms, objectives = problem.shape
        leaders = seen.leaders().tolist()
        level = math.log(2 * objectives * arms * (arms - 1) / self._interval_share) + self._known_delta()
        lower, upper = self.differences_to(leaders, level)
        self._fit(leaders, lower, upper)
        return tuple(
            Standing(
                problem.objective_names[m],
                problem.arms[i],
                int(seen.until[i, m]),
                int(seen.out_at[m, i]) if seen.out[m, i] else None,
                problem.arms[seen.out_by[m, i]] if seen.out_by[m, i] >= 0 else None,
                _known(self._mean_difference(m, i, leaders[m])),
                _known(lower[i, m]),
                _known(upper[i, m]),
            )
            for m in range(objectives)
            for i in range(arms)
        )

    def _fit(self, leaders: Sequence[int], lower: FloatArray, upper: FloatArray) -> None:
        """Use, in place and at no further price, that nobody is better than who beats it, or was decided to be best."""
        seen = self.comparison
        for m, leader in enumerate(leaders):
            decision = seen.decided[m]
            best = decision.arm if decision is not None and self._decides_best(m) else -1
            for i in range(len(lower)):
                behind = best == leader or (seen.out[m, i] and seen.out_by[m, i] == leader)
                ahead = i == best or (seen.out[m, leader] and seen.out_by[m, leader] == i)
                if i != leader and behind != ahead:
                    if (self._signs[m] > 0) == behind:
                        upper[i, m] = max(min(upper[i, m], 0.0), lower[i, m])
                    else:
                        lower[i, m] = min(max(lower[i, m], 0.0), upper[i, m])

    def _is_tied(self, m: int, one: int, other: int) -> bool:
        """Whether a finite benchmark has found two arms exactly equal, but for rounding."""
        return m < self.problem.shape[1] and {one, other} <= set(self.comparison.tied[m])

    def _decides_best(self, m: int) -> bool:
        """Whether who is decided on is the best of all: not within eps of it, nor the best that keeps the limits."""
        return self.problem.eps[m] == 0 and not self.problem.guardrails

    def _mean_difference(self, m: int, arm: int, other: int) -> float:
        """Return by how much an arm differs from another, on average, in the objective's own unit."""
        if arm == other or self._is_tied(m, arm, other):
            return 0.0
        values = self.comparison.known_differences(m, arm, other)
        return float(values.mean() * self._signs[m]) + 0.0 if len(values) else math.nan

    def hardest(self, count: int, item: Callable[[int], str | int]) -> tuple[HardItem, ...]:
        if self.design.kind == "rounds":
            return ()
        return tuple(one for m in range(self.problem.shape[1]) for one in self._hardest_of(m, count, item))

    def _hardest_of(self, m: int, count: int, item: Callable[[int], str | int]) -> list[HardItem]:
        seen, sign = self.comparison, float(self.problem.signs[m])
        leader = int(seen.leaders()[m])
        values = seen.sheet.values[: int(seen.until[leader, m]), :, m]
        known = np.where(np.isfinite(values), values, -np.inf)
        own = known[:, leader].copy()
        known[:, leader] = -np.inf
        rivals = known.argmax(axis=1) if len(known) else np.zeros(0, np.intp)
        best = known.max(axis=1, initial=-np.inf)
        there = np.isfinite(own) & np.isfinite(best)
        lost = np.where(there, np.where(there, best, 0.0) - np.where(there, own, 0.0), 0.0)
        places = [j for j in np.argsort(-lost, kind="stable")[:count].tolist() if lost[j] > 0]
        names = self.problem.objective_names[m], self.problem.arms
        return [
            HardItem(
                names[0], item(j), float(lost[j]), float(own[j]) * sign, names[1][rivals[j]], float(best[j]) * sign
            )
            for j in places
        ]

    def reason(self, arm: int) -> str:
        """Return why an arm is next."""
        index = self.slots.begin_of(arm) + 1
        return f"it takes part at index {index:,}, as do all arms that may still be best"

    def still(self) -> Engine:
        made = super().still()
        assert isinstance(made, PairedEngine)
        made.slots = copy.deepcopy(self.slots)
        return made

    def state(self) -> dict[str, Any]:
        parts = {"compared": self.comparison.state(), "slots": self.slots.state()}
        return {
            **super().state(),
            **{f"{name}_{key}": array for name, part in parts.items() for key, array in part.items()},
        }

    def _restore_evidence(self, state: dict[str, Any], decisions: Sequence[Decision | None]) -> None:
        self.slots.restore(part_of_state(state, "slots_"))
        self.observations.restore(part_of_state(state, "observed_"))
        self.comparison.restore(part_of_state(state, "compared_"), decisions)


def _known(difference: float) -> float | None:
    return float(difference) if math.isfinite(difference) else None
