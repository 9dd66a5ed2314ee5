"""Samples until the better of two quantiles is known: bets at every candidate beside two confidence sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mobai import Objective, Problem
from mobai.kernels.evidence.scores import MIXTURE, Scoring
from mobai.kernels.trials.engine import weigh
from mobai.problem import FloatArray
from mobai.theory.observations import Moment, Observations
from mobai.theory.thresholds import no_prices

DELTA, RUNS, GAP = 0.05, 40, 0.3
_MOST = 60_000
SHAPES: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "lognormal": lambda rng: np.exp(5 + 0.5 * rng.normal(size=_MOST)),
    "exponential": lambda rng: 200 * rng.exponential(size=_MOST),
    "bimodal": lambda rng: np.where(
        rng.random(_MOST) < 0.8, 100 * np.exp(0.2 * rng.normal(size=_MOST)), 600 * np.exp(0.2 * rng.normal(size=_MOST))
    ),
}


class Samples(NamedTuple):
    """Mean samples of each arm until the better quantile is known, and how often the answer was wrong."""

    ours: float
    sequences: float
    wrong: tuple[int, int]


def looks() -> Iterator[int]:
    """Return after how many samples of each arm one looks: every two per cent."""
    n = 10
    while n < _MOST:
        yield n
        n = math.ceil(1.02 * n)


def howard_ramdas(level: float, n: int, alpha: float) -> float:
    """Return how far above and below a level the empirical quantiles are that enclose the true one, at all times.

    The stitched confidence sequence for a fixed quantile of Howard and Ramdas (2022, Bernoulli 28(3), theorem 1).
    """
    grown = 1.4 * math.log(math.log(2.1 * n)) + math.log(10 / alpha)
    return 1.5 * math.sqrt(level * (1 - level) * grown / n) + 0.8 * grown / n


def with_sequences(one: FloatArray, other: FloatArray, level: float) -> tuple[int, bool]:
    """Return when two sequences, each with half of delta, are apart, and whether the smaller one was found."""
    for n in looks():
        width, ends = howard_ramdas(level, n, DELTA / 2), []
        for values in (np.sort(one[:n]), np.sort(other[:n])):
            low, high = math.floor(n * (level - width)), math.ceil(n * (level + width))
            ends.append((values[low - 1] if low >= 1 else 0.0, values[high] if high < n else math.inf))
        if ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]:
            return n, bool(ends[0][1] < ends[1][0])
    return _MOST, True


def with_bets(one: FloatArray, other: FloatArray, level: float) -> tuple[int, bool]:
    """Return when there is enough evidence for a pair, and whether it speaks for the smaller quantile."""
    problem = Problem(2, [Objective.parse(f"time:min:p{100 * level:g}:bounded=0..30000")])
    seen, found, before = Observations(problem), np.empty(1), 0
    for n in looks():
        rewards = -np.concatenate([one[before:n], other[before:n]])[:, None]
        arms = np.repeat([0, 1], n - before)
        seen.tell_all(Moment(arms, rewards, np.ones(len(arms), np.bool_)))
        weigh(Scoring(MIXTURE, no_prices(2), 0.0), seen.arrays, found)
        if found[0] > math.log(1 / DELTA):
            return n, int(seen.leaders[0]) == 0
        before = n
    return _MOST, True


def compare(shape: str, level: float, gap: float = GAP, runs: int = RUNS) -> Samples:
    """Compare the two on arms of which one is slower by a share."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng((run, int(1000 * level), sorted(SHAPES).index(shape)))
        fast, slow = SHAPES[shape](rng), (1 + gap) * SHAPES[shape](rng)
        found.append((with_bets(fast, slow, level), with_sequences(fast, slow, level)))
    ours, sequences = (np.mean([pair[way][0] for pair in found]) for way in (0, 1))
    wrong = tuple(sum(not pair[way][1] for pair in found) for way in (0, 1))
    return Samples(float(ours), float(sequences), wrong)  # type: ignore[arg-type]


def main() -> None:
    """Print the table."""
    print(f"| one arm slower by {GAP:.0%} | level | bets | two sequences | ratio | wrong |")
    print("|---|---|---|---|---|---|")
    for shape in SHAPES:
        for level in (0.5, 0.9, 0.95, 0.99):
            found = compare(shape, level)
            ratio = f"{found.ours / found.sequences:.2f}"
            print(
                f"| {shape} | p{100 * level:g} | {found.ours:,.0f} | {found.sequences:,.0f} | {ratio} | {found.wrong} |"
            )


if __name__ == "__main__":
    main()
