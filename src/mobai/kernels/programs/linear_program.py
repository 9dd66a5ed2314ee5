"""The linear program behind the surrogate, a matrix game: its coefficients, their scale, and what shares reach in it.

``maximise v  subject to  a_im s_i + b_im s_best[m] >= v,  s_i >= floor,  sum s <= 1``. Arrays are objective by arm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.kernels.jit.compiled import fast_kernel, kernel
from mobai.kernels.programs.dense import Integers, Matrix, Vector, fill


class LinearProgram(NamedTuple):
    """The coefficients (objective by arm), in units of the smallest rate, and who is best in what."""

    a: Matrix
    b: Matrix
    best: Integers
    linking_arm: Integers  # of an objective: the place of its best arm among the linking arms
    place: Integers  # of an arm: its place among the linking arms, or -1
    floor: float


@fast_kernel
def linearise(gaps: Matrix, variance: Matrix, weights: Vector, m: int, j: int, a: Matrix, b: Matrix) -> None:
    """Fill in the derivatives of the rates of objective m's pairs at the weights; arm j is its best.

    Like the other loops here it takes whole matrices and a row number: a view of a row costs more than a short row.
    """
    w_j, v_j = weights[j], variance[m, j]
    for i in range(len(weights)):
        # Where both weights are zero, the limit of equal, vanishing ones.
        vanishing = weights[i] + w_j == 0.0
        x_i, x_j = 1.0 if vanishing else weights[i], 1.0 if vanishing else w_j
        root = gaps[m, i] / (variance[m, i] * x_j + v_j * x_i)
        a[m, i] = 0.5 * variance[m, i] * (root * x_j) ** 2
        b[m, i] = 0.5 * v_j * (root * x_i) ** 2


@fast_kernel
def least(a: Matrix, b: Matrix, m: int, shares: Vector, share: float, start: int, stop: int) -> float:
    """Return the smallest ``a_mi s_i + b_mi share`` of the arms from start to stop."""
    smallest = np.inf
    for i in range(start, stop):
        rate = a[m, i] * shares[i] + b[m, i] * share
        smallest = rate if rate < smallest else smallest
    return smallest


@kernel
def slowest(a: Matrix, b: Matrix, m: int, shares: Vector, j: int) -> float:
    """Return the smallest rate of objective m's pairs at the shares, its best arm j left out."""
    before = least(a, b, m, shares, shares[j], 0, j)
    return min(before, least(a, b, m, shares, shares[j], j + 1, len(shares)))


@kernel
def slowest_of_all(a: Matrix, b: Matrix, best: Integers, shares: Vector) -> float:
    """Return the smallest rate of all pairs."""
    smallest = np.inf
    for m in range(len(best)):
        smallest = min(smallest, slowest(a, b, m, shares, best[m]))
    return smallest


@kernel
def normalise(a: Matrix, b: Matrix, best: Integers, weights: Vector, even: Vector) -> float:
    """Divide by the smallest rate at the weights (at even ones if it is zero): then value and prices are near one."""
    unit = slowest_of_all(a, b, best, weights)
    if unit == 0.0:
        fill(even, 1.0 / len(weights))
        unit = slowest_of_all(a, b, best, even)
    for m in range(a.shape[0]):
        for i in range(a.shape[1]):
            a[m, i] /= unit
            b[m, i] /= unit
    return unit


@kernel
def has_ties(gaps: Matrix, best: Integers) -> bool:
    """Whether some objective has several best arms."""
    for m in range(len(best)):
        for i in range(gaps.shape[1]):
            if gaps[m, i] == 0.0 and i != best[m]:
                return True
    return False


@kernel
def separate_ties(gaps: Matrix, best: Integers, separated: Matrix) -> None:
    """Fill in the limit of vanishing gaps where a best arm is tied: about one for tied pairs, others next to endless.

    They differ by a millionth, in a fixed pattern: equal ones would make every vertex a crossing of many constraints.
    """
    for m in range(len(best)):
        for i in range(gaps.shape[1]):
            tied = gaps[m, i] == 0.0 and i != best[m]
            separated[m, i] = (1.0 if tied else 1e6) * (1.0 + 1e-6 * pattern(m, i))


@kernel
def perturb(program: LinearProgram) -> None:
    """Change every pair by up to 1e-11, in a fixed pattern, so that no two are equal and no vertex is met again."""
    for m in range(program.a.shape[0]):
        for i in range(program.a.shape[1]):
            factor = 1.0 + 1e-11 * pattern(m, i)
            program.a[m, i] *= factor
            program.b[m, i] *= factor


@kernel
def pattern(m: int, i: int) -> float:
    """Return a fixed number between zero and one for a pair; they are spread evenly, without visible order."""
    return (0.6180339887498949 * i + 0.7548776662466927 * m) % 1.0
