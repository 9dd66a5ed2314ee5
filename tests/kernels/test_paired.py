"""Bets on differences, beside a slow and obvious twin, and what no bet may do: gain on average if nothing is better."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from mobai.kernels.evidence import paired as kernels
from mobai.problem import Design, FloatArray, Problem
from mobai.rules.stopping.comparison import Comparison

SHARES = [0.97 * 1.9**-q for q in range(12)]


def plain_evidence(values: FloatArray, width: float, eps: float, size: int) -> float:
    """The formula of docs/guarantee.md, with products and nothing else."""
    wealth, total = np.ones(12), 0.0
    for j, value in enumerate(values):
        if size:
            mean_left = (-size * eps - total) / (size - j)
            room = mean_left + width  # nothing: all that is left must be at the lower end
            gain = (value + width) / room - 1 if room > 1e-9 else 0.0
        else:
            gain = (value + eps) / (width - eps)
        wealth *= 1 + np.array(SHARES) * gain
        total += value
        if size and total - (size - j - 1) * width > -size * eps + 1e-7:
            return math.inf
    return float(np.log(wealth.mean()))


def compare(values: FloatArray, objective: str, design: Design) -> Comparison:
    """Two arms, measured on the same things; values has a column per arm."""
    seen = Comparison(Problem(2, [objective], design=design), 1e9)
    for j, row in enumerate(values):
        for arm, value in enumerate(row):
            seen.tell(j, arm, [value])
    seen.look(1)
    return seen


@pytest.mark.parametrize("size", [0, 40])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_bets_are_those_of_the_formula(size: int, eps: float) -> None:
    rng = np.random.default_rng(1)
    values = rng.random((30, 2)) * [0.9, 1.0]
    design = Design("items", size) if size else Design("stream")
    seen = compare(values, f"x:bounded=0..1:eps={eps}", design)
    for b, i in ((0, 1), (1, 0)):
        found = seen.bets.now[-1, 0, b, i]
        assert found == pytest.approx(plain_evidence(values[:, b] - values[:, i], 1.0, eps, size), rel=1e-10)


def test_a_shift_of_gaussian_differences() -> None:
    values = np.random.default_rng(2).normal([0.5, 0.0], 1.0, (25, 2))
    seen, d = compare(values, "x:unknown-variance", Design("stream")), values[:, 0] - values[:, 1]
    n, mean, scatter = len(d), d.mean(), ((d - d.mean()) ** 2).sum()
    parts = []
    for c in (1, 8, 64, 512):
        k = c / (n + c)
        parts.append(math.sqrt(k) * ((scatter + n * mean**2) / (scatter + k * n * mean**2)) ** (n / 2))
    assert seen.bets.now[0, 0, 0, 1] == pytest.approx(math.log(np.mean(parts)), rel=1e-10)
    assert seen.bets.now[0, 0, 1, 0] == -math.inf


def test_shifts_are_likelihood_ratios_integrated_by_quadrature() -> None:
    """The ratio of the densities of scale-free data, with and without a normal shift, by numbers."""
    from scipy.integrate import dblquad

    values, c = np.array([0.4, 1.1, -0.2, 0.9]), 1.0
    n = len(values)

    def density(log_sigma: float, shift: float) -> float:
        sigma = math.exp(log_sigma)
        return math.exp(-0.5 * ((values / sigma - shift) ** 2).sum()) * sigma**-n

    above, _ = dblquad(
        lambda s, t: density(s, t) * math.exp(-0.5 * c * t * t) * math.sqrt(c / (2 * math.pi)), -12, 12, -6, 6
    )
    below, _ = dblquad(lambda s, t: density(s, 0.0), 0, 1, -6, 6)
    k, mean = c / (n + c), values.mean()
    scatter = ((values - mean) ** 2).sum()
    formula = math.sqrt(k) * ((scatter + n * mean**2) / (scatter + k * n * mean**2)) ** (n / 2)
    assert above / below == pytest.approx(formula, rel=1e-6)


@pytest.mark.parametrize(
    "table", [(0.0, 0.0, 1.0, -1.0, 0.0), (0.5, -0.5, 0.25, -0.25, 0.0), (1.0, -1.0, 1.0, -1.0, 0.0)]
)
def test_no_order_of_a_tie_is_worth_more_than_it_costs_on_average(table: tuple[float, ...]) -> None:
    """Over all orders of a finite benchmark the wealth of bets on a tie has a mean of at most 1, at every index."""
    for n in range(1, len(table)):
        wealth = [math.exp(plain_evidence(np.array(order[:n]), 1.0, 0.0, len(table))) for order in permutations(table)]
        assert np.mean(wealth) <= 1 + 1e-9


def test_no_bet_on_worse_coins_gains_on_average() -> None:
    """All 3^5 outcomes of five differences whose mean is -eps."""
    eps, chances = 0.2, {-1.0: 0.4, 0.0: 0.4, 1.0: 0.2}
    mean = sum(
        math.exp(plain_evidence(np.array(values), 1.0, eps, 0)) * math.prod(chances[v] for v in values)
        for values in product(chances, repeat=5)
    )
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_what_never_came_is_the_worst_for_who_is_claimed_to_be_better() -> None:
    values = np.random.default_rng(3).random((20, 2))
    for missing in ((4, 0), (4, 1)):
        for design in (Design("stream"), Design("items", 30)):
            seen = {}
            for stand_in in (-math.inf, 0.0, 0.5, 1.0):
                holed = values.copy()
                holed[missing] = stand_in
                seen[stand_in] = compare(holed, "x:bounded=0..1", design).bets.now[0, 0]
            for b, i in ((0, 1), (1, 0)):
                assert all(seen[-math.inf][b, i] <= seen[x][b, i] + 1e-12 for x in (0.0, 0.5, 1.0))


def test_wins_do_not_depend_on_by_how_much() -> None:
    rng = np.random.default_rng(4)
    values = rng.random((30, 2))
    one = compare(values, "x:wins", Design("stream"))
    other = compare(np.exp(20 * values), "x:wins", Design("stream"))
    assert np.array_equal(one.bets.now, other.bets.now)
    near = compare(values, "x:wins:eps=2", Design("stream"))
    assert (near.bets.now == 0).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rescaling_changes_nothing(scale: float) -> None:
    values = np.random.default_rng(5).random((50, 2))
    for design in (Design("stream"), Design("items", 60)):
        one = compare(values, "x:bounded=0..1", design).bets.now
        other = compare(values * scale + 3 * scale, f"x:bounded={3 * scale}..{4 * scale}", design).bets.now
        assert other == pytest.approx(one, abs=1e-5)


def test_bounds_of_means_are_where_the_evidence_reaches_the_level() -> None:
    values, level = np.random.default_rng(6).random(80) - 1.0, 4.0
    for size in (0, 100):
        low = kernels.least_mean(values, np.arange(80), 1.0, size, 0.0, level)
        sup = [max(plain_evidence(values[:n], 1.0, -d, size) for n in range(1, 81)) for d in (low, low + 0.01)]
        assert sup[0] >= level - 1e-9
        assert sup[1] < level + 0.5
        assert low < values.mean()
    everything = kernels.least_mean(values, np.arange(80), 1.0, 80, 0.0, level)
    assert everything == pytest.approx(values.mean(), abs=2e-3)
