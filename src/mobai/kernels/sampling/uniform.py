"""Uniform sampling as a compiled loop."""

from __future__ import annotations

from mobai.kernels.compiled import entry
from mobai.kernels.seen import Seen
from mobai.kernels.trial import Ladder, World, climb, draw, least_asked, total


@entry
def play(seen: Seen, world: World, ladder: Ladder, pulls: int) -> int:
    """Pull the least asked arm, so often or until everything is decided or a block of noise is used up."""
    arm, before = -1, total(seen.asked)
    for k in range(pulls + 1):
        if climb(ladder, seen, arm, before + k) or k == pulls:
            break
        arm = least_asked(seen.asked)
        if not draw(world, seen, arm):
            break
    return arm
