"""What a sampling rule is, the opening that all of them share, and how a compiled one chooses a single arm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mobai.kernels.trials.sampling.planning import PlanArrays
from mobai.kernels.trials.trial import Ladder, RewardBlocks, TrialArrays
from mobai.problem import FloatArray, Problem
from mobai.rules.stopping import Laddered, StoppingRule
from mobai.theory.observations import Observations
from mobai.theory.surrogate import no_bases
from mobai.theory.thresholds import no_prices


@runtime_checkable
class SamplingRule(Protocol):
    """Chooses the next arm from what has been observed. It never sees delta, a clock, storage or the true means.

    ``memory`` is whatever the rule needs to carry from one choice to the next; it is handed back untouched, and a rule
    must not change it in place.
    """

    @property
    def name(self) -> str:
        """The name in the catalogue, on the command line and in results."""
        ...

    @property
    def stopping(self) -> StoppingRule | None:
        """The stopping rule of a rule that stops by itself; None if any will do."""
        ...

    def init(self, problem: Problem) -> Any:
        """Return the memory to start with."""
        ...

    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        """Return the arm to ask for next, and the new memory."""
        ...


@runtime_checkable
class GivesReasons(SamplingRule, Protocol):
    """A sampling rule that can say why it wants an arm."""

    def reason(self, problem: Problem, observations: Observations) -> str:
        """Return why it chooses as it does now, once every arm has answered, in words."""
        ...


class CompiledRule:
    """A rule whose choices are made in compiled code: whole trials in one loop, or a single arm at a time.

    ``init`` returns a tuple of arrays, and ``play`` changes them in place while it pulls arms of a simulated trial. To
    choose a single arm it plays one pull of a trial that has no rewards to give. Each choice after the opening takes
    one random number between zero and one, used or not.
    """

    @property
    def stopping(self) -> StoppingRule | None:
        """The stopping rule of a rule that stops by itself; None if any will do."""
        return None

    def init(self, problem: Problem) -> Any:
        """Return the memory to start with: a (named) tuple of arrays."""
        raise NotImplementedError

    def play(self, memory: Any, trial: TrialArrays) -> int:
        """Choose and pull, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

        Ends early when every stopping rule has stopped at every delta, or a block of rewards is used up.
        Changes the memory and the arrays of the trial in place.
        """
        raise NotImplementedError

    def can_follow(self, stoppings: Sequence[StoppingRule]) -> bool:
        """Whether whole trials can be compiled with these stopping rules."""
        return all(isinstance(stopping, Laddered) for stopping in stoppings)

    def choose(
        self, problem: Problem, memory: Any, observations: Observations, rng: np.random.Generator
    ) -> tuple[int, Any]:
        """Return the arm to ask for next, and the new memory."""
        first = opening(observations)
        if first is not None:
            return first, memory
        fresh = type(memory)(*(array.copy() for array in memory))
        blocks, ladder = _nothing((problem.shape[0], len(problem.metrics)))
        arm = self.play(fresh, TrialArrays(observations.arrays, blocks, ladder, np.array([rng.random()]), 1))
        return int(arm), fresh


def new_plan(problem: Problem, weights: FloatArray | None = None, programs: int = 1) -> PlanArrays:
    """Return the memory of a rule that plans with programs: even weights unless given, and nothing solved yet."""
    arms, objectives = problem.shape[0], problem.shape[1] + len(problem.guardrails)
    even, every = np.full(arms, 1 / arms), (programs, 1)
    codes, shares = no_bases(arms, objectives)
    return PlanArrays(
        weights=even if weights is None else weights,
        gaps=np.zeros((objectives, arms)),
        best=np.full(objectives, -1),
        codes=np.tile(codes, every),
        shares=np.tile(shares, every),
        due=np.zeros(1),
    )


def opening(observations: Observations) -> int | None:
    """Return an arm to ask for until every arm has answered once in every objective, then None.

    An arm that has never answered, and has no pending pull, comes first. When all of them have one, every K-th ask goes
    to one of them, in case the answer is lost, and the others to the arm with the fewest pending pulls: with no rewards
    at all that goes round, and a newcomer is not asked again and again before it has answered. Where every arm has
    answered, but one without some metric, all arms are asked in turn until it comes.
    """
    if observations.complete:
        return None
    asked, answered = observations.asked, observations.answered
    pending, silent = asked - answered, answered == 0
    candidates = silent & (pending == 0)
    if not silent.any():
        candidates = np.ones(len(asked), np.bool_)
    elif not candidates.any():
        candidates = silent if asked.sum() % len(pending) == 0 else pending == pending.min()
    rows = np.flatnonzero(candidates)
    return int(rows[asked[rows].argmin()])


@lru_cache(maxsize=64)
def _nothing(shape: tuple[int, int]) -> tuple[RewardBlocks, Ladder]:
    """Return a trial without rewards and a ladder without levels. Nothing ever writes to them."""
    arms, objectives = shape
    numbers = np.zeros((0, objectives), np.int64)
    cube = np.zeros((0, objectives, 0), np.int64)
    blocks = RewardBlocks(np.zeros((arms, 0, objectives)), np.zeros(arms, np.int64))
    none = np.zeros(0, np.int64)
    ladder = Ladder(
        kinds=none,
        sticky=none,
        levels=np.zeros((0, 0)),
        prices=no_prices(arms),
        rungs=numbers,
        blocks=cube,
        decided=cube,
        answers=cube,
        finished=none,
        asked=cube,
        focus=False,
    )
    return blocks, ladder
