"""One unknown standard deviation for all arms of an objective: an upper bound for it. Proofs: docs/guarantee.md.

Evidence of known noise, computed at an upper bound of the noise, remains valid. The bound is the smaller of two, which
fail with a tenth and with the rest of alpha: from the *opening*, the first two rewards of every arm of the start, and,
at all times, from everything that came after it, predicted from the opening.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai.kernels.jit.compiled import kernel

# The share of an objective's delta that is spent on the bound; and the share of that which the opening's bound has.
SHARE_OF_DELTA = 0.1
OPENING_SHARE = 0.1  # measured: half and half takes 1 to 2 % more pulls, nine tenths 3 to 8 %


class Prediction(NamedTuple):
    """What the rewards after the opening say about the variance, given those of the opening."""

    shape: float  # of the inverse gamma distribution that the opening leaves of the variance
    rate: float
    later: float  # how many rewards came later
    scatter: float  # by how much the scatter of the arms has grown
    around: float  # the scatter of the later rewards around their own means
    penalty: float  # for not knowing the means


@kernel
def chi_square_quantile(degrees: float, log_inv: float) -> float:
    """Return where the distribution function is exp(-log_inv), which must be a small probability; or less.

    Newton's method for its logarithm, a concave function of the logarithm of x, from the left: it never overshoots.
    """
    a = 0.5 * degrees
    y = (math.lgamma(a + 1.0) - log_inv) / a
    for _ in range(100):
        x, term, total, n = math.exp(y), 1.0, 1.0, 0.0
        while term > 1e-17 * total:
            n += 1.0
            term *= x / (a + n)
            total += term
        step = (-log_inv - (a * y - x - math.lgamma(a + 1.0) + math.log(total))) * total / a
        y += step
        if not step > 1e-13 * abs(y):
            break
    return 2.0 * math.exp(y)


@kernel
def later_bound(seen: Prediction, log_inv: float) -> float:
    """Return the bound of the variance from the rewards after the opening: where their likelihood ratio is too large.

    Newton's method from above, for a convex function of the logarithm of the variance: it never undershoots.
    """
    if seen.later == 0.0:
        return math.inf
    half = 0.5 * seen.later
    fixed = math.lgamma(seen.shape + half) - math.lgamma(seen.shape) + seen.shape * math.log(seen.rate)
    fixed -= (seen.shape + half) * math.log(seen.rate + 0.5 * seen.scatter) + seen.penalty
    y = (log_inv - fixed) / half
    for _ in range(100):
        pull = 0.5 * seen.around * math.exp(-y)
        step = (fixed + half * y + pull - log_inv) / (half - pull)
        if not 1e-14 * max(abs(y), 1.0) < step < math.inf:
            break
        y -= step
    return math.exp(y)
