"""A family of rewards of your own: what is known of a metric that no built-in family says.

python examples/own_family.py

A family names a *model*, which weighs its evidence: `normal` (known standard deviation), `student` (Gaussian, unknown
variance per arm), `shared` (Gaussian, one unknown variance for all arms) or `unit` (a known range). The guarantee holds
if its rewards are of that kind. Copy this file, and change what differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mobai import Family, Instance, Objective, Policy, Verdict


@dataclass(frozen=True)
class Stars(Family):
    """Ratings of one to five whole stars: a range, and nothing between its points."""

    word: ClassVar[str] = "stars"  # its name in files, and in messages
    model: ClassVar[str] = "unit"

    @property
    def range(self) -> tuple[float, float]:
        """Where rewards lie."""
        return 1.0, 5.0

    def accepts(self, reward: float) -> bool:
        """Whether this can be a reward."""
        return reward in (1.0, 2.0, 3.0, 4.0, 5.0)

    @property
    def accepted(self) -> str:
        """What a reward must be, in words."""
        return "a whole number of stars from 1 to 5"


def main() -> Verdict:
    """Find the better of two films."""
    films = Instance([[3.2], [3.9]], arms=["Nightfall", "Daybreak"], objectives=[Objective("rating", "max", Stars())])
    session, rng = Policy().start(films.problem, seed=1), np.random.default_rng(1)
    chances = {0: [0.10, 0.20, 0.25, 0.30, 0.15], 1: [0.05, 0.05, 0.15, 0.45, 0.30]}
    while not session.verdict(delta=0.05).stopped:
        film = session.ask()
        session.tell(film, [rng.choice([1, 2, 3, 4, 5], p=chances[film])])
    print(session.verdict(delta=0.05))  # noqa: T201
    return session.verdict(delta=0.05)


if __name__ == "__main__":
    main()
