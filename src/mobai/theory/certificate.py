"""What every certificate states: a value known from below and from above."""

from __future__ import annotations

import math

_ROUNDING = 1e-12


def relative_gap(lower: float, upper: float) -> float:
    """Return how far apart two bounds on a nonnegative value are; infinite unless both are numbers in order.

    Examples
    --------
    >>> relative_gap(0.75, 1.0), relative_gap(0.0, 0.0), relative_gap(0.0, math.inf), relative_gap(2.0, 1.0)
    (0.25, 0.0, inf, inf)
    """
    if lower == upper == 0:
        return 0.0
    if not (0 < upper < math.inf and 0 <= lower <= upper * (1 + _ROUNDING)):
        return math.inf
    return max(0.0, (upper - lower) / upper)
