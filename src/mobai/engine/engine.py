"""The engine: the one place where an experiment happens.

It owns what was observed (in the arrays the kernels read), the sampling rule's memory, who takes part, and what is
decided. A session, a live experiment and a simulation pull by pull are an engine with something around it; compiled
trials are loops over the same kernel functions.

Observations are kept twice: every reward told, for the evidence; and what the sampling rule sees, which are the arms
that take part, with pending pulls counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.engine.family_check import FamilyCheck
from mobai.engine.sampling_view import SamplingView
from mobai.engine.verdict import Verdict
from mobai.errors import InputError
from mobai.problem import FloatArray, Problem
from mobai.problem.problem import frozen
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.stopping import ArmsMayChange, Decision, StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.forecast import Remaining, remaining_samples
from mobai.theory.intervals import Intervals, confidence_intervals
from mobai.theory.observations import Observations
from mobai.theory.thresholds import union_level


class Told(NamedTuple):
    """Rewards of one pull, NaN where one is missing; whether they are the first ones of that pull."""

    arm: int
    rewards: Sequence[float] | FloatArray
    first: bool = True


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

    Attributes
    ----------
    problem
        The arms there are now, retired ones included.
    observations
        Every reward told, of every arm.
    sampling
        What the sampling rule sees: the arms that take part, with pending pulls counted.
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
    ) -> None:
        if focus_log_inv_delta is not None:
            stopping.level(problem, focus_log_inv_delta)
        self.problem, self.rule, self.stopping = problem, rule, stopping
        self.observations = Observations(problem)
        self.past: list[tuple[str, Decision]] = []
        # Levels belong to the initial arms; later ones pay for themselves.
        self._at_start, self._focus, self._only = problem, focus_log_inv_delta, log_inv_delta
        self._monitor = stopping.start(problem, log_inv_delta)
        self.sampling = SamplingView(problem)
        self._check = FamilyCheck(problem)
        self._memory = rule.init(problem)

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
        chosen = self.rule.choose(self.sampling.problem, self._memory, self.sampling.observations, rng)
        if not isinstance(chosen, tuple) or len(chosen) != 2:
            raise InputError(f"rule: choose of {self.rule.name} must return an arm and the new memory, not {chosen!r}")
        (row, self._memory), arms = chosen, self.sampling.arms
        if not isinstance(row, int | np.integer) or not 0 <= row < len(arms):
            raise InputError(f"rule: {self.rule.name} chose {row!r}, which is none of its {len(arms)} arms")
        return arms[row]

    def forget_choices(self) -> None:
        """Reset the rule's memory to that of ``init``, because the choices in the journal were not its own."""
        self._memory = self.rule.init(self.sampling.problem)

    def ask(self, arm: int) -> None:
        """Count an arm as asked for: pending until it is told or dropped."""
        if not self.sampling.has(arm):
            raise InputError(f"arm {self.problem.arms[arm]!r} was retired and cannot be asked for")
        self.ask_again(arm)

    def ask_again(self, arm: int) -> None:
        """Count a dropped pull as asked for after all; its arm may have been retired."""
        self.observations.ask(arm)
        self.sampling.ask(arm)

    def drop(self, arm: int) -> None:
        """Count a pending pull as never asked for."""
        self.observations.drop(arm)
        self.sampling.drop(arm)

    def tell(self, arm: int, rewards: Sequence[float] | FloatArray, at: float | None = None) -> None:
        """Take in the rewards of a pull that was asked for, in the objectives' own units; NaN where one is missing."""
        self.tell_all([Told(arm, rewards)], at)

    def tell_all(self, told: Sequence[Told], at: float | None = None) -> None:
        """Take in the rewards of several pulls as one moment: the evidence is looked at once, after the last."""
        if not told:
            return
        rewards = np.array([one.rewards for one in told], np.float64) * self.problem.signs
        arms, first = [one.arm for one in told], [one.first for one in told]
        self.observations.tell_all(arms, rewards, first)
        self.sampling.tell_all(arms, rewards, first)
        self._check.tell_all(arms, rewards)
        self._look(at)

    def add_arm(self, problem: Problem, at: float | None = None) -> None:
        """Let one more arm take part, the last one of ``problem``; objectives decided before are open again."""
        monitor = self._changing_monitor()
        if not getattr(self.stopping, "reserve", 0.0) > 0:
            raise InputError("arm: the stopping rule has reserve=0, so no arm can be added; use GLR(reserve=0.1)")
        self.problem = problem
        self.observations = self.observations.with_arms(problem, [*range(problem.shape[0] - 1), -1])
        self._check.add_arm()
        self._enrol(monitor)
        # What was decided is true of the arms there were.
        for m in range(problem.shape[1]):
            self._reopen(monitor, m)
        self._look(at)

    def retire_arm(self, arm: int, at: float | None = None) -> None:
        """Stop asking for an arm and look for the best of the others; decisions for other arms stand."""
        monitor = self._changing_monitor()
        if not self.sampling.has(arm):
            raise InputError(f"arm {self.problem.arms[arm]!r} was retired before")
        if len(self.sampling.arms) == 2:
            raise InputError("arm: two arms are left, and none of them can be retired")
        self.observations.retire(arm)
        self._enrol(monitor)
        for m, decision in enumerate(self._decisions()):
            # With many deltas, any of them may have been decided for this arm.
            if self._only is None or (decision is not None and decision.arm == arm):
                self._reopen(monitor, m)
        self._look(at)

    def stopped(self, log_inv_delta: float | None = None) -> bool:
        """Whether every objective has been decided at an error probability; much cheaper than a verdict."""
        return None not in self._monitor.decisions(self._log_inv_delta_asked(log_inv_delta))

    def verdict(self, log_inv_delta: float | None = None) -> Verdict:
        """Return where the experiment stands at an error probability."""
        x = self._log_inv_delta_asked(log_inv_delta)
        return Verdict(
            problem=self.problem,
            log_inv_delta=x,
            leaders=tuple(self.observations.arrays.leaders.tolist()),
            decisions=self._monitor.decisions(x),
            evidence=frozen(self._monitor.evidence(self.observations)),
            threshold=frozen(np.full(self.problem.shape[1], self.stopping.level(self._at_start, x))),
            pulls=self.told,
            proven=self.stopping.certified,
            doubts=self._check.doubts(self.problem, self.observations),
            reaches=partial(self.stopping.reached, self._at_start),
        )

    def intervals(self, log_inv_delta: float | None = None) -> Intervals:
        """Return a confidence interval for every mean, K x M, in the objectives' own units.

        With probability at least 1 - delta all of them hold at all times. Where the decisions are right on the same
        event, the intervals are fitted to them, so that they never contradict the verdict.
        """
        x = self._log_inv_delta_asked(log_inv_delta)
        if not getattr(self.stopping, "fits_intervals", False):
            return confidence_intervals(self.problem, self.observations, union_level(x, *self._at_start.shape))
        assert isinstance(self._monitor, ArmsMayChange)
        levels = self.stopping.level(self._at_start, x) + self._monitor.surcharges
        decided = tuple(None if one is None else one.arm for one in self._monitor.decisions(x))
        return confidence_intervals(self.problem, self.observations, levels, decided)

    def forecast(self, log_inv_delta: float | None = None) -> Remaining | None:
        """Forecast how many more samples the undecided objectives take; None before every arm has been observed."""
        x = self._log_inv_delta_asked(log_inv_delta)
        undecided = np.array([decision is None for decision in self._monitor.decisions(x)])
        extra = self._monitor.surcharges if isinstance(self._monitor, ArmsMayChange) else 0.0
        return remaining_samples(self.observations, undecided, self.stopping.level(self._at_start, x) + extra)

    def state(self) -> dict[str, Any]:
        """Return everything that cannot be computed from the rest, in arrays: for an engine with one delta only."""
        views = (
            ("observed", self.observations),
            ("sampled", self.sampling.observations),
            ("check", self._check),
        )
        arrays = {f"{name}_{key}": array for name, view in views for key, array in view.state().items()}
        memory = {f"memory_{n}": array for n, array in enumerate(self._memory)}
        return {**arrays, **memory}

    def restore(
        self, problem: Problem, state: dict[str, Any], decisions: Sequence[Decision | None], past: Sequence[Any]
    ) -> None:
        """Take over the state of an engine with the same start; ValueError or KeyError if it cannot be."""
        monitor = self._changing_monitor()
        views = {name: _part_of(state, f"{name}_") for name in ("observed", "sampled", "check")}
        self.problem, self.observations = problem, Observations(problem)
        self.observations.restore(views["observed"])
        self._enrol(monitor)
        self.sampling.observations.restore(views["sampled"])
        self._check.restore(views["check"])
        for m, decision in enumerate(decisions):
            if decision is not None:
                monitor.restore(m, decision)
        self.past = [(name, Decision(*one)) for name, one in past]
        memory = [state[f"memory_{n}"] for n in range(len(self._memory))]
        self._memory = type(self._memory)(*memory) if memory else self._memory

    def _look(self, at: float | None) -> None:
        """Look at the evidence, and turn sampling away from what is decided."""
        if self._monitor.look(self.observations, at):
            self._set_focus()

    def _set_focus(self) -> None:
        if self._focus is not None:
            self.sampling.observations.focus_on([decision is None for decision in self._monitor.decisions(self._focus)])

    def _enrol(self, monitor: ArmsMayChange) -> None:
        """Take note of who takes part, and start the rule for them."""
        self.sampling.enrol(self.problem, self.active)
        self._memory = self.rule.init(self.sampling.problem)
        monitor.arms_changed(self.observations)

    def _reopen(self, monitor: ArmsMayChange, m: int) -> None:
        """Open an objective again, and put what was decided on it, if anything was, among what is past."""
        decision = self._decisions()[m]
        if decision is not None:
            self.past.append((self.problem.objective_names[m], decision))
        monitor.reopen(m)
        self._set_focus()

    def _decisions(self) -> tuple[Decision | None, ...]:
        """Return what is decided at the only delta, nothing if there are many."""
        return (None,) * self.problem.shape[1] if self._only is None else self._monitor.decisions(self._only)

    def _changing_monitor(self) -> ArmsMayChange:
        if not isinstance(self._monitor, ArmsMayChange):
            raise InputError(f"stopping: {self.stopping.name} is not proven for arms that come and go")
        return self._monitor

    def _log_inv_delta_asked(self, log_inv_delta: float | None) -> float:
        """Return the log(1/delta) to answer at."""
        x = self._only if log_inv_delta is None else log_inv_delta
        if self._only is not None and x != self._only:
            raise InputError(f"log_inv_delta must be {self._only:g}, the one it was started with, not {x!r}")
        return resolve_log_inv_delta(log_inv_delta=x)


def _part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the entries whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
