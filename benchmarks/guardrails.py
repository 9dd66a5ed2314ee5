"""What guardrails cost and save: mean pulls with and without a limit, on three instances."""

from __future__ import annotations

import numpy as np

from mobai import Instance, simulate

DELTA = 0.05
# Clicks and errors of each arm; at most a tenth may be errors.
INSTANCES = {
    "two contenders, one of which breaks it": ([0.30, 0.50, 0.48, 0.34, 0.25], [0.02, 0.20, 0.02, 0.03, 0.02]),
    "all arms keep it, clearly": ([0.30, 0.50, 0.42, 0.34, 0.25], [0.02, 0.03, 0.02, 0.03, 0.02]),
    "the best arm keeps it, narrowly": ([0.30, 0.50, 0.42, 0.34, 0.25], [0.02, 0.09, 0.02, 0.03, 0.02]),
}


def measure(instance: Instance, trials: int) -> tuple[float, float, float]:
    """Return the mean pulls, the half width of their 95 % interval, and the share of errors."""
    results = simulate(instance, "top-two", deltas=[DELTA], trials=trials, focus=True, n_jobs=2)
    pulls = np.array([trial.pulls[0, 0] for trial in results.trials])
    wrong = 1 - np.mean([trial.correct[0, 0] for trial in results.trials])
    return float(pulls.mean()), float(1.96 * pulls.std(ddof=1) / np.sqrt(trials)), float(wrong)


def main(trials: int = 40) -> None:
    """Print the table of docs/live.md."""
    print(f"mean pulls of top-two with focus, delta = {DELTA:g}, {trials} trials; without the limit, and with it")
    for name, (clicks, errors) in INSTANCES.items():
        plain = Instance(np.array([clicks]).T, objectives=["click:bernoulli"])
        limited = Instance(
            np.array([clicks, errors]).T,
            objectives=["click:bernoulli"],
            guardrails=["errors:bernoulli:at-most=0.1:eps=0.02"],
        )
        cells = [
            f"{mean:,.0f} ± {half:,.0f} (errors {wrong:.2f})"
            for mean, half, wrong in (measure(one, trials) for one in (plain, limited))
        ]
        print(f"  {name:40}{cells[0]:>28}{cells[1]:>28}", flush=True)


if __name__ == "__main__":
    main()
