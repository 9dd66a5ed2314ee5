"""The parts of numba that are not public: when they change, these tests are to fail before anything else does."""

from __future__ import annotations

import re
from importlib.metadata import requires, version

import numpy as np
from numba import njit

from mobai.kernels.jit.compiled import array_kernel, kernel
from mobai.kernels.jit.draft import draft_options
from mobai.kernels.programs.dense import Vector


@kernel
def twice(vector: Vector) -> float:
    return 2.0 * float(vector[0])


@array_kernel
def made(size: int) -> Vector:
    return np.ones(size)


# An entry, but for the cache: one that is loaded compiles no parts.
@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def top(size: int) -> float:
    return twice(made(size))


def test_numba_is_capped() -> None:
    """Whoever raises the cap runs these tests with the new numba first."""
    (line,) = [line for line in requires("mobai") or () if line.startswith("numba")]
    cap = re.search(r"<(\d+)\.(\d+)", line)
    assert cap is not None
    assert tuple(map(int, version("numba").split(".")[:2])) < (int(cap[1]), int(cap[2]))


def test_kernels_are_drafts() -> None:
    """Compiled into their entries, without machine code of their own."""
    assert set(draft_options()) == {"pipeline_class"}
    assert top(3) == 2.0
    (library,) = [overload.library for overload in twice.overloads.values()]  # type: ignore[attr-defined]
    assert type(library).__name__ == "Draft"
    assert library.get_pointer_to_function("any") == 0


def test_kernels_count_no_references() -> None:
    """Counting takes most of the time of a loop over many small arrays: docs/decisions/0013."""
    assert top(3) == 2.0
    (text,) = twice.inspect_llvm().values()  # type: ignore[attr-defined]
    assert "NRT_incref" not in text
    (text,) = top.inspect_llvm().values()
    assert "NRT_decref" in text


@kernel
def times(vector: Vector, factor: float) -> float:
    return factor * float(vector[0])


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def products(vector: Vector) -> float:
    return times(vector, 2) + times(vector, 3)


def test_literals_are_not_compiled_apart() -> None:
    assert products(np.ones(1)) == 5.0
    assert len(times.overloads) == 1  # type: ignore[attr-defined]
