"""How every kernel is compiled: cached on disk, without the GIL, with NumPy's rules for division."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call."""
    compiled: Callable[P, R] = njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def fast_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop whose order of operations may change, so that it is done several numbers at a time."""
    flags = {"nnan", "nsz", "reassoc", "contract", "arcp"}
    compiled: Callable[P, R] = njit(cache=True, nogil=True, error_model="numpy", fastmath=flags)(function)
    return compiled
