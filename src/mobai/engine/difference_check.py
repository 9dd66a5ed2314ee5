"""Do differences visibly contradict that they are nearly Gaussian? What is looked for is that of single arms."""

from __future__ import annotations

import numpy as np

from mobai.engine.family_check import chance_of_shape, exceeds, repeats_too_often
from mobai.kernels.evidence.paired import SCALE
from mobai.problem import FloatArray
from mobai.rules.stopping.comparison import Comparison

_UNLIKELY = 1e-3
_FEWEST = 3


def doubt_of_differences(seen: Comparison, m: int) -> str | None:
    """Return what speaks against the family of an objective in the differences of its leader, or None.

    Repeats and scatter are looked at always, the shape of differences once the objective is decided.
    """
    arms, leader = seen.problem.arms, int(seen.leaders()[m])
    rivals = [i for i in range(len(arms)) if i != leader]
    for i in rivals:
        values, _ = seen.differences(m, leader, i)
        why = _doubt(seen, m, values, leader, i) if len(values) >= _FEWEST else None
        if why is not None:
            return f"the differences of {arms[leader]!r} and {arms[i]!r} {why}"
    return None


def _doubt(seen: Comparison, m: int, values: FloatArray, b: int, i: int) -> str | None:
    away = values - values.mean()
    scatter = float((away * away).sum())
    if seen.measures.kinds[m] == SCALE:
        most = float(seen.measures.sd[m, b] + seen.measures.sd[m, i])
        return (
            "scatter more than the sd stated allows; state a larger one"
            if exceeds(scatter / most**2, len(values) - 1)
            else None
        )
    steps = np.abs(np.diff(values))
    spread = np.sqrt(scatter / (len(values) - 1))
    equal = steps <= 1e-9 * spread
    if equal.all() or repeats_too_often(int(equal.sum()), int(((steps <= 0.5 * spread) & ~equal).sum())):
        return "repeat, more than rounding explains; begin a new experiment with bounded=LOW..HIGH, bernoulli or wins"
    if seen.decided[m] is not None and chance_of_shape(values) < _UNLIKELY / len(seen.problem.arms):
        return "are not bell-shaped (skewed, or with extremes); begin a new experiment with bounded=LOW..HIGH or wins"
    return None
