"""What a sampling rule is, the opening that all of them share, and how a compiled one chooses a single arm."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mobai.kernels.seen import Seen
from mobai.kernels.trial import Ladder, World
from mobai.problem import FloatArray, Problem, Tally
from mobai.theory.glr import lay_out


@runtime_checkable
class SamplingRule(Protocol):
    """Chooses the next arm from what has been seen. It never sees delta, a clock, storage or the true means.

    ``memory`` is whatever the rule needs to carry from one choice to the next; it is handed back untouched, and a rule
    must not change it in place.
    """

    @property
    def name(self) -> str:
        """The name in the catalogue, on the command line and in results."""
        ...

    def init(self, problem: Problem) -> Any:
        """Give the memory to start with."""
        ...

    def choose(self, problem: Problem, memory: Any, tally: Tally, rng: np.random.Generator) -> tuple[int, Any]:
        """Give the arm to ask for next, and the new memory."""
        ...


class Game(NamedTuple):
    """What a compiled rule plays: what was seen, a world to pull arms of, levels to climb, coins, how many pulls."""

    seen: Seen
    world: World
    ladder: Ladder
    coins: FloatArray
    pulls: int


class CompiledRule:
    """A rule whose choices are made in compiled code: whole trials in one loop, or a single arm at a time.

    ``init`` gives a tuple of arrays, and ``play`` changes them in place while it pulls arms of a simulated world. To
    choose for somebody else's world it plays one pull in a world that has no rewards to give. Each choice after the
    opening takes one random number between zero and one, used or not.
    """

    def init(self, problem: Problem) -> tuple[Any, ...]:
        """Give the memory to start with."""
        raise NotImplementedError

    def play(self, memory: tuple[Any, ...], game: Game) -> int:
        """Choose and pull, at most so often, until the ladder is climbed or a block of noise is used up."""
        raise NotImplementedError

    def choose(
        self, problem: Problem, memory: tuple[Any, ...], tally: Tally, rng: np.random.Generator
    ) -> tuple[int, tuple[Any, ...]]:
        """Give the arm to ask for next, and the new memory."""
        first = opening(tally)
        if first is not None:
            return first, memory
        fresh = type(memory)(*(array.copy() for array in memory))
        nowhere, no_levels = _nothing(problem.shape)
        game = Game(self.see(problem, tally), nowhere, no_levels, np.array([rng.random()]), 1)
        arm = self.play(fresh, game)
        return int(arm), fresh

    def see(self, problem: Problem, tally: Tally) -> Seen:
        """Lay the tally out for the kernels. Open asks count as answered, which spreads later questions."""
        return lay_out(problem, tally, waiting=True)


def opening(tally: Tally) -> int | None:
    """Give an arm to ask for until every arm has answered once in every objective, then None.

    An arm that has not, and owes no answer, comes first. When all of them owe answers, every K-th ask goes to one of
    them, in case the answer is lost, and the others to the arm that owes the fewest: with no rewards at all that goes
    round, and a newcomer is not asked again and again before it has answered.
    """
    if tally.complete:
        return None
    owed, silent = tally.asked - tally.answered, tally.pulls.min(axis=1) == 0
    candidates = silent & (owed == 0)
    if not candidates.any():
        candidates = silent if tally.asked.sum() % len(owed) == 0 else owed == owed.min()
    rows = np.flatnonzero(candidates)
    return int(rows[tally.asked[rows].argmin()])


@lru_cache(maxsize=64)
def _nothing(shape: tuple[int, int]) -> tuple[World, Ladder]:
    """Give a world without rewards and a ladder without levels. Nothing ever writes to them."""
    arms, objectives = shape
    numbers = np.zeros((0, objectives), np.int64)
    cube = np.zeros((0, objectives, 0), np.int64)
    world = World(np.zeros((arms, 0, objectives)), np.zeros(arms, np.int64))
    none = np.zeros(0, np.int64)
    ladder = Ladder(none, none, np.zeros((0, 0)), numbers, cube, cube, cube, none, cube, focus=False)
    return world, ladder
