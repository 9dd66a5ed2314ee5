"""How long a metric is waited for, and what it is when it has not come by then.

"Signed up" is "signed up within an hour": everybody has a value then, and whoever has not is a 0.
"""

from __future__ import annotations

import math

from mobai.errors import InputError
from mobai.problem.families import Family, is_number

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 3650 * 86400.0


def seconds_of(text: str, argument: str = "window") -> float:
    """Read a time span such as 30s, 15m, 2h or 1.5d; InputError, naming the argument, if it is none.

    Examples
    --------
    >>> seconds_of("2h"), seconds_of("90s")
    (7200.0, 90.0)
    """
    try:
        seconds = float(text[:-1]) * _UNITS[text[-1:]]
    except (KeyError, ValueError):
        seconds = -1.0
    if not 0 < seconds <= _LONGEST:
        raise InputError(argument, f"must be a number with s, m, h or d, such as 30s or 2h, not {text!r}")
    return seconds


def span_text(seconds: float) -> str:
    """Return the shortest form that :func:`seconds_of` reads back.

    Examples
    --------
    >>> span_text(7200.0), span_text(90.0)
    ('2h', '90s')
    """
    for unit in "dhm":
        if seconds % _UNITS[unit] == 0:
            return f"{seconds / _UNITS[unit]:.0f}{unit}"
    return f"{seconds:.0f}s" if seconds == round(seconds) else f"{seconds!r}s"


def check_window(name: str, family: Family, window: float | None, otherwise: float | None) -> None:
    """Refuse a window without a value, or with one that the metric could not have."""
    if (window is None) != (otherwise is None):
        raise InputError("window and otherwise go together, as in window=1h:otherwise=0", metric=name)
    if window is None:
        return
    if not is_number(window) or not 0 < window <= _LONGEST:
        raise InputError("window", f"must be a positive number of seconds, not {window!r}", metric=name)
    low, high = family.range
    if family.model == "ratio":
        raise InputError("window", "is not for a ratio: report both of its numbers, or null", metric=name)
    if not (math.isfinite(low) and math.isfinite(high)):
        # Many equal values among others are no noise of a known shape.
        raise InputError("window", "needs a metric with a range: bernoulli, or bounded=LOW..HIGH", metric=name)
    if not is_number(otherwise) or not low <= float(otherwise or 0.0) <= high:
        raise InputError("otherwise", f"must be a value that it can have, not {otherwise!r}", metric=name)
    if family.word == "bernoulli" and otherwise not in (0, 1):
        raise InputError("otherwise", f"must be 0 or 1, not {otherwise!r}", metric=name)


def window_words(window: float | None, otherwise: float | None) -> list[str]:
    """Return the options of the short form."""
    if window is None or otherwise is None:
        return []
    return [f"window={span_text(float(window))}", f"otherwise={float(otherwise)!r}"]
