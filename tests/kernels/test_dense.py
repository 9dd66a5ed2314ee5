from __future__ import annotations

import numpy as np
import pytest

from mobai.kernels.jit.compiled import entry
from mobai.kernels.programs.dense import Integers, Matrix, Vector, factor, solve, solve_transposed


@entry
def factor_and_solve(matrix: Matrix, swaps: Integers, x: Vector, transposed: bool) -> bool:
    """Kernels can only be called by kernels: this one is called by Python."""
    if not factor(matrix, swaps):
        return False
    if transposed:
        solve_transposed(matrix, swaps, x)
    else:
        solve(matrix, swaps, x)
    return True


@pytest.mark.parametrize("size", [1, 2, 3, 8, 31])
def test_against_numpy(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        matrix, right = rng.normal(size=(size, size)), rng.normal(size=size)
        matrix[rng.random((size, size)) < 0.3] = 0
        matrix += np.eye(size)[rng.permutation(size)]
        for transposed, twin in ((False, matrix), (True, matrix.T)):
            x, swaps = right.copy(), np.zeros(size, dtype=np.int64)
            assert factor_and_solve(matrix.copy(), swaps, x, transposed)
            assert x == pytest.approx(np.linalg.solve(twin, right), rel=1e-6, abs=1e-8)


def test_a_singular_matrix_is_told() -> None:
    assert not factor_and_solve(np.ones((2, 2)), np.zeros(2, dtype=np.int64), np.ones(2), False)
