"""Small dense systems: LU with partial pivoting, solving with the matrix and with its transpose."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobai.kernels.compiled import kernel

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]


@kernel
def factor(matrix: Matrix, swaps: Integers) -> bool:
    """Factorise in place; False when a pivot is zero."""
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
