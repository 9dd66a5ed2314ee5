"""Bets on limits: arms that are measured on the same things, one index after the other. Proofs: docs/guarantee.md.

That the mean of an arm is above (or below) a number is a bet on what it is less than the upper end of its range (or on
what it is above the lower end, the other way round), and that an arm is not worse than its baseline by more than a
margin one on their differences: the bets are those of pairs.
"""

from __future__ import annotations

import math

from mobai.kernels.evidence.paired import Bets, Measures, Sheet, difference, take
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.programs.dense import Cube, IntMatrix
from mobai.kernels.stats.observations import BASELINE, BROKEN, METRIC, SIDE

# What is claimed of an arm and a limit, beside that it is kept, within its tolerance, or broken.
STRICTLY_KEPT = 2


@entry
def advance_limits(sheet: Sheet, measures: Measures, limits: IntMatrix, claims: Bets, arm: int, level: float) -> bool:
    """Read on in every claim about the limits of an arm; return whether one exceeds the level now; in place."""
    return read_limits(sheet, measures, limits, claims, arm, level)


@kernel
def read_limits(sheet: Sheet, measures: Measures, limits: IntMatrix, claims: Bets, arm: int, level: float) -> bool:
    """Do the work of :func:`advance_limits`; of an arm that others are compared with, theirs are read on, too."""
    found = False
    for c in range(limits.shape[0]):
        for i in range(sheet.until.shape[0]):
            if i != limits[c, BASELINE] and (i == arm or arm == limits[c, BASELINE]):
                for claim in range(claims.margins.shape[0]):
                    found = read_limit(sheet, measures, limits, claims, claim, c, i, level) or found
    return found


@kernel
def read_limit(
    sheet: Sheet, measures: Measures, limits: IntMatrix, claims: Bets, claim: int, c: int, i: int, level: float
) -> bool:
    """Read on in one claim, and return whether it exceeds the level now; in place."""
    m, base, above = limits[c, METRIC], limits[c, BASELINE], (limits[c, SIDE] > 0) == (claim != BROKEN)
    until = sheet.until[i, m] if base < 0 else min(sheet.until[i, m], sheet.until[base, m])
    j = claims.read[claim, c, i, 0]
    if j >= until or claims.top[claim, c, i, 0] > level:
        return False
    sd = measures.sd[m, i] if base < 0 else measures.sd[m, i] + measures.sd[m, base]
    while j < until and not claims.top[claim, c, i, 0] > level:
        if base < 0:
            found = from_the_end(sheet.values, measures, j, m, i, above)
        elif above:
            found = difference(sheet.values, measures, j, m, i, base)
        else:
            found = difference(sheet.values, measures, j, m, base, i)
        if not math.isnan(found):
            take(measures, m, sd, claims, claim, c, i, 0, j, found)
        j += 1
    claims.read[claim, c, i, 0] = j
    return claims.top[claim, c, i, 0] > level


@kernel
def from_the_end(values: Cube, measures: Measures, j: int, m: int, i: int, above: bool) -> float:
    """Return how far a value is below the upper end of its range, as a negative number, or above the lower end.

    NaN where it is left out; what never came is as far as can be.
    """
    x = values[j, i, m]
    if math.isinf(x):
        return math.nan if x > 0.0 else -measures.width[m]
    return x - (measures.low[m] + measures.width[m]) if above else measures.low[m] - x
