"""What rewards of other shapes do to ``unknown-variance``, and what waiting for rare extremes costs: docs/families.md.

Shapes have mean 0 and variance 1. *Alike*: both arms have the shape, the better one 0.2 more. *One tight*: the better
arm is Gaussian with a tenth of the scatter, the other has the shape upside down and a mean 0.05 lower, so that it looks
better until its rare bad values have come. A decision for the worse arm that calls itself certified at that very moment
is counted, in runs with at least 200 rewards per arm.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mobai import GLR, Instance, Problem, TopTwo
from mobai.analysis.analyse import analyse
from mobai.engine.engine import Engine
from mobai.lab.environment import Environment
from mobai.lab.instances import find_instance
from mobai.problem import FloatArray

DELTA, LEAST = 0.05, 200
Draw = Callable[[np.random.Generator, int], FloatArray]


def _mixed(chance: float, high: float) -> Draw:
    """Return the shape of values of which a share is higher; both parts scatter a little."""

    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        values = rng.normal(1.0, 0.1, n) * np.where(rng.random(n) < chance, high, 1.0)
        mean = 1.0 + chance * (high - 1.0)
        square = 1.01 * (1.0 + chance * (high**2 - 1.0))
        return (values - mean) / math.sqrt(square - mean**2)

    return draw


def _zero_inflated(rng: np.random.Generator, n: int) -> FloatArray:
    return (rng.exponential(size=n) * (rng.random(n) < 0.2) - 0.2) / math.sqrt(0.4 - 0.04)


def _lognormal(sigma: float) -> Draw:
    mean, spread = math.exp(sigma**2 / 2), math.sqrt(math.expm1(sigma**2) * math.exp(sigma**2))
    return lambda rng, n: (rng.lognormal(0.0, sigma, n) - mean) / spread


SHAPES: dict[str, Draw] = {
    "Gaussian": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-math.sqrt(3), math.sqrt(3), n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1.0,
    "lognormal, sigma 0.5": _lognormal(0.5),
    "lognormal, sigma 1": _lognormal(1.0),
    "Pareto, index 3": lambda rng, n: (rng.pareto(3.0, n) - 0.5) / math.sqrt(0.75),
    "Student, 3 degrees": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3),
    "80 % zeros, then exponential": _zero_inflated,
    "gamma, shape 0.3": lambda rng, n: (rng.gamma(0.3, size=n) - 0.3) / math.sqrt(0.3),
    "2 % at 20 times": _mixed(0.02, 20.0),
    "5 % at 10 times": _mixed(0.05, 10.0),
    "half at 3 times": _mixed(0.5, 3.0),
}


def rows(shape: Draw, tight: bool, rng: np.random.Generator, n: int) -> list[dict[str, object]]:
    """Return a log of two arms in turn, ``good`` and ``bad``."""
    good, bad = (0.1 * rng.normal(size=n), -0.05 - shape(rng, n)) if tight else (0.2 + shape(rng, n), shape(rng, n))
    pairs = zip(good.tolist(), bad.tolist(), strict=True)
    return [{"arm": arm, "x": value} for pair in pairs for arm, value in zip(("good", "bad"), pair, strict=True)]


def wrong_and_doubted(shape: Draw, tight: bool, runs: int, n: int = 1000) -> tuple[int, int, int, int]:
    """Return how many runs decided, and how many decisions were wrong, wrong and certified, right and doubted."""
    found = np.zeros(4, int)
    for run in range(runs):
        log = rows(shape, tight, np.random.default_rng([run, tight]), n)
        rare = math.log(1 / DELTA) / LEAST
        whole = analyse(log, ["x:unknown-variance"], delta=DELTA, ordered=True, rare=rare).verdict.decisions[0]
        if whole is not None:
            then = analyse(log[: whole.pull], ["x:unknown-variance"], delta=DELTA, ordered=True, rare=rare).verdict
            wrong = then.answers[0] == "bad"
            found += (1, wrong, wrong and then.certified, not wrong and not then.certified)
    return tuple(found.tolist())


def pulls_until_decided(truth: Instance, rare: float | None, trial: int) -> int:
    """Return the pulls of top-two until everything is decided."""
    x = math.log(1 / DELTA)
    engine = Engine(truth.problem, TopTwo(), GLR(), focus_log_inv_delta=x, log_inv_delta=x, rare=rare)
    world, rng = Environment(truth, seed=trial), np.random.default_rng(trial)
    while not engine.stopped():
        arm = engine.choose(rng)
        engine.tell(engine.ask(arm), world.pull(arm))
    return engine.told


def of_unknown_variance(name: str) -> Instance:
    """Return an instance whose noise is not known."""
    known = find_instance(name)
    names = [f"{objective.name}:unknown-variance" for objective in known.problem.objectives]
    problem = Problem(known.problem.arms, names)
    return Instance(known.means, known.problem.sd, arms=problem.arms, objectives=problem.objectives)


def main(runs: int = 200, trials: int = 20) -> None:
    """Print both tables."""
    print(f"| shape | arms | decided of {runs} | wrong | wrong and certified | right, but doubted |")
    print("|---|---|---:|---:|---:|---:|")
    for name, shape in SHAPES.items():
        for tight in (False, True):
            counts = " | ".join(map(str, wrong_and_doubted(shape, tight, runs)))
            print(f"| {name} | {'one tight' if tight else 'alike'} | {counts} |", flush=True)
    print("\n| instance | rare=None | rare=0.02 | ratio |\n|---|---:|---:|---:|")
    for name in ("ads", "synthetic:seed=0", "snw:negate_area=false"):
        truth = of_unknown_variance(name)
        pulls = [[pulls_until_decided(truth, rare, n) for n in range(trials)] for rare in (None, 0.02)]
        without, with_it = np.mean(pulls, axis=1)
        print(f"| `{name}` | {without:,.0f} | {with_it:,.0f} | {with_it / without:.2f} |", flush=True)


if __name__ == "__main__":
    main()
