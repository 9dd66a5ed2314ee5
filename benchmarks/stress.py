"""How often does the surrogate program need HiGHS, and what gap is left? The table of docs/surrogate.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mobai import Instance, surrogate_proportions
from mobai.problem import FloatArray

Draw = Callable[[np.random.Generator, int, int], tuple[FloatArray, FloatArray | float, FloatArray]]


def ordinary(rng: np.random.Generator, arms: int, objectives: int) -> tuple[FloatArray, FloatArray | float, FloatArray]:
    """Normal means, random weights."""
    return rng.normal(size=(arms, objectives)), 1.0, rng.dirichlet(np.ones(arms))


def zeros(rng: np.random.Generator, arms: int, objectives: int) -> tuple[FloatArray, FloatArray | float, FloatArray]:
    """All weight on at most three arms."""
    weights = np.bincount(rng.integers(arms, size=3), minlength=arms) / 3
    return rng.normal(size=(arms, objectives)), 1.0, weights


def equal(rng: np.random.Generator, arms: int, objectives: int) -> tuple[FloatArray, FloatArray | float, FloatArray]:
    """Few distinct means, so that many pairs are alike; best arms tied or not."""
    means = rng.integers(0, 4, (arms, objectives)) + 5.0 * (rng.random((arms, objectives)) < 1 / arms)
    return means, 1.0, np.full(arms, 1 / arms)


def wide(
    rng: np.random.Generator, arms: int, objectives: int, orders: float = 6, noise: float = 0
) -> tuple[FloatArray, FloatArray | float, FloatArray]:
    """Gaps over twelve orders of magnitude, weights over some."""
    means = rng.choice([-1, 1], (arms, objectives)) * 10 ** rng.uniform(-6, 6, (arms, objectives))
    weights = 10 ** rng.uniform(-orders, 0, arms)
    return means, 10 ** rng.uniform(-noise, noise, (arms, objectives)), weights / weights.sum()


KINDS: dict[str, Draw] = {
    "normal means, random weights": ordinary,
    "weights mostly zero": zeros,
    "many equal means, ties": equal,
    "gaps over 12 orders, weights over 6": wide,
    "the same, noise over 4 orders": partial(wide, noise=2),
    "gaps over 12 orders, weights over 12": partial(wide, orders=12),
}


def main(programs: int = 3000) -> None:
    """Print a Markdown table, one line a kind and eta."""
    print("| program | eta | programs | solved by HiGHS | gap above 1e-9 | largest gap |")
    print("|---|---|---|---|---|---|")
    for name, draw in KINDS.items():
        for eta in (0.1, 0.0):
            rng = np.random.default_rng([len(name), int(eta * 10)])
            solved = []
            for _ in range(programs):
                arms, objectives = int(rng.choice([2, 3, 5, 20, 50])), int(rng.choice([1, 2, 3, 10, 30]))
                means, sd, weights = draw(rng, arms, objectives)
                solved.append(surrogate_proportions(Instance(means, sd), weights, eta))
            helped = sum(s.fallback for s in solved)
            gaps = np.array([s.gap for s in solved])
            print(f"| {name} | {eta:g} | {programs:,} | {helped} | {(gaps > 1e-9).sum()} | {gaps.max():.1e} |")


if __name__ == "__main__":
    main()
