"""Planning: how many samples will an experiment take, if the means are what one expects them to be?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mobai.errors import InputError
from mobai.problem import Instance, Problem
from mobai.theory.forecast import forecast_samples
from mobai.theory.lower_bound import LowerBound, lower_bound

_MOST_PAIRS, _LEAST_SHARE = 10, 0.005


@dataclass(frozen=True, eq=False)
class Plan:
    """What an experiment will take.

    Attributes
    ----------
    instance
        The means and noise that it is planned for.
    bound
        The lower bound, with the best shares of the samples.
    lowest
        The least mean number of samples of any rule with error at most delta.
    expected, uniform
        Forecasts for a certified stop: with the best shares, and with equal ones.

    Where samples have costs, the best shares are those that spend least.
    """

    instance: Instance
    bound: LowerBound
    lowest: float
    expected: float
    uniform: float

    @property
    def spends(self) -> tuple[float, float, float] | None:
        """What these three cost; None where all samples cost the same."""
        costs, average = self.instance.costs, self.bound.average_cost
        if costs is None:
            return None
        return self.lowest * average, self.expected * average, self.uniform * float(costs.mean())

    @property
    def bottlenecks(self) -> list[tuple[str, str, str, float]]:
        """The pairs that make the instance hard, hardest first: objective, best, rival and share of the difficulty."""
        instance, bound = self.instance, self.bound
        order = np.argsort(bound.prices, axis=None, kind="stable")[::-1][:_MOST_PAIRS]
        rows = []
        for arm, m in zip(*np.unravel_index(order, bound.prices.shape), strict=True):
            price = float(bound.prices[arm, m])
            if price > _LEAST_SHARE:
                best = instance.arms[bound.answers[m]]
                rows.append((instance.objectives[m].name, best, instance.arms[arm], price))
        return rows

    @property
    def facts(self) -> dict[str, Any]:
        """What there is, as plain data."""
        instance, bound = self.instance, self.bound
        best = [instance.arms[arm] for arm in bound.answers]
        spends = ("spend_lower_bound", "spend_expected", "spend_uniform")
        return {
            "best_arms": dict(zip(instance.problem.objective_names, best, strict=True)),
            "c_star": bound.value,
            "relative_gap": bound.gap,
            "exact": bound.exact,
            "shares": dict(zip(instance.arms, bound.weights.tolist(), strict=True)),
            "samples_lower_bound": self.lowest,
            "samples_expected": self.expected,
            "samples_uniform": self.uniform,
            **({} if self.spends is None else dict(zip(spends, self.spends, strict=True))),
            "threshold": "mixture",
            "certified": True,
            "bottlenecks": [
                {"objective": objective, "best": first, "rival": rival, "share": share}
                for objective, first, rival, share in self.bottlenecks
            ],
        }


def make_plan(instance: Instance, log_inv_delta: float) -> Plan:
    """Return what an experiment on an instance will take."""
    bound, equal = lower_bound(instance), np.full(instance.shape[0], 1 / instance.shape[0])
    return Plan(
        instance,
        bound,
        bound.samples(log_inv_delta=log_inv_delta),
        forecast_samples(instance, bound.weights, log_inv_delta),
        forecast_samples(instance, equal, log_inv_delta),
    )


def warm_up_planning() -> None:
    """Compile what planning needs, or load it from the cache."""
    problem = Problem(2, ["a:bernoulli", "b:unknown-variance"], guardrails=["c:bernoulli:at-most=0.5"])
    wanted = [Expectation(0.1, 0.1), Expectation(0, 1, 1), Expectation(0.1)]
    make_plan(expected_instance(problem, wanted), 3.0)
    make_plan(Instance([[1.0], [0.0]]), 3.0)


class Expectation(NamedTuple):
    """What one expects of a metric: a usual mean, by how much the best arm is better, and the spread of its rewards.

    The spread is None where the family says it; the difference does not matter for a guardrail.
    """

    usual: float
    difference: float = 0.0
    spread: float | None = None


def expected_instance(problem: Problem, expected: Sequence[Expectation]) -> Instance:
    """Return an instance as one expects it, given per metric: each has another arm that is best, the others are usual.

    Examples
    --------
    >>> problem = Problem(["A", "B", "C"], ["click:bernoulli", "seconds:min:unknown-variance"])
    >>> expected_instance(problem, [Expectation(0.1, 0.02), Expectation(30, 3, 10)]).means
    array([[ 0.12, 30.  ],
           [ 0.1 , 27.  ],
           [ 0.1 , 30.  ]])
    """
    arms = problem.shape[0]
    means = np.tile([one.usual for one in expected], (arms, 1)).astype(float)
    for m, objective in enumerate(problem.objectives):
        if not expected[m].difference > 0:
            raise InputError(f"difference of {objective.name!r} must be a number above 0")
        means[m % arms, m] += objective.sign * expected[m].difference
    for m, metric in enumerate(problem.metrics):
        low, high = metric.family.range
        if not (low < means[:, m].min() and means[:, m].max() < high):
            raise InputError("means", f"must be above {low:g} and below {high:g}", metric=metric.name)
    stated = zip(problem.metrics, expected, strict=True)
    spreads = [np.nan if one.spread is None else metric.family.noise_of(one.spread) for metric, one in stated]
    sd = np.where(np.isnan(problem.sd), spreads, problem.sd)
    return Instance(
        means, sd, problem.arms, problem.objectives, guardrails=problem.guardrails, baseline=problem.baseline
    )
