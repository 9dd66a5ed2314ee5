"""Compile ahead of time, once, what several processes will use."""

from __future__ import annotations

from mobai.problem import Instance
from mobai.theory.lower_bound import lower_bound
from mobai.theory.surrogate import surrogate_proportions


def compile_kernels() -> None:
    """Compile every kernel, or load it from the cache: call it in a parent process before its workers start.

    Compiling takes some seconds on a machine that has not done it before; the result is kept on disk.
    """
    instance = Instance([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]])
    lower_bound(instance)
    surrogate_proportions(instance, [0.3, 0.3, 0.4])
