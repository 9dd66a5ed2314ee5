"""The engine: the one place where an experiment happens.

It owns what was observed (in the arrays the kernels read), the sampling rule's memory, who takes part, and what is
decided. A session, a live experiment and a simulation pull by pull are an engine with something around it; compiled
trials are loops over the same kernel functions.

Every reward told counts as evidence at once. What the sampling rule sees, and which objectives it still works for,
depend on *complete* pulls only, those of which every metric was told or will not come: otherwise one metric of a pull
could steer which arms are asked for before another one of the same pull is told (docs/guarantee.md). As long as no pull
is told in parts, the two are the same and kept once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.engine.evidence import Evidence
from mobai.engine.family_check import FamilyCheck
from mobai.engine.sampling_view import SamplingView
from mobai.engine.verdict import Verdict
from mobai.errors import InputError
from mobai.kernels.evidence import Scoring
from mobai.kernels.health import HealthArrays
from mobai.kernels.observations import BROKEN
from mobai.problem import FloatArray, Problem
from mobai.problem.problem import frozen
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.stopping import Decision, StoppingRule
from mobai.rules.stopping.glr import RosterMonitor
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.differences import Differences, difference_intervals
from mobai.theory.forecast import Remaining, remaining_samples, remaining_with_limits
from mobai.theory.intervals import IntervalLevels, Intervals, confidence_intervals
from mobai.theory.observations import Moment, Observations


class Told(NamedTuple):
    """Rewards of one pull, NaN where one is missing; whether they are the first ones of that pull.

    ``complete`` has all its rewards (NaN for those that will not come) once nothing of it is waited for, else None.
    """

    arm: int
    rewards: Sequence[float] | FloatArray
    first: bool
    complete: Sequence[float] | FloatArray | None


class Engine:
    """An experiment under way.

    Parameters
    ----------
    problem
        The arms and objectives of the start.
    rule, stopping
        How arms are chosen, and when objectives are decided.
    focus_log_inv_delta
        A log(1/delta): the sampling rule works only for objectives that are not decided at that delta. None for all.
    log_inv_delta
        The only log(1/delta) at which decisions will be asked for; None if any may be.
    bars_broken
        Whether arms that break a limit, at the only delta or that of ``focus``, are asked for no more.

    Attributes
    ----------
    problem
        The arms there are now, retired ones included.
    sampling
        What the sampling rule sees: complete pulls of the arms that take part, with pending pulls counted.
    past
        Decisions that were opened again because arms came or went (with ``log_inv_delta`` only).
    """

    def __init__(
        self,
        problem: Problem,
        rule: SamplingRule,
        stopping: StoppingRule,
        *,
        focus_log_inv_delta: float | None = None,
        log_inv_delta: float | None = None,
        bars_broken: bool = True,
    ) -> None:
        settle_at = log_inv_delta if focus_log_inv_delta is None else focus_log_inv_delta
        self._settle_at = None if settle_at is None else stopping.level(problem, settle_at)
        self.problem, self.rule, self.stopping = problem, rule, stopping
        self._evidence = Evidence(problem, stopping, log_inv_delta, self._settle_at)
        # Of complete pulls; another object from the first pull on that is told in parts.
        self._complete = self._evidence
        self.past: list[tuple[str, Decision]] = []
        # Levels belong to the initial arms; later ones pay for themselves.
        self._at_start, self._focus, self._only = problem, focus_log_inv_delta, log_inv_delta
        self._bars_broken, self._barred = bars_broken, np.zeros(problem.shape[0], np.bool_)
        self.sampling = SamplingView(problem)
        self._check = FamilyCheck(problem)
        self._memory = rule.init(problem)

    @property
    def observations(self) -> Observations:
        """Every reward told, of every arm."""
        return self._evidence.observations

    @property
    def memory(self) -> Any:
        """What the sampling rule carries from choice to choice."""
        return self._memory

    @property
    def told(self) -> int:
        """How many pulls have been answered."""
        return self.observations.told

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Which arms take part. Shape (K,)."""
        return self.observations.active

    def choose(self, rng: np.random.Generator) -> int:
        """Return the arm that the sampling rule would ask for next; only its memory changes."""
        arm, self._memory = self.choice(rng)
        return arm

    def choice(self, rng: np.random.Generator) -> tuple[int, Any]:
        """Return the arm that the sampling rule would ask for next, and what it would remember then."""
        free = np.flatnonzero(self.active & ~self._barred).tolist() if self._barred.any() else None
        if free is not None and len(free) < 2:
            if not free:
                raise InputError("arm: every arm breaks a limit, and there is none to ask for")
            return int(free[0]), self._memory
        chosen = self.rule.choose(self.sampling.problem, self._memory, self.sampling.observations, rng)
        if not isinstance(chosen, tuple) or len(chosen) != 2:
            raise InputError(f"rule: choose of {self.rule.name} must return an arm and the new memory, not {chosen!r}")
        (row, memory), arms = chosen, self.sampling.arms
        if not isinstance(row, int | np.integer) or not 0 <= row < len(arms):
            raise InputError(f"rule: {self.rule.name} chose {row!r}, which is none of its {len(arms)} arms")
        return arms[row], memory

    def forget_choices(self) -> None:
        """Reset the rule's memory to that of ``init``, because the choices in the journal were not its own."""
        self._memory = self.rule.init(self.sampling.problem)

    def ask(self, arm: int) -> None:
        """Count an arm as asked for: pending until it is told or dropped."""
        if not self.active[arm]:
            raise InputError(f"arm {self.problem.arms[arm]!r} was retired and cannot be asked for")
        self.ask_again(arm)

    def ask_again(self, arm: int) -> None:
        """Count a dropped pull as asked for after all; its arm may have been retired."""
        self.observations.ask(arm)
        self.sampling.ask(arm)

    def drop(self, arm: int) -> None:
        """Count a pending pull as never asked for."""
        self.observations.ask(arm, -1)
        self.sampling.ask(arm, -1)

    def tell(self, arm: int, rewards: Sequence[float] | FloatArray, at: float | None = None) -> None:
        """Take in the rewards of a pull that was asked for, in the objectives' own units; NaN where one is missing."""
        self.tell_all([Told(arm, rewards, first=True, complete=rewards)], at)

    def tell_all(self, told: Sequence[Told], at: float | None = None) -> Moment:
        """Take in the rewards of several pulls as one moment: the evidence is looked at once, after the last.

        Return what was taken in.
        """
        if self._complete is self._evidence and any(one.complete is None for one in told):
            self._complete = copy.deepcopy(self._evidence)
        taken_in = moment = self._moment([(one.arm, one.rewards, one.first) for one in told])
        looked = self._evidence.tell_all(moment, at)
        self._check.tell_all(moment, self.observations)
        if not all(one.first and one.complete is one.rewards for one in told):
            whole = [(one.arm, one.complete, True) for one in told if one.complete is not None]
            if not whole:
                return taken_in
            moment = self._moment(whole)
        self.sampling.tell_all(moment)
        if self._complete is not self._evidence:
            looked = self._complete.tell_all(moment, at)
        if looked:
            self._set_focus()
        return taken_in

    # How many pulls make :meth:`fold` worth while; two, once it is compiled.
    worth_folding = 64

    @property
    def can_fold(self) -> bool:
        """Whether :meth:`fold` can be used: every pull was complete, nothing is limited, the default threshold."""
        alone = self._complete is self._evidence and not self.problem.guardrails
        return alone and isinstance(self._evidence.monitor, RosterMonitor)

    def fold(self, told: Sequence[Told], at: Sequence[float | None], health: HealthArrays) -> None:
        """Take in pulls, each complete and a moment of its own: the same as telling one after the other, and faster.

        ``health`` is what follows the rewards to see whether something is wrong.
        """
        rows, done = self._moment([(one.arm, one.rewards, True) for one in told]), 0
        while done < len(told):
            done, found = self._evidence.fold(self._check.repeats, health, rows, at, done)
            if found:
                self._set_focus()
        self.sampling.tell_each(rows)

    def _moment(self, pulls: Sequence[tuple[int, Any, bool]]) -> Moment:
        """Return arms, rewards in the objectives' own units, and which are the first of their pull, as a moment."""
        arms, rewards, first = zip(*pulls, strict=True) if pulls else ((), (), ())
        oriented = np.array(rewards, np.float64).reshape(-1, len(self.problem.signs)) * self.problem.signs
        return Moment(np.array(arms, np.int64), oriented, np.array(first, np.bool_))

    def add_arm(self, problem: Problem, at: float | None = None) -> None:
        """Let one more arm take part, the last one of ``problem``; objectives decided before are open again."""
        self._evidence.changing  # noqa: B018 - refuses stopping rules that are not proven for it
        if not getattr(self.stopping, "reserve", 0.0) > 0:
            raise InputError("arm: the stopping rule has reserve=0, so no arm can be added; use GLR(reserve=0.1)")
        # What was decided is true of the arms there were.
        self._keep_past(range(problem.shape[1]))
        self.problem, self._barred = problem, np.append(self._barred, False)
        for evidence in self._both():
            evidence.add_arm(problem)
        self._check.add_arm()
        self._arms_changed(at)

    def retire_arm(self, arm: int, at: float | None = None) -> None:
        """Stop asking for an arm and look for the best of the others; decisions for other arms stand."""
        self._evidence.changing  # noqa: B018 - refuses stopping rules that are not proven for it
        if not self.active[arm]:
            raise InputError(f"arm {self.problem.arms[arm]!r} was retired before")
        if self.active.sum() == 2:
            raise InputError("arm: two arms are left, and none of them can be retired")
        if self.problem.arms[arm] in _baselines(self.problem):
            raise InputError(f"arm {self.problem.arms[arm]!r} is what others are compared with, and cannot be retired")
        self._keep_past(self._decided_for(self._evidence, arm))
        for evidence in self._both():
            evidence.retire_arm(arm, self._decided_for(evidence, arm))
        self._arms_changed(at)

    def _decided_for(self, evidence: Evidence, arm: int) -> list[int]:
        """Return the objectives that were decided for an arm; with many deltas, any may have been."""
        if self._only is None:
            return list(range(self.problem.shape[1]))
        decisions = evidence.monitor.decisions(self._only)
        return [m for m, decision in enumerate(decisions) if decision is not None and decision.arm == arm]

    def _keep_past(self, objectives: Iterable[int]) -> None:
        """Put what is decided on these objectives, at the only delta, among what is past."""
        if self._only is not None:
            decisions = self._evidence.monitor.decisions(self._only)
            names = self.problem.objective_names
            self.past += [(names[m], found) for m in objectives if (found := decisions[m]) is not None]

    def _both(self) -> list[Evidence]:
        """Return the evidence of all rewards and that of complete pulls, once if they are the same."""
        return [self._evidence] if self._complete is self._evidence else [self._evidence, self._complete]

    def _arms_changed(self, at: float | None) -> None:
        """Start the rule for the arms that take part now, and look at the evidence among them."""
        self._enrol()
        for evidence in self._both():
            evidence.monitor.look(evidence.observations, at)
        self._set_focus()

    def stopped(self, log_inv_delta: float | None = None) -> bool:
        """Whether every objective has been decided at an error probability; much cheaper than a verdict."""
        return None not in self._evidence.monitor.decisions(self._log_inv_delta_asked(log_inv_delta))

    @property
    def settled(self) -> bool:
        """Whether complete pulls alone decide every objective at the only delta."""
        return None not in self._complete.monitor.decisions(self._known_delta())

    def winner(self, m: int) -> int:
        """Return the arm that complete pulls decide an objective for at the only delta; -1 for none."""
        decision = self._complete.monitor.decisions(self._known_delta())[m]
        return -1 if decision is None else decision.arm

    def verdict(self, log_inv_delta: float | None = None) -> Verdict:
        """Return where the experiment stands at an error probability."""
        x = self._log_inv_delta_asked(log_inv_delta)
        return Verdict(
            problem=self.problem,
            log_inv_delta=x,
            leaders=tuple(self.observations.leaders.tolist()),
            leading=tuple(self.observations.leads(m) for m in range(self.problem.shape[1])),
            decisions=self._evidence.monitor.decisions(x),
            evidence=frozen(self._evidence.monitor.evidence(self.observations)),
            threshold=frozen(np.full(self.problem.shape[1], self.stopping.level(self._at_start, x))),
            pulls=self.told,
            proven=self.stopping.certified,
            doubts=self._check.doubts(self.problem, self.observations),
            limits=self.limits(x),
            reaches=partial(self.stopping.reached, self._at_start),
        )

    def still(self) -> Engine:
        """Return a copy that stays as it is, to be looked at while this one goes on."""
        made = copy.copy(self)
        made._evidence, made._check = copy.deepcopy(self._evidence), copy.deepcopy(self._check)
        made._complete = made._evidence if self._complete is self._evidence else copy.deepcopy(self._complete)
        made.sampling, made.past = copy.deepcopy(self.sampling), list(self.past)
        return made

    def level(self, log_inv_delta: float) -> float:
        """Return the evidence that delta demands of every objective."""
        return self.stopping.level(self._at_start, log_inv_delta)

    def scoring(self) -> Scoring | None:
        """Return how pairs are scored at this moment; None for stopping rules that do not score them."""
        made = getattr(self._evidence.monitor, "scoring", None)
        found: Scoring | None = None if made is None else made(self.told)
        return found

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
        return self._intervals(x)._replace(certified=not any(self._check.doubts(self.problem, self.observations)))

    def _intervals(self, x: float) -> Intervals:
        if not getattr(self.stopping, "fits_intervals", False):
            return confidence_intervals(self.problem, self.observations, IntervalLevels.alone(x, *self._at_start.shape))
        levels = self._evidence.changing.interval_levels(x)
        decided = tuple(None if one is None else one.arm for one in self._evidence.monitor.decisions(x))
        if self.problem.guardrails:
            # An arm decided on is the best of those that keep every limit, not of all.
            decided = (None,) * len(decided)
        return confidence_intervals(self.problem, self.observations, levels, decided)

    def differences(self, log_inv_delta: float | None = None) -> Differences | None:
        """Return by how much every arm differs from the baseline, metric by metric; None without a baseline."""
        if self.problem.baseline is None:
            return None
        x = self._log_inv_delta_asked(log_inv_delta)
        decided = tuple(None if one is None else one.arm for one in self._evidence.monitor.decisions(x))
        # With guardrails, an arm decided on is the best of those that keep every limit, not of all.
        fitted = (None,) * len(decided) if self.problem.guardrails else decided
        level, surcharges = self.stopping.level(self._at_start, x), self._evidence.changing.surcharges
        return difference_intervals(self.problem, self.observations, level, surcharges, fitted)

    def limits(self, log_inv_delta: float | None = None) -> tuple[tuple[int, ...], ...]:
        """Return what can be said of each limit, arm by arm: 0 nothing, 1 it is kept, 2 it is broken."""
        if not self.problem.guardrails:
            return ()
        statuses = self._evidence.limit_statuses(self.level(self._log_inv_delta_asked(log_inv_delta)))
        return tuple(map(tuple, statuses.tolist()))

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
            return remaining_with_limits(self.observations, undecided, self.active & ~self._barred, level, scoring)
        return remaining_samples(self.observations, undecided, level, scoring)

    def state(self) -> dict[str, Any]:
        """Return everything that cannot be computed from the rest, in arrays: for an engine with one delta only."""
        parts: dict[str, Observations | FamilyCheck] = {"observed": self.observations, "check": self._check}
        parts["sampled"] = self.sampling.observations
        if self._complete is not self._evidence:
            parts["complete"] = self._complete.observations
        arrays = {f"{name}_{key}": array for name, part in parts.items() for key, array in part.state().items()}
        memory = {f"memory_{n}": array for n, array in enumerate(self._memory)}
        return {**arrays, **memory}

    @property
    def decisions_of_complete_pulls(self) -> tuple[Decision | None, ...] | None:
        """What complete pulls alone decide at the only delta; None if all pulls are complete."""
        return None if self._complete is self._evidence else self._complete.monitor.decisions(self._known_delta())

    def restore(
        self,
        problem: Problem,
        state: dict[str, Any],
        decisions: Sequence[Decision | None],
        of_complete_pulls: Sequence[Decision | None] | None,
        past: Sequence[Any],
    ) -> None:
        """Take over the state of an engine with the same start; ValueError or KeyError if it cannot be."""
        self.problem = problem
        self._evidence.restore(problem, _part_of(state, "observed_"), decisions)
        if of_complete_pulls is not None:
            self._complete = Evidence(self._at_start, self.stopping, self._only, self._settle_at)
            self._complete.restore(problem, _part_of(state, "complete_"), of_complete_pulls)
        self._barred = self._broken()
        self._enrol()
        self.sampling.observations.restore(_part_of(state, "sampled_"))
        self._check.restore(_part_of(state, "check_"))
        self.past = [(name, Decision(*one)) for name, one in past]
        memory = [state[f"memory_{n}"] for n in range(len(self._memory))]
        self._memory = type(self._memory)(*memory) if memory else self._memory

    def _set_focus(self) -> None:
        """Turn sampling away from what complete pulls decide, and from arms that they show to break a limit."""
        broken = self._broken()
        if not np.array_equal(broken, self._barred):
            self._barred = broken
            self._enrol()
        if self.problem.guardrails:
            self.sampling.observations.settle(self._complete.observations.arrays.limits.settled[:, self.sampling.arms])
        if self._focus is not None:
            decisions = self._complete.monitor.decisions(self._focus)
            self.sampling.observations.focus_on([decision is None for decision in decisions])

    def _broken(self) -> npt.NDArray[np.bool_]:
        """Return which arms are to be barred: those that break a limit, but for those that others are compared with."""
        settled = self._complete.observations.arrays.limits.settled
        spared = np.isin(self.problem.arms, list(_baselines(self.problem)))
        broken: npt.NDArray[np.bool_] = (settled == BROKEN + 1).any(axis=0) & ~spared & self._bars_broken
        return broken

    def _enrol(self) -> None:
        """Take note of who takes part, and start the rule for them: two arms at least."""
        taking_part = self.active & ~self._barred
        for arm in np.flatnonzero(self.active & self._barred)[: max(2 - int(taking_part.sum()), 0)].tolist():
            taking_part[arm] = True
        self.sampling.enrol(self.problem, taking_part)
        self._memory = self.rule.init(self.sampling.problem)

    def _known_delta(self) -> float:
        assert self._only is not None
        return self._only

    def _log_inv_delta_asked(self, log_inv_delta: float | None) -> float:
        """Return the log(1/delta) to answer at."""
        x = self._only if log_inv_delta is None else log_inv_delta
        if self._only is not None and x != self._only:
            raise InputError(f"log_inv_delta must be {self._only:g}, the one it was started with, not {x!r}")
        return resolve_log_inv_delta(log_inv_delta=x)


def _baselines(problem: Problem) -> set[str]:
    """Return the arms that others are compared with."""
    compared = {guardrail.of for guardrail in problem.guardrails} | {problem.baseline}
    return {arm for arm in compared if arm is not None}


def _part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the entries whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
