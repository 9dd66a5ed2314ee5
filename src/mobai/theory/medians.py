"""Intervals for a median that may be looked at at any time, of any distribution. Proof: docs/guarantee.md.

If X has conditional median at most theta, X > theta is a coin whose chance is at most 1/2; a bet on it whose chances
are mixed over [1/2, 1] with the density of Beta(1/2, 1/2) is a supermartingale, so that by Ville's inequality it
exceeds 1/alpha ever with probability at most alpha (Robbins 1970; Howard and Ramdas 2022 for quantiles).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln

from mobai.problem import FloatArray


def median_interval(values: npt.ArrayLike, delta: float) -> tuple[float, float]:
    """Return between which numbers the median lies, at all times with probability at least 1 - delta.

    Examples
    --------
    >>> median_interval([3.0, 1.0, 2.0], 0.05)
    (-inf, inf)
    >>> median_interval(range(100), 0.05)
    (33.0, 66.0)
    """
    ordered = np.sort(np.asarray(values, float))
    places = np.arange(len(ordered))
    # That many are at least as large as the value at a place: what is below it has at least as many above.
    rejects = sign_evidence(len(ordered) - places, len(ordered)) >= math.log(2 / delta)
    low = int(rejects.sum()) - 1
    if low < 0:
        return -math.inf, math.inf
    return float(ordered[low]), float(ordered[len(ordered) - 1 - low])


def sign_evidence(above: npt.ArrayLike, n: int) -> FloatArray:
    """Return the log of what a bet that more than half are above has made, when ``above`` of ``n`` were."""
    a, b = np.asarray(above) + 0.5, n - np.asarray(above) + 0.5
    with np.errstate(divide="ignore"):
        upper = np.log(betainc(b, a, 0.5))  # the mass of Beta(a, b) on [1/2, 1]
    return np.asarray(math.log(2) + n * math.log(2) + betaln(a, b) - betaln(0.5, 0.5) + upper)
