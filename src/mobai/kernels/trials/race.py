"""A race over a table that is there: arms leave it as they are ruled out, index by index."""

from __future__ import annotations

from mobai.kernels.evidence.paired import Bets, Measures, Sheet, read_on
from mobai.kernels.evidence.paired_limits import read_limits
from mobai.kernels.jit.compiled import entry, kernel
from mobai.kernels.programs.dense import Flags, IntMatrix


@entry
def race_on(
    sheet: Sheet,
    measures: Measures,
    bets: Bets,
    limits: IntMatrix,
    claims: Bets,
    open_arms: Flags,
    closed: Flags,
    level: float,
    begin: int,
    end: int,
) -> int:
    """Measure all open arms from one index on, until some claim exceeds the level or the end is reached; in place.

    The values are in the sheet already. Return the index after the last one measured.
    """
    arms, metrics = sheet.until.shape
    for j in range(begin, end):
        for i in range(arms):
            if open_arms[i] > 0:
                for m in range(metrics):
                    sheet.until[i, m] = j + 1
        found = False
        for m in range(bets.margins.shape[1]):
            found = read_pairs(sheet, measures, bets, open_arms, closed, m, level) or found
        if limits.shape[0] > 0:
            for i in range(arms):
                if open_arms[i] > 0:
                    found = read_limits(sheet, measures, limits, claims, i, level) or found
        if found:
            return j + 1
    return end


@kernel
def read_pairs(
    sheet: Sheet, measures: Measures, bets: Bets, open_arms: Flags, closed: Flags, m: int, level: float
) -> bool:
    """Read on in all claims about arms of an objective that are open; return whether one exceeds the level now."""
    found = False
    for layer in range(bets.margins.shape[0]):
        for b in range(len(open_arms)):
            for i in range(len(open_arms)):
                if b == i or open_arms[b] == 0 or open_arms[i] == 0 or closed[m, i] > 0:
                    continue
                found = read_on(sheet, measures, bets, layer, m, b, i, level) or found
    return found
