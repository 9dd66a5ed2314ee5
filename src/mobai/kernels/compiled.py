"""How the kernels are compiled: without the GIL, with NumPy's rules for division, entries cached on disk.

Only entries can be called from Python, and only with arrays and numbers. The other kernels are called by kernels alone:
they have no wrappers, which shortens compiling them, and no files in the cache, which could outlive their classes.
numba renews a cached entry when the entry's own file changes; after editing another file of kernels, touch that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

_COMMON = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, at its first call."""
    compiled: Callable[P, R] = njit(**_COMMON, cache=True)(function)
    return compiled


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only other kernels call."""
    compiled: Callable[P, R] = njit(**_COMMON, no_cpython_wrapper=True)(function)
    return compiled


def fast_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop whose order of operations may change, so that it is done several numbers at a time."""
    flags = {"nnan", "nsz", "reassoc", "contract", "arcp"}
    compiled: Callable[P, R] = njit(**_COMMON, no_cpython_wrapper=True, fastmath=flags)(function)
    return compiled
