"""Races: what a report costs with many arms, a race over a table, and how busy workers are."""

from __future__ import annotations

import statistics
import time

import numpy as np

import mobai
from mobai import Experiment, TableInstance
from mobai.live.assignments import Assignment

_REPORTS, _NAP = 600, 0.05


def report_seconds(arms: int, metrics: int, items: int = 1000) -> float:
    """Return the median time of a report, and of what it decides, told one by one while all arms are open."""
    names = [f"m{m}" for m in range(metrics)]
    test = Experiment.create(
        "memory:",
        f"{arms}x{metrics}",
        [f"arm{i}" for i in range(arms)],
        [f"{n}:bounded=0..1" for n in names],
        items=items,
    )
    rng, found, waiting = np.random.default_rng(0), list[float](), list[Assignment]()
    while len(found) < _REPORTS + arms:
        waiting = waiting or test.ask(arms)
        values = dict(zip(names, np.clip(0.5 + 0.2 * rng.normal(size=metrics), 0, 1).tolist(), strict=True))
        one, start = waiting.pop(), time.perf_counter()
        test.tell(one, values)
        found.append(time.perf_counter() - start)
    return statistics.median(found[-_REPORTS:])


def table() -> TableInstance:
    """Return 1,000 items x 10 arms x 3 metrics, with gaps as they are among prompts or models."""
    rng = np.random.default_rng(1)
    values = rng.normal(0.5, 0.15, (1000, 1, 3)) + rng.normal(0, 0.1, (1000, 10, 3)) + rng.normal(0, 0.03, (1, 10, 3))
    return TableInstance(
        np.clip(values, 0, 1), [f"arm{i}" for i in range(10)], [f"m{m}:bounded=0..1" for m in range(3)]
    )


def race_seconds(over: TableInstance, design: str, trials: int = 50) -> tuple[float, float]:
    """Return the time of one race, and how many measurements it made."""
    over.race(design, trials=2)
    start = time.perf_counter()
    races = over.race(design, trials=trials)
    return (time.perf_counter() - start) / trials, float(races.measurements.mean())


def busy(jobs: int) -> tuple[float, int, int]:
    """Return how much of their time workers are busy, measurements made, and the most made in vain for an arm."""
    rng = np.random.default_rng(2)
    level = rng.random(400)

    def measure(arm: str, item: int) -> dict[str, float | None]:
        time.sleep(_NAP)
        return {"score": 0.5 * level[item] + 0.05 * "abcdefgh".index(arm)}

    start = time.perf_counter()
    found = mobai.race(list("abcdefgh"), 400, measure, ["score:bounded=0..1"], n_jobs=jobs)
    took = time.perf_counter() - start
    measured = {arm: sum(row["arm"] == arm for row in found.rows()) for arm in "abcdefgh"}
    vain = max(measured[one.arm] - one.out_at for one in found.status.standings if one.out_at is not None)
    return found.made * _NAP / (jobs * took), found.made, vain


def main() -> None:
    """Print what was measured."""
    small, large = report_seconds(3, 2), report_seconds(100, 5)
    print("| a report with its decisions, 1,000 items | us | ratio |\n|---|---|---|")
    print(f"| 3 arms, 2 metrics | {small * 1e6:,.0f} | 1 |")
    print(f"| 100 arms, 5 metrics | {large * 1e6:,.0f} | {large / small:.2f} |\n")
    print("| a race over a table of 1,000 x 10 x 3 | ms | measurements |\n|---|---|---|")
    for design, kind in (("items", "finite benchmark, 10,000 in all"), ("stream", "stream of items drawn from it")):
        seconds, made = race_seconds(table(), design)
        print(f"| {kind} | {seconds * 1e3:.1f} | {made:,.0f} |")
    print(f"\n| workers, {_NAP * 1e3:.0f} ms per measurement | busy | measurements | most made in vain for an arm |")
    print("|---|---|---|---|")
    for jobs in (1, 8):
        share, made, vain = busy(jobs)
        print(f"| {jobs} | {share:.1%} | {made:,} | {vain} |")


if __name__ == "__main__":
    main()
