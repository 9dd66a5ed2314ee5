"""What is proven of the limits of arms that are measured on the same things. Proofs: docs/guarantee.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobai.kernels.evidence import paired as kernels
from mobai.kernels.evidence.paired import Measures, Sheet
from mobai.kernels.evidence.paired_limits import STRICTLY_KEPT, advance_limits
from mobai.kernels.stats.observations import BASELINE, BROKEN, KEPT, LIMIT, METRIC, SIDE, TOLERANCE, LimitState
from mobai.problem import FloatArray, IntArray, Problem
from mobai.theory.observations import describe_limits

Truths = npt.NDArray[np.bool_]


class PairedLimits:
    """The claims about arms and limits, at one level of evidence.

    Attributes
    ----------
    what, terms
        The guardrails, as kernels know them.
    claims
        What every claim has come to.
    """

    def __init__(self, problem: Problem, measures: Measures, level: float) -> None:
        described = describe_limits(problem, problem.guardrails)
        self.what, self.terms, self._measures, self._level = described.what, described.terms, measures, level
        self.claims = kernels.new_bets(_margins(self.what, self.terms, measures), problem.shape[0], 1)
        self._spared = np.arange(problem.shape[0]) == self.what[:, BASELINE, None]

    def __len__(self) -> int:
        """Return how many guardrails there are."""
        return len(self.what)

    def advance(self, sheet: Sheet, arm: int) -> bool:
        """Read on in what is claimed of the limits of an arm; return whether there is anything new."""
        return len(self) > 0 and advance_limits(sheet, self._measures, self.what, self.claims, arm, self._level)

    def settle_exactly(self, sheet: Sheet) -> None:
        """Say of a finite benchmark that was measured in full what is true, also of an arm that is on the limit."""
        size = int(self._measures.size[0])
        for c, i in np.argwhere(~self._spared & (self.statuses() == LimitState.OPEN)).tolist():
            m, base = int(self.what[c, METRIC]), int(self.what[c, BASELINE])
            arms = [i] if base < 0 else [i, base]
            values = sheet.values[:, arms, m]
            if (sheet.until[arms, m] == size).all() and np.isfinite(values).all():
                largest = abs(self._measures.low[m]) + self._measures.width[m]
                rounding = 4 * kernels.ROUNDING * largest  # of a mean, and the limit
                claims = (KEPT, STRICTLY_KEPT) if self._room(c, values.mean(axis=0)) >= -rounding else (BROKEN,)
                self.claims.top[claims, c, i, 0] = np.inf

    def _room(self, c: int, means: FloatArray) -> float:
        """Return how far an arm's mean, given before that of its baseline, is on the right side of a limit."""
        limit, side = float(self.terms[c, LIMIT]), float(self.what[c, SIDE])
        if self.what[c, BASELINE] >= 0:
            return side * float(means[0] - means[1]) + limit
        return side * (float(means[0]) - limit)

    def statuses(self) -> IntArray:
        """Return the :class:`LimitState` of every limit and arm: what was claimed at the smaller index."""
        if not len(self):  # in a race of a few milliseconds this is asked hundreds of times
            return np.zeros(self._spared.shape, np.intp)
        kept, broken = (self.claims.top[claim, :, :, 0] > self._level for claim in (KEPT, BROKEN))
        first = ~kept | (self.claims.read[BROKEN, :, :, 0] <= self.claims.read[KEPT, :, :, 0])
        found = np.where(kept, LimitState.KEPT, LimitState.OPEN)
        return np.asarray(np.where(broken & first, LimitState.BROKEN, found), np.intp)

    def evidence(self) -> FloatArray:
        """Return the evidence of both claims, KEPT and BROKEN, guardrail by arm, in nats."""
        return np.asarray(np.maximum(self.claims.top, self.claims.now)[: BROKEN + 1, :, :, 0])

    @property
    def broken(self) -> Truths:
        """Which arms break some limit. Shape (K,)."""
        return np.asarray((self.statuses() == LimitState.BROKEN).any(axis=0))

    @property
    def kept(self) -> Truths:
        """Which arms keep every limit, within its tolerance. Shape (K,)."""
        return np.asarray(((self.statuses() == LimitState.KEPT) | self._spared).all(axis=0))

    @property
    def strictly_kept(self) -> Truths:
        """Which arms keep every limit itself, so that they may rule others out. Shape (K,)."""
        strictly = (self.claims.top[STRICTLY_KEPT, :, :, 0] > self._level) | self._spared
        return np.asarray(strictly.all(axis=0) & ~self.broken)

    def least_kept(self, arm: int) -> float:
        """Return the smallest evidence that an arm keeps each limit, in nats."""
        return float(np.where(self._spared[:, arm], np.inf, self.evidence()[KEPT, :, arm]).min(initial=np.inf))

    def least_broken(self) -> float:
        """Return the evidence that every arm breaks some limit, in nats."""
        return float(self.evidence()[BROKEN].max(axis=0).min())

    def look_fit(self, means: FloatArray) -> Truths:
        """Return which arms seem to keep every limit, as their means (K, metrics) are now. Shape (K,)."""
        fit = ~self.broken
        for c in range(len(self)):
            m, base = int(self.what[c, METRIC]), int(self.what[c, BASELINE])
            for i in np.flatnonzero(~self._spared[c] & (self.statuses()[c] == LimitState.OPEN)).tolist():
                fit[i] &= not self._room(c, means[[i] if base < 0 else [i, base], m]) < -0.5 * self.terms[c, TOLERANCE]
        return fit

    def needed_for(self, arms: Truths) -> Truths:
        """Return which arms are to be measured because limits of these ones are open: those they are measured from."""
        found = np.zeros(len(arms), np.bool_)
        for c in range(len(self)):
            base = int(self.what[c, BASELINE])
            if base >= 0:
                found[base] |= bool((arms & (self.statuses()[c] == LimitState.OPEN) & ~self._spared[c]).any())
        return found

    def out_at(self, arm: int) -> int:
        """Return after which index an arm was said to break a limit."""
        read, broken = self.claims.read[BROKEN, :, arm, 0], self.statuses()[:, arm] == LimitState.BROKEN
        return int(read[broken].min())


def _margins(what: IntArray, terms: FloatArray, measures: Measures) -> FloatArray:
    """Return what kernels bet with in place of margins: by claim (KEPT, BROKEN, STRICTLY_KEPT) and guardrail."""
    found = np.zeros((3, len(what)))
    for c, (m, side, base) in enumerate(what.tolist()):
        limit, tolerance = terms[c].tolist()
        low, high = measures.low[m], measures.low[m] + measures.width[m]
        if base >= 0:
            found[:, c] = limit + tolerance, -limit, limit
            continue
        nulls = limit - side * tolerance, limit, limit
        above = side > 0, side < 0, side > 0
        found[:, c] = [high - null if over else null - low for null, over in zip(nulls, above, strict=True)]
    return found
