"""How the kernels are compiled: without the GIL, with NumPy's rules for division, entries cached on disk.

Only entries can be called from Python, and only with arrays and numbers. The other kernels are called by kernels alone:
they have no wrappers, which shortens compiling them, and no files in the cache, which could outlive their classes.

An entry that is called again and again fills arrays it is given: while numba wraps arrays to give back, a Ctrl-C ends
in a SystemError.

numba would renew a cached entry only when the entry's own file changes; ours depend on the text of every kernel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from numba import njit

from mobai.kernels.draft import draft_options

P = ParamSpec("P")
R = TypeVar("R")

_COMMON = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_DRAFT = {**_COMMON, "no_cpython_wrapper": True, **draft_options()}


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, at its first call."""
    compiled: Any = njit(**_COMMON, cache=True)(function)
    stamped = compiled._cache._cache_file
    stamped._source_stamp = (stamped._source_stamp, fingerprint())
    result: Callable[P, R] = compiled
    return result


def fingerprint() -> str:
    """Hash the text of all kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only other kernels call."""
    compiled: Callable[P, R] = njit(**_DRAFT)(function)
    return compiled


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a part of every trial's loop, always into the loop: a call would hand over a hundred numbers."""
    compiled: Callable[P, R] = njit(**_DRAFT, forceinline=True)(function)
    return compiled


def fast_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop whose order of operations may change, so that it is done several numbers at a time."""
    flags = {"nnan", "nsz", "reassoc", "contract", "arcp"}
    compiled: Callable[P, R] = njit(**_DRAFT, fastmath=flags)(function)
    return compiled
