"""Small dense systems and plain loops over arrays.

The loops are spelled out because whole-array expressions take numba several times longer to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.kernels.jit.compiled import fast_kernel, kernel

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Cube = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
IntMatrix = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]
Truths = npt.NDArray[np.bool_]


@kernel
def fill(target: Vector, value: float) -> None:
    """Set every element of a vector."""
    for i in range(len(target)):
        target[i] = value


@kernel
def copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """Copy a vector onto another one."""
    for i in range(len(source)):
        target[i] = source[i]


@fast_kernel
def add_up(vector: Vector) -> float:
    """Return the sum of a vector."""
    result = 0.0
    for i in range(len(vector)):
        result += vector[i]
    return result


@fast_kernel
def dot(one: Vector, two: Vector) -> float:
    """Return the inner product of two vectors."""
    result = 0.0
    for i in range(len(one)):
        result += one[i] * two[i]
    return result


@kernel
def factor(matrix: Matrix, swaps: Integers) -> bool:
    """LU-factorise in place with partial pivoting, row swaps into ``swaps``; return False when a pivot is zero."""
    size = len(matrix)
    for k in range(size):
        top = k
        for i in range(k + 1, size):
            if abs(matrix[i, k]) > abs(matrix[top, k]):
                top = i
        swaps[k] = top
        if matrix[top, k] == 0.0:
            return False
        if top != k:
            for j in range(size):
                matrix[k, j], matrix[top, j] = matrix[top, j], matrix[k, j]
        for i in range(k + 1, size):
            if matrix[i, k] != 0.0:
                matrix[i, k] /= matrix[k, k]
                for j in range(k + 1, size):
                    matrix[i, j] -= matrix[i, k] * matrix[k, j]
    return True


@kernel
def solve(factors: Matrix, swaps: Integers, x: Vector) -> None:
    """Solve ``A x = b`` in place: b goes in, x comes out."""
    size = len(factors)
    for k in range(size):
        x[k], x[swaps[k]] = x[swaps[k]], x[k]
    for k in range(size):
        for j in range(k):
            x[k] -= factors[k, j] * x[j]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            x[k] -= factors[k, j] * x[j]
        x[k] /= factors[k, k]


@kernel
def solve_transposed(factors: Matrix, swaps: Integers, x: Vector) -> None:
    """Solve ``A' x = b`` in place."""
    size = len(factors)
    for k in range(size):
        x[k] /= factors[k, k]
        for j in range(k + 1, size):
            x[j] -= factors[k, j] * x[k]
    for k in range(size - 1, -1, -1):
        for j in range(k):
            x[j] -= factors[k, j] * x[k]
    for k in range(size - 1, -1, -1):
        x[k], x[swaps[k]] = x[swaps[k]], x[k]


@kernel
def find_linking_arms(best: Integers, linking_arm: Integers, place: Integers) -> int:
    """Fill in ``linking_arm`` (per objective) and ``place`` (per arm, -1 if best nowhere); return how many link."""
    count = 0
    for i in range(len(place)):
        place[i] = -1
    for m in range(len(best)):
        if place[best[m]] < 0:
            place[best[m]] = count
            count += 1
        linking_arm[m] = place[best[m]]
    return count
