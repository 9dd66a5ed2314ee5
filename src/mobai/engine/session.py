"""A session: one experiment in this process, an engine with a count of pending asks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mobai.engine.engine import Engine
from mobai.engine.verdict import Verdict
from mobai.errors import InputError
from mobai.problem import Arm, Problem
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.differences import Differences
from mobai.theory.intervals import Intervals
from mobai.theory.observations import Observations


class Session:
    """One experiment under way. Made by :meth:`mobai.Policy.start`."""

    def __init__(self, engine: Engine, rng: np.random.Generator) -> None:
        self.engine, self._rng = engine, rng
        self._pending: list[deque[int]] = [deque() for _ in range(engine.problem.shape[0])]  # asks of each arm

    @property
    def problem(self) -> Problem:
        """The arms, the objectives and the known noise."""
        return self.engine.problem

    @property
    def observations(self) -> Observations:
        """What has been observed so far."""
        return self.engine.observations

    def ask(self) -> Arm:
        """Return the arm to pull next, index and name. Several asks may be pending at once."""
        arm = self.engine.choose(self._rng)
        number = self.engine.ask(arm)
        self._pending[arm].append(number)
        return self.problem.arm(arm).of_ask(number)

    def tell(self, arm: int | str, rewards: npt.ArrayLike | Mapping[str, float | None]) -> None:
        """Report the rewards of one pending pull of ``arm``; pending pulls may be told in any order.

        The arm is best given as :meth:`ask` returned it: it knows which ask it is of, and evidence reads rewards in the
        order of asking. Given by its index or its name, it stands for the oldest pending ask of that arm. The rewards
        are one number per objective, NaN where it is missing, or a mapping from the names of those that are there.
        """
        index = self.problem.arm_index(arm)
        values = self.problem.check_rewards(rewards)
        pending = self._pending[index]
        if not pending:
            raise InputError(f"arm {index} ({self.problem.arms[index]}) has no pending ask; ask before telling")
        number = getattr(arm, "ask", None)
        if number is None:
            number = pending[0]
        elif number not in pending:
            raise InputError(f"arm {index} ({self.problem.arms[index]}): this ask was told before")
        pending.remove(number)
        self.engine.tell(number, values)

    def record(self, arm: int | str, rewards: npt.ArrayLike | Mapping[str, float | None]) -> None:
        """Report the rewards of a pull that nobody asked for, given by the arm's index or name.

        The guarantee is the same, as long as which arm came next did not depend on its outcome.
        """
        index, values = self.problem.arm_index(arm), self.problem.check_rewards(rewards)
        self.engine.tell(self.engine.ask(index), values)

    def __str__(self) -> str:
        """Say what is running, and how far it is."""
        arms, objectives = self.problem.shape
        pending = sum(map(len, self._pending))
        return f"session: {arms} arms, {objectives} objectives, {self.observations.told:,} pulls, {pending:,} pending"

    def verdict(
        self, delta: float | None = None, *, log_inv_delta: float | None = None, contention: bool = False
    ) -> Verdict:
        """Return where the experiment stands at this error probability; any may be asked for at any time.

        With ``contention`` it also says who may still be best, which takes longer.
        """
        return self.engine.verdict(resolve_log_inv_delta(delta, log_inv_delta), contention=contention)

    def intervals(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> Intervals:
        """Return a confidence interval for every mean, K x M, in the objectives' own units.

        With probability at least 1 - delta all of them hold at all times. With the default stopping rule they are
        fitted to what is decided at this delta, so that they never contradict the verdict.
        """
        return self.engine.intervals(resolve_log_inv_delta(delta, log_inv_delta))

    def differences(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> Differences:
        """Return by how much every arm differs from the problem's baseline, metric by metric, in their own units.

        With probability at least 1 - delta all of these intervals hold at all times, together with the decisions.
        """
        found = self.engine.differences(resolve_log_inv_delta(delta, log_inv_delta))
        if found is None:
            raise InputError("baseline", "the problem has none; state it with Problem(..., baseline=ARM)")
        return found
