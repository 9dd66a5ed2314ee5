"""Error probabilities, carried as log(1/delta) so that delta = exp(-700) and beyond lose nothing."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeGuard

from mobai.errors import InputError

_LARGEST = 1e100
# From here on a delta is asked about.
LARGE_DELTA = 0.5


def resolve_log_inv_delta(delta: float | None = None, log_inv_delta: float | None = None) -> float:
    """Return log(1/delta) from whichever of the two was stated.

    Examples
    --------
    >>> resolve_log_inv_delta(log_inv_delta=700.0)
    700.0
    >>> resolve_log_inv_delta(1.5)
    Traceback (most recent call last):
    mobai.errors.InputError: delta must be a number between 0 and 1, both excluded, not 1.5; did you mean 0.015?
    """
    if (delta is None) == (log_inv_delta is None):
        raise InputError("exactly one of delta and log_inv_delta must be given")
    if log_inv_delta is None:
        if not _is_real(delta) or not 0 < delta < 1:
            raise InputError("delta", f"must be a number between 0 and 1, both excluded, not {delta!r}{_meant(delta)}")
        return -math.log(delta)
    if not _is_real(log_inv_delta) or not 0 < log_inv_delta <= _LARGEST:
        raise InputError(
            "log_inv_delta", f"must be a positive finite number, at most {_LARGEST:g}, not {log_inv_delta!r}"
        )
    return float(log_inv_delta)


def check_small(delta: float, hint: str = "") -> None:
    """Refuse a delta of a half or more, which is seldom meant; ``hint`` says how to say that it is."""
    if _is_real(delta) and LARGE_DELTA <= delta < 1:
        meant = f"did you mean {1 - delta:.3g}?" if delta > LARGE_DELTA else "no better than a coin"
        raise InputError(
            "delta", f"is the chance of a wrong answer, and {delta:g} is a large one: {meant}{hint and f' ({hint})'}"
        )


def delta_of(log_inv_delta: float) -> float:
    """Return delta, without the digits that taking the logarithm and back adds; 0.0 where a double cannot hold it.

    Examples
    --------
    >>> delta_of(-math.log(0.1))
    0.1
    """
    return float(f"{math.exp(-log_inv_delta):.12g}")


def binary_relative_entropy(log_inv_delta: float) -> float:
    """Return kl(delta, 1 - delta), the information any delta-PAC rule must gather (0 from delta = 1/2 on).

    Examples
    --------
    >>> round(binary_relative_entropy(math.log(1 / 0.05)), 6)
    2.649995
    """
    delta = math.exp(-log_inv_delta)
    if delta >= 0.5:
        return 0.0
    return (1 - 2 * delta) * (log_inv_delta + math.log1p(-delta))


def _meant(delta: object) -> str:
    """Return what somebody may have meant who wrote percents."""
    percents = str(delta).strip().removesuffix("%")
    try:
        meant = float(percents) / 100
    except ValueError:
        return ""
    return f"; did you mean {meant:g}?" if 0.01 <= meant < 0.5 and percents != str(meant) else ""


def _is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)
