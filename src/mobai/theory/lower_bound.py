"""The lower bound c* of the paper's Proposition 3.1: no delta-PAC policy can need fewer samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mobai import views
from mobai.errors import InputError, TieError
from mobai.problem import FloatArray, Instance, IntArray, Problem
from mobai.theory.certificate import relative_gap
from mobai.theory.confidence import binary_relative_entropy, resolve_log_inv_delta
from mobai.theory.limited_bound import limit_rates, solve_limited
from mobai.theory.oracle import solve_oracle
from mobai.theory.pairs import Pairs, floor_mass, shares_of_samples

_MOST_ANSWERS = 10_000


@dataclass(frozen=True, eq=False)
class LowerBound:
    """How hard an instance is, with a certificate.

    Attributes
    ----------
    value
        c* (or c~ when eta > 0): samples per nat of evidence under the best weights; spend, where samples have costs.
    weights
        The oracle weights: the share of samples each arm should get. Shape (K,).
    prices
        How much each pair (arm, objective) contributes to the difficulty: shares of one, zero for pairs that are no
        bottleneck. Raising a pair's gap by 1 % lowers c* by about its price times 2 %. Shape (K, M).
    lower, upper
        Certified bounds on 1/value.
    answers
        The arms it is cheapest to show right, one per objective: the best ones, or with eps others within eps of them.
    exact
        Whether the bound is that of the families stated. Otherwise it is for Gaussian rewards of the same means and
        standard deviations, which is close when gaps are small, and no strict bound.
    problem
        The arms and objectives it speaks of.
    average_cost
        What a sample costs on average with these weights.
    """

    value: float
    weights: FloatArray
    prices: FloatArray
    lower: float
    upper: float
    answers: IntArray
    exact: bool
    problem: Problem
    average_cost: float = 1.0

    def _repr_html_(self) -> str:
        return views.bound_html(self)

    @property
    def gap(self) -> float:
        """The relative gap between the two bounds: at most 1e-9."""
        return relative_gap(self.lower, self.upper)

    def samples(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> float:
        """Return c* kl(delta, 1 - delta): no policy with error at most delta needs fewer samples on average.

        With eta > 0 it is c~ that counts, and it binds policies that keep every arm's expected share above the floor.
        Where samples have costs it is how many the cheapest way takes, which is not the shortest.
        """
        return self.spend(delta, log_inv_delta=log_inv_delta) / self.average_cost

    def spend(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> float:
        """Return c* kl(delta, 1 - delta): no policy with error at most delta spends less on average."""
        return self.value * binary_relative_entropy(resolve_log_inv_delta(delta, log_inv_delta))


def lower_bound(instance: Instance, eta: float = 0.0) -> LowerBound:
    """Compute c* (eta = 0) or c~ (weights kept above ``eta / (K (1 + eta))``) and the oracle weights.

    With an indifference zone (``eps`` of an objective) several answers may be right, and the cheapest combination of
    them counts; then ``samples`` bounds the mean for delta to 0 only (Degenne and Koolen 2019), not at every delta.

    Raises
    ------
    TieError
        When an objective has several best arms: the bound is infinite.

    Examples
    --------
    Two arms one standard deviation apart need four samples per arm and nat of evidence:

    >>> bound = lower_bound(Instance([[1.0], [0.0]]))
    >>> round(bound.value, 9), bound.weights.round(9)
    (8.0, array([0.5, 0.5]))
    """
    if not isinstance(instance, Instance):
        raise InputError("instance", f"must be an Instance, not {instance!r}")
    mass = floor_mass(eta)
    instance.check_unique_best()
    if instance.problem.guardrails:
        return _with_limits(instance, mass)
    found = [(solve_oracle(Pairs.of(instance, answers), mass), answers) for answers in _right_answers(instance)]
    oracle, answers = max(found, key=lambda pair: pair[0].upper)
    if not oracle.upper > 0:
        raise InputError("instance", "gaps must not be so small, compared with the noise, that their squares are 0")
    exact = all(objective.family.known_noise for objective in instance.objectives)
    # The upper bound on the rate gives the value that is a true lower bound on samples.
    return LowerBound(
        value=1 / oracle.upper,
        weights=shares_of_samples(instance, oracle.weights),
        prices=oracle.prices,
        lower=oracle.lower,
        upper=oracle.upper,
        answers=answers,
        exact=exact,
        problem=instance.problem,
        average_cost=_average_cost(instance, oracle.weights),
    )


def _with_limits(instance: Instance, mass: float) -> LowerBound:
    """Compute the bound where limits must be shown to be kept or broken, too."""
    if mass > 0:
        raise InputError("eta", "must be 0 with guardrails")
    on_limit = (limit_rates(instance) == 0) & [one.of is None for one in instance.problem.guardrails]
    if on_limit.any():
        arm, c = np.argwhere(on_limit)[0]
        raise TieError(
            f"{instance.arms[arm]!r} is on the limit, and no "
            "number of samples can show on which side (say with eps what is tolerated)",
            metric=instance.problem.guardrails[c].metric,
        )
    weights, lower, upper = solve_limited(instance)
    return LowerBound(
        value=1 / upper,
        weights=shares_of_samples(instance, weights),
        prices=np.zeros(instance.shape),
        lower=lower,
        upper=upper,
        answers=instance.best_arms,
        exact=False,
        problem=instance.problem,
        average_cost=_average_cost(instance, weights),
    )


def _average_cost(instance: Instance, spend: FloatArray) -> float:
    """Return what a sample costs on average, given the shares of the spend."""
    return 1.0 if instance.costs is None else float(spend.sum() / (spend / instance.costs).sum())


def _right_answers(instance: Instance) -> Iterator[IntArray]:
    """Return every combination of right answers that finitely many samples can show right."""
    inside = instance.gaps < instance.problem.eps * (1 - 1e-9)
    inside[instance.best_arms, np.arange(instance.shape[1])] = True
    choices = [np.flatnonzero(column) for column in inside.T]
    count = math.prod(len(arms) for arms in choices)
    if count > _MOST_ANSWERS:
        raise InputError(
            "eps",
            f"{count:,} combinations of arms are right answers, and at most {_MOST_ANSWERS:,} can be compared; "
            "choose a smaller eps",
        )
    return (np.array(arms, np.intp) for arms in itertools.product(*choices))
