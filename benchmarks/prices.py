"""What sampling by costs saves: the spend of rules that know what samples cost, over that of those that do not.

The bound is the least mean spend of any rule with error at most delta (of Gaussian rewards, where it is not exact).
How much can be saved depends on which arm is dear: "at best" is the spend with the best shares over that with the
shares that are best for samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai import Instance, lower_bound, simulate

DELTA, TRIALS = 0.05, 100
RULES = ("top-two", "mo-bai", "track-and-stop")


class Market(NamedTuple):
    """Arms and what a sample of each costs."""

    name: str
    means: list[list[float]]
    objectives: list[str]
    costs: list[float]
    sd: float | None = None


_SCORES = ["score:bounded=0..1"]
MARKETS = (
    Market("two arms, 1:1", [[0.5], [0.0]], ["x:gaussian=1"], [1, 1]),
    Market("two arms, 3:1", [[0.5], [0.0]], ["x:gaussian=1"], [3, 1]),
    Market("two arms, 20:1", [[0.5], [0.0]], ["x:gaussian=1"], [20, 1]),
    Market("a dear best model, 20:1", [[0.9], [0.8], [0.78], [0.75], [0.7]], ["right:bernoulli"], [20, 1, 1, 1, 1]),
    Market("a cheap best model, 1:20", [[0.9], [0.8], [0.78], [0.75], [0.7]], ["right:bernoulli"], [1, 20, 1, 1, 1]),
    Market(
        "two metrics, 1 to 20",
        [[0.6, 0.3], [0.5, 0.5], [0.55, 0.45], [0.4, 0.35], [0.5, 0.4]],
        ["score:bounded=0..1", "speed:bounded=0..1"],
        [20, 1, 5, 1, 2],
        0.2,
    ),
    Market("one dear arm of eight, 100:1", [[0.7], *([0.6] for _ in range(7))], _SCORES, [100, *[1] * 7], 0.2),
    Market(
        "each twice as dear, 1 to 64",
        [[0.5], [0.6], [0.55], [0.4], [0.7], [0.5], [0.6]],
        _SCORES,
        [2**n for n in range(7)],
        0.2,
    ),
)


class Spend(NamedTuple):
    """The mean spend with costs known, and without, the bound, the ratio at best, and the wrong answers of each."""

    aware: float
    blind: float
    bound: float
    at_best: float
    errors: tuple[float, float]


def spend(market: Market, rule: str, trials: int = TRIALS) -> Spend:
    """Return what a rule spends on a market."""
    costs, found = np.array(market.costs, float), list[tuple[float, float]]()
    bound = 0.0
    for known in (True, False):
        stated = market.costs if known else None
        instance = Instance(market.means, market.sd, objectives=market.objectives, costs=stated)
        results = simulate(instance, rule, trials=trials, deltas=[DELTA], seed=1, n_jobs=2)
        (row,) = results.summary().rows
        bound = float(row.bound or 0) if known else bound
        found.append((float(np.mean([trial.arm_pulls[0, 0] @ costs for trial in results.trials])), row.error))
    (aware, wrong), (blind, blindly_wrong) = found
    for_samples = lower_bound(Instance(market.means, market.sd, objectives=market.objectives))
    at_best = bound / (for_samples.samples(DELTA) * float(for_samples.weights @ costs))
    return Spend(aware, blind, bound, at_best, (wrong, blindly_wrong))


def main() -> None:
    """Print the table."""
    print("| costs | rule | spend, costs known | spend, not known | ratio | at best | bound | wrong |")
    print("|---|---|---|---|---|---|---|---|")
    for market in MARKETS:
        for rule in RULES:
            found = spend(market, rule)
            ratios = f"{found.aware / found.blind:.2f} | {found.at_best:.2f}"
            cells = f"{found.aware:,.0f} | {found.blind:,.0f} | {ratios} | {found.bound:,.0f}"
            print(f"| {market.name} | {rule} | {cells} | {found.errors} |", flush=True)


if __name__ == "__main__":
    main()
