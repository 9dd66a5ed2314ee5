from __future__ import annotations

import numpy as np
import pytest

from mobai.kernels.dense import factor, solve, solve_transposed


@pytest.mark.parametrize("size", [1, 2, 3, 8, 31])
def test_against_numpy(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        matrix, right = rng.normal(size=(size, size)), rng.normal(size=size)
        matrix[rng.random((size, size)) < 0.3] = 0
        matrix += np.eye(size)[rng.permutation(size)]
        factors, swaps = matrix.copy(), np.zeros(size, dtype=np.int64)
        assert factor(factors, swaps)
        for solver, twin in ((solve, matrix), (solve_transposed, matrix.T)):
            x = right.copy()
            solver(factors, swaps, x)
            assert x == pytest.approx(np.linalg.solve(twin, right), rel=1e-6, abs=1e-8)


def test_a_singular_matrix_is_told() -> None:
    assert not factor(np.ones((2, 2)), np.zeros(2, dtype=np.int64))
