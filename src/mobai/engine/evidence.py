"""What has been observed, and what is decided from it: observations with the monitor that looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mobai.errors import InputError
from mobai.kernels.jit.compiled import is_compiled
from mobai.kernels.programs.dense import Integers
from mobai.kernels.stats.health import HealthArrays
from mobai.kernels.stats.repeats import RepeatArrays
from mobai.kernels.trials.engine import follow
from mobai.problem import IntArray, Problem
from mobai.rules.stopping import ArmsMayChange, Decision, StoppingRule
from mobai.rules.stopping.glr import RosterMonitor
from mobai.rules.stopping.paired import PairedMonitor
from mobai.theory.observations import Moment, Observations

# How many looks, at least, take longer one by one than compiling what follows them.
WORTH_COMPILING = 64


class Evidence:
    """Observations of all arms, and the monitor that looks at them after every moment.

    ``settle_at`` is the level at which limits are settled for good; None if they are asked for at any delta. ``least``
    is how many rewards the arms in question must have where extremes could hide.
    """

    def __init__(
        self,
        problem: Problem,
        stopping: StoppingRule,
        log_inv_delta: float | None,
        settle_at: float | None = None,
        least: float = 0.0,
    ) -> None:
        self.observations = Observations(problem)
        self.monitor = stopping.start(problem, log_inv_delta)
        if least and isinstance(self.monitor, RosterMonitor | PairedMonitor):
            extremes = [objective.family.hides_extremes for objective in problem.objectives]
            self.monitor.least[:] = np.where(extremes, least, 0.0)
        self._stopping = stopping.name
        self._settle_at = settle_at if len(self.observations.arrays.limits.what) else None

    def tell_all(self, rows: Moment, ends: Integers, at: float | None = None) -> bool:
        """Add rewards, in moments that end at these rows, and look once; whether something may have been decided."""
        self.observations.tell_in_order(rows, ends)
        settled = self._settle()
        return self.monitor.look(self.observations, at) or settled

    def can_follow(self, looks: int) -> bool:
        """Whether a number of looks is worth :meth:`follow`: a few if it is compiled, more if it is yet to be."""
        return isinstance(self.monitor, RosterMonitor) and looks >= (2 if is_compiled(follow) else WORTH_COMPILING)

    def follow(
        self, repeats: RepeatArrays, health: HealthArrays, rows: Moment, looks: Integers, begin: int
    ) -> tuple[int, bool]:
        """Add rows, each a moment of its own, and look at these numbers of rows, until something is found.

        Return how many looks were taken with those before ``begin``, and whether something is to be entered.
        """
        assert isinstance(self.monitor, RosterMonitor)
        return self.monitor.follow(self.observations, repeats, health, rows, looks, begin)

    def enter(self, at: float | None) -> None:
        """Enter what :meth:`follow` found."""
        assert isinstance(self.monitor, RosterMonitor)
        self.monitor.enter(self.observations, at)

    def limit_statuses(self, level: float) -> IntArray:
        """Return the :class:`LimitState` of each arm and limit at a level."""
        return self.observations.limit_statuses(level, self.changing.surcharges)

    def _settle(self) -> bool:
        """Let what can be said of limits stand; return whether there is something new."""
        return self._settle_at is not None and self.observations.settle(self.limit_statuses(self._settle_at))

    @property
    def changing(self) -> ArmsMayChange:
        """The monitor of arms that come and go; InputError if the stopping rule is not proven for them."""
        if not isinstance(self.monitor, ArmsMayChange):
            raise InputError("stopping", f"{self._stopping} is not proven for arms that come and go")
        return self.monitor

    def is_held(self, objective: int, level: float) -> bool:
        """Whether an objective has the evidence, and too few rewards to rule out rare extremes."""
        return isinstance(self.monitor, RosterMonitor) and self.monitor.lacks(self.observations, objective, level)

    def add_arm(self, problem: Problem) -> None:
        """Make room for one more arm, the last one of ``problem``; every objective is undecided again."""
        self.observations = self.observations.with_arms(problem, [*range(problem.shape[0] - 1), -1])
        self.changing.arms_changed(self.observations)
        for m in range(problem.shape[1]):
            self.changing.reopen(m)

    def retire_arm(self, arm: int, reopened: Sequence[int]) -> None:
        """Let an arm lead no more; these objectives are undecided again."""
        self.observations.retire(arm)
        self.changing.arms_changed(self.observations)
        for m in reopened:
            self.changing.reopen(m)

    def restore(self, problem: Problem, state: dict[str, Any], decisions: Sequence[Decision | None]) -> None:
        """Take over observations, and decisions at the only delta; ValueError or KeyError if they cannot be."""
        self.observations = Observations(problem)
        self.observations.restore(state)
        self.changing.arms_changed(self.observations)
        for m, decision in enumerate(decisions):
            if decision is not None:
                self.changing.restore(m, decision)
