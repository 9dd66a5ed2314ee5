"""The lower bound c* of the paper's Proposition 3.1: no delta-PAC policy can need fewer samples."""

from __future__ import annotations

from dataclasses import dataclass

from mobai.problem import FloatArray, Instance
from mobai.theory.certificate import relative_gap
from mobai.theory.confidence import binary_relative_entropy, resolve_log_inv_delta
from mobai.theory.oracle import solve_oracle
from mobai.theory.pairs import Pairs, floor_mass


@dataclass(frozen=True, eq=False)
class LowerBound:
    """How hard an instance is, with a certificate.

    Attributes
    ----------
    value
        c* (or c~ when eta > 0): samples per nat of evidence under the best weights.
    weights
        The oracle weights: the share of samples each arm should get. Shape (K,).
    prices
        How much each pair (arm, objective) contributes to the difficulty: shares of one, zero for pairs that are no
        bottleneck. Raising a pair's gap by 1 % lowers c* by about its price times 2 %. Shape (K, M).
    lower, upper
        Certified bounds on 1/value.
    """

    value: float
    weights: FloatArray
    prices: FloatArray
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """The relative gap between the two bounds: at most 1e-9."""
        return relative_gap(self.lower, self.upper)

    def samples(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> float:
        """Give c* kl(delta, 1 - delta): no policy with error at most delta needs fewer samples on average.

        With eta > 0 it is c~ that counts, and it binds policies that keep every arm's expected share above the floor.
        """
        return self.value * binary_relative_entropy(resolve_log_inv_delta(delta, log_inv_delta))


def lower_bound(instance: Instance, eta: float = 0.0) -> LowerBound:
    """Compute c* (eta = 0) or c~ (weights kept above ``eta / (K (1 + eta))``) and the oracle weights.

    Raises
    ------
    TieError
        When an objective has several best arms: the bound is infinite.

    Examples
    --------
    Two arms one standard deviation apart need four samples an arm and nat of evidence:

    >>> bound = lower_bound(Instance([[1.0], [0.0]]))
    >>> round(bound.value, 9), bound.weights.round(9)
    (8.0, array([0.5, 0.5]))
    """
    oracle = solve_oracle(Pairs.of(instance), floor_mass(eta))
    # The upper bound on the rate gives the value that is a true lower bound on samples.
    return LowerBound(1 / oracle.upper, oracle.weights, oracle.prices, oracle.lower, oracle.upper)
