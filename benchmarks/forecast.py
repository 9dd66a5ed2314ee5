"""How far are real runs from the noise-free forecast of ``mobai plan``? The table of docs/planning.md."""

from __future__ import annotations

import math

import numpy as np

from mobai import lower_bound, simulate
from mobai.lab.instances import ads, snw, synthetic
from mobai.theory.forecast import forecast_samples

CASES = {"ads": ads(), "synthetic:seed=0": synthetic(seed=0), "snw:negate_area=false": snw(negate_area=False)}


def main(delta: float = 0.05, trials: int = 200) -> None:
    """Print a Markdown table, one row per instance."""
    print("| instance | lower bound | forecast | top-two, mean | mean / forecast |")
    print("|---|---|---|---|---|")
    for name, instance in CASES.items():
        bound = lower_bound(instance)
        forecast = forecast_samples(instance, bound.weights, -math.log(delta))
        results = simulate(instance, "top-two", deltas=delta, trials=trials)
        runs = [trial.pulls[0, 0] for trial in results.trials]
        mean, half = np.mean(runs), 1.96 * np.std(runs, ddof=1) / math.sqrt(trials)
        line = f"| {name} | {bound.samples(delta):,.0f} | {forecast:,.0f} | {mean:,.0f} ± {half:,.0f} |"
        print(f"{line} {mean / forecast:.2f} |")


if __name__ == "__main__":
    main()
