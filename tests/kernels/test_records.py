"""Named tuples that kernels hand over by their address."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numba import njit, typeof

from mobai.kernels.jit.compiled import array_kernel, kernel, record
from mobai.kernels.programs.dense import Cube, Vector


@record
class Inner(NamedTuple):
    table: Cube
    flag: bool


@record
class Outer(NamedTuple):
    vector: Vector
    inner: Inner
    number: float
    pulls: int


@kernel
def fill(outer: Outer) -> None:
    for i in range(len(outer.vector)):
        outer.vector[i] = outer.inner.table[i, 0, 1] + outer.number if outer.inner.flag else float(outer.pulls)


@array_kernel
def fill_twice(outer: Outer) -> float:
    fill(outer)
    view = outer.vector[1:]
    view += np.ones(len(view))
    return float(view.sum())


# An entry, but for the cache: one that is loaded compiles no parts.
@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def top(outer: Outer) -> float:
    return fill_twice(outer) + len(outer.inner.table)


def made(*, flag: bool) -> Outer:
    return Outer(np.zeros(3), Inner(np.arange(12.0).reshape(3, 2, 2), flag), 0.5, -7)


def test_every_kind_of_field_is_read() -> None:
    outer = made(flag=True)
    assert top(outer) == 20.0
    assert outer.vector.tolist() == [1.5, 6.5, 10.5]
    outer = made(flag=False)
    assert top(outer) == -9.0
    assert outer.vector.tolist() == [-7.0, -6.0, -6.0]


def test_one_address_is_handed_over() -> None:
    top(made(flag=True))
    (code,) = fill.inspect_llvm().values()  # type: ignore[attr-defined]
    (line,) = [line for line in code.splitlines() if line.startswith("define") and "fill" in line]
    assert line.partition("fill")[2].count(",") == 2  # after what is returned and what is raised


def test_calls_keep_no_references() -> None:
    outer = made(flag=True)
    before = [sys.getrefcount(array) for array in (outer.vector, outer.inner.table)]
    for _ in range(10):
        top(outer)
    assert [sys.getrefcount(array) for array in (outer.vector, outer.inner.table)] == before


def test_types_tell_apart_what_fields_are() -> None:
    outer = made(flag=True)
    other = outer._replace(vector=np.zeros(3, np.float32))
    assert typeof(outer) is typeof(made(flag=False))
    assert typeof(outer) != typeof(other)
    assert top(other) == 20.0
