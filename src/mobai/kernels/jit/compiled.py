"""How the kernels are compiled: without the GIL, with NumPy's rules for division, entries cached on disk.

Only entries can be called from Python. The other kernels are called by kernels alone: they have no wrappers, which
shortens compiling them, and no files in the cache.

An entry that is called again and again fills arrays it is given: while numba wraps arrays to give back, a Ctrl-C ends
in a SystemError.

Where kernels are interpreted (see :mod:`mobai.kernels`) every decorator returns the function itself, and numba is not
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from mobai.kernels import interpreted
from mobai.kernels.jit.cache import cache_directory

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type[Any])

# Operations whose order may change, so that they are done several numbers at a time.
_REORDERED = {"nnan", "nsz", "reassoc", "contract", "arcp"}


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, at its first call."""
    if interpreted():
        return _as_numpy_divides(function)
    with _cache_in(cache_directory()) as cached:
        return _compile(function, cache=cached)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether an entry has been compiled, or loaded from the cache, in this process."""
    return not interpreted() and bool(getattr(function, "signatures", ()))


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only other kernels call, and that makes no arrays."""
    return _compile_part(function, _nrt=False)


def array_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only other kernels call, and that makes arrays."""
    return _compile_part(function)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a part of every trial's loop, always into the loop: a call would hand over a hundred numbers."""
    return _compile_part(function, forceinline=True, _nrt=False)


def fast_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop whose order of operations may change; its last bits may differ from those of plain Python."""
    return _compile_part(function, _nrt=False, fastmath=_REORDERED)


def record(made_by: C) -> C:
    """Let kernels hand over the named tuples of a class by their address: those that Python makes, of many arrays."""
    if not interpreted():
        from mobai.kernels.jit.records import register

        register(made_by)
    return made_by


def _compile_part(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    if interpreted():
        return function
    from mobai.kernels.jit.draft import draft_options, without_literals

    # Said to all: what is left unsaid is inherited from the caller that is being compiled.
    options = {"forceinline": False, **options}
    return without_literals(_compile(function, no_cpython_wrapper=True, **draft_options(), **options))


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    from numba import njit

    decorate = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)
    compiled: Callable[P, R] = decorate(function)
    return compiled


@contextmanager
def _cache_in(directory: Any) -> Iterator[bool]:
    """Let entries decorated in this block be cached in a directory, if there is one."""
    from numba import config

    before = config.CACHE_DIR
    if directory is not None:
        config.CACHE_DIR = str(directory)
    try:
        yield directory is not None
    finally:
        config.CACHE_DIR = before


def _as_numpy_divides(function: Callable[P, R]) -> Callable[P, R]:
    """Let a zero divisor give infinity without a word, as in compiled code."""

    @wraps(function)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return quiet
