"""The rewards people have: instances of every family, and how many pulls top-two takes to decide them.

Nothing here depends on how evidence is weighed, so that ``python -m benchmarks.rewards`` runs on earlier versions, too:
it prints a line of JSON per instance. The noise is a function of seed, instance, arm and pull, in all versions.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

from mobai import Family, Instance, Objective, Policy, simulate
from mobai.lab.instances import snw, synthetic
from mobai.problem.families import FAMILIES

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
# What separates five arms from the best one, in two objectives.
BEHIND = np.array([[0.0, -0.25], [-0.25, 0.0], [-0.35, -0.5], [-0.5, -0.7], [-0.7, -0.35]])


@dataclass(frozen=True)
class Scores(Family):
    """Scores between 0 and 1 with a Beta distribution."""

    word: ClassVar[str] = "scores"
    model: ClassVar[str] = "unit"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        size = mean * (1 - mean) / sd**2 - 1
        return np.asarray(beta.ppf(ndtr(noise), mean * size, (1 - mean) * size))


@dataclass(frozen=True)
class Ratings(Family):
    """Whole numbers from 1 to 5: a usual distribution of stars, tilted until it has the mean."""

    word: ClassVar[str] = "ratings"
    model: ClassVar[str] = "unit"
    range: ClassVar[tuple[float, float]] = (1.0, 5.0)

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:  # noqa: ARG002
        stars, low, high = np.arange(1.0, 6.0), -20.0, 20.0
        for _ in range(100):
            tilt = 0.5 * (low + high)
            shares = np.array([0.05, 0.1, 0.25, 0.35, 0.25]) * np.exp(tilt * (stars - 3))
            shares /= shares.sum()
            low, high = (tilt, high) if shares @ stars < mean else (low, tilt)
        return np.asarray(stars[np.minimum(np.searchsorted(np.cumsum(shares), ndtr(noise)), 4)])


@dataclass(frozen=True)
class Revenue(Family):
    """Nothing from 95 % of the visitors; from the others what they paid, a fifth of the cap of 1 on average or less."""

    word: ClassVar[str] = "revenue"
    model: ClassVar[str] = "unit"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:  # noqa: ARG002
        buyer = (ndtr(noise) - 0.95) / 0.05
        paid = beta.ppf(np.clip(buyer, 1e-12, 1 - 1e-12), 80 * mean, 4 - 80 * mean)
        return np.where(buyer < 0, 0.0, paid)


# Results write families down by their word.
FAMILIES.update({family.word: family for family in (Scores, Ratings, Revenue)})


# The best mean, the unit of what separates the others, the family, and the sd where it does not follow.
FIVE_ARMS: dict[str, tuple[float, float, str, float | None]] = {
    "gaussian": (0.0, 1.0, "gaussian", 1.0),
    "coins near 0.5": (0.5, 0.2, "bernoulli", None),
    "coins near 0.05": (0.06, 0.045, "bernoulli", None),
    "ratings 1..5": (4.0, 0.6, "ratings", 1.1),
    "scores in [0, 1]": (0.6, 0.1, "scores", 0.13),
    "revenue": (0.01, 0.01, "revenue", 0.02),
}


def five_arms(best: float, unit: float, family: str, sd: float | None) -> Instance:
    """Return five arms and two objectives of one family."""
    objectives = [Objective("one", "max", FAMILIES[family]()), Objective("two", "max", FAMILIES[family]())]
    return Instance(best + unit * BEHIND, sd, objectives=objectives)


def with_family(instance: Instance, family: str) -> Instance:
    """Return the same means and noise under another family."""
    objectives = [Objective(o.name, o.direction, FAMILIES[family]()) for o in instance.objectives]
    return Instance(instance.means, instance.sd, instance.arms, objectives)


def instance_of(name: str) -> Instance:
    """Return an instance by its name; ``NAME as FAMILY`` states another family for the same rewards."""
    name, _, family = name.partition(" as ")
    kind, _, seed = name.partition(" ")
    if kind == "synthetic":
        world = synthetic(int(seed))
    elif kind == "snw":
        world = snw(negate_area=False)
    else:
        world = five_arms(*FIVE_ARMS[name])
    return with_family(world, family) if family else world


def pulls_of(name: str, delta: float, trials: int) -> dict[str, Any]:
    """Return the mean number of pulls of top-two with focus, its 95 % interval, and the share of wrong trials."""
    results = simulate(instance_of(name), Policy(), deltas=delta, trials=trials, n_jobs=-1, focus=True)
    (row,) = results.summary()
    return {"name": name, "delta": delta, "mean": row.mean, "interval": row.mean_interval, "error": row.error}


def main() -> None:
    """Print what is asked for: trials, delta and names."""
    trials, delta, *names = sys.argv[1:]
    for name in names:
        print(json.dumps(pulls_of(name, float(delta), int(trials))), flush=True)


if __name__ == "__main__":
    main()
