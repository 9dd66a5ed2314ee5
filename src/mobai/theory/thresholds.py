"""When is the evidence enough? The thresholds, each in two halves.

Every threshold here separates what the data say from what the user asks for: an objective may be decided when

    score(data)  >  level(delta)

``score`` is the evidence of a pair (in nats) after paying for the many looks at the data, compiled in
:mod:`mobai.kernels.evidence.scores`; ``level`` is the evidence that an error probability delta demands. The sampling
rule never sees delta, so one trajectory's scores answer every delta. ``needed`` inverts the score for known noise: the
GLR statistic Z of a pair that just reaches a level.

What is proven, and where: docs/guarantee.md and docs/thresholds.md.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Protocol

import numpy as np

from mobai.errors import InputError, did_you_mean
from mobai.kernels.evidence import scores as kernels
from mobai.kernels.evidence.normal import cost_needed
from mobai.kernels.evidence.scores import Prices, Scoring
from mobai.kernels.trials import engine
from mobai.problem import FloatArray, Problem
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.observations import Observations

# Of delta, what the confidence intervals have for themselves where they are right together with the decisions.
INTERVAL_SHARE = 0.1


class Threshold(Protocol):
    """What a stopping rule needs from a threshold; ``kind`` is its number among the compiled scores."""

    name: str
    kind: int
    certified: bool
    sticky: bool
    gaussian_only: bool

    def level(self, log_inv_delta: float, arms: int, objectives: int) -> float:
        """Return the evidence demanded at this delta."""
        ...

    def needed(self, level: float, leader: float, other: float, pulls: int, shape: tuple[int, int]) -> float:
        """Return the value of Z at which the score reaches the level, given the counts of the two arms and of all."""
        ...


def evidence_of(rule: Threshold, observations: Observations, pulls: int, prices: Prices | None = None) -> FloatArray:
    """Return the evidence of every objective, that of its weakest pair, ``pulls`` being all pulls answered so far."""
    evidence = np.empty(observations.objectives)
    prices = no_prices(len(observations.arrays.asked)) if prices is None else prices
    engine.weigh(Scoring(rule.kind, prices, float(pulls)), observations.arrays, evidence)
    return evidence


def no_prices(arms: int) -> Prices:
    """Return the prices of an experiment whose arms neither come nor go."""
    return Prices(np.zeros(arms), math.inf, np.zeros(0, np.int64))


class _Penalised:
    """A threshold of the form ``Z > level(delta) + penalty(counts)``."""

    kind: int

    def needed(self, level: float, leader: float, other: float, pulls: int, shape: tuple[int, int]) -> float:
        """Put the penalty on the level."""
        penalty: float = kernels.penalty_of(self.kind, float(leader), float(other), float(pulls), shape[0] * shape[1])
        return level + penalty


class Theory(_Penalised):
    """The paper's proven threshold, ``M K log(t^2 + t) + finv(delta)``: valid, and far too cautious to use."""

    name, kind, certified, sticky, gaussian_only = "theory", kernels.THEORY, True, False, True

    def level(self, log_inv_delta: float, arms: int, objectives: int) -> float:
        """Return finv(delta): where the survival function of a Gamma(M K) variable equals delta."""
        return gamma_quantile(arms * objectives, log_inv_delta)


class Empirical(_Penalised):
    """The threshold of the paper's simulations, ``log((1 + log t) / delta)``. Its error can exceed delta."""

    name, kind, certified, sticky, gaussian_only = "empirical", kernels.EMPIRICAL, False, False, False

    def level(self, log_inv_delta: float, arms: int, objectives: int) -> float:  # noqa: ARG002
        """Return log(1/delta): the numbers of arms and objectives are ignored."""
        return log_inv_delta


class KaufmannKoolen(_Penalised):
    """Kaufmann & Koolen (2021) for pairs of Gaussian arms, with a union bound over M (K - 1) pairs.

    The penalty is 2 log(4 + log N) for each of the two arms.
    """

    name, kind, certified, sticky, gaussian_only = "kaufmann_koolen", kernels.KAUFMANN_KOOLEN, True, True, True

    def level(self, log_inv_delta: float, arms: int, objectives: int) -> float:
        """Return 2 C_G(x/2), x = log(M (K - 1) / delta)."""
        return 2 * gaussian_calibration(union_level(log_inv_delta, arms, objectives) / 2)


class Mixture:
    """The mixture e-process of each objective's family (docs/guarantee.md): proven, and the tightest here.

    The default everywhere.
    """

    name, kind, certified, sticky, gaussian_only = "mixture", kernels.MIXTURE, True, True, False

    def level(self, log_inv_delta: float, arms: int, objectives: int) -> float:
        """Return x = log(M (K - 1) / (0.9 delta)), by Ville's inequality and a union bound.

        The confidence intervals have the rest of delta.
        """
        return union_level(log_inv_delta, arms, objectives) - math.log1p(-INTERVAL_SHARE)

    def needed(self, level: float, leader: float, other: float, pulls: int, shape: tuple[int, int]) -> float:  # noqa: ARG002
        """Invert the score by bisection."""
        return cost_needed(float(leader), float(other), float(level))


THRESHOLDS: dict[str, Threshold] = {t.name: t for t in (Mixture(), KaufmannKoolen(), Theory(), Empirical())}


def threshold(
    name: str,
    log_inv_delta: float,
    *,
    arms: int,
    objectives: int,
    pulls: int,
    leader_pulls: float | None = None,
    other_pulls: float | None = None,
) -> float:
    """Return the value that the GLR statistic Z of a pair must exceed (unit noise).

    Parameters
    ----------
    name
        ``"mixture"``, ``"kaufmann_koolen"``, ``"theory"`` or ``"empirical"`` (the last is not certified).
    log_inv_delta
        log(1/delta).
    arms, objectives, pulls
        K, M and the number of pulls so far.
    leader_pulls, other_pulls
        How often the two arms of the pair were pulled; needed by ``mixture`` and ``kaufmann_koolen``.

    Examples
    --------
    >>> import math
    >>> round(threshold("mixture", math.log(10), arms=20, objectives=10, pulls=1000,
    ...                 leader_pulls=50, other_pulls=50), 4)
    10.716
    >>> round(threshold("empirical", math.log(10), arms=20, objectives=10, pulls=1000), 2)
    4.37
    """
    rule = find_threshold(name)
    log_inv_delta = resolve_log_inv_delta(log_inv_delta=log_inv_delta)
    for argument, value, least in (("arms", arms, 2), ("objectives", objectives, 1), ("pulls", pulls, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(argument, f"must be an integer, {least} or more, not {value!r}")
    if leader_pulls is None or other_pulls is None:
        if rule.sticky:
            raise InputError(f"leader_pulls and other_pulls must be given for the threshold {name!r}")
        leader_pulls = other_pulls = 1
    if not all(isinstance(n, Real) and 1 <= n < math.inf for n in (leader_pulls, other_pulls)):
        raise InputError("leader_pulls and other_pulls must be finite numbers, 1 or more")
    return rule.needed(
        rule.level(log_inv_delta, arms, objectives), leader_pulls, other_pulls, pulls, (arms, objectives)
    )


def reached_log_inv_delta(rule: Threshold, evidence: float, arms: int, objectives: int) -> float:
    """Invert the level: give the log(1/delta) that so much evidence is enough for, 0 if for none."""
    low, high = 0.0, max(evidence, 0.0)
    # Every level is at least log(1/delta).
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if rule.level(middle, arms, objectives) < evidence else (low, middle)
    return low


def check_families(name: str, problem: Problem) -> None:
    """Refuse a threshold that is proven for Gaussian rewards of known noise only, where rewards are others."""
    others = [o for o in problem.objectives if not o.family.exactly_gaussian]
    if others:
        raise InputError(
            f"{name} is proven for Gaussian rewards of known sd only, and objective {others[0].name!r} is "
            f"{others[0].family}; use mixture"
        )


def find_threshold(name: str) -> Threshold:
    """Look a threshold up by its name."""
    if name not in THRESHOLDS:
        guess = did_you_mean(name, THRESHOLDS)
        raise InputError("threshold", f"must be one of {', '.join(THRESHOLDS)}, not {name!r}{guess}")
    return THRESHOLDS[name]


def union_level(log_inv_delta: float, arms: int, objectives: int) -> float:
    """Return log(M (K - 1) / delta): each objective's best arm could lose to K - 1 others."""
    return math.log(objectives * (arms - 1)) + log_inv_delta


def gamma_quantile(shape: int, log_inv_delta: float) -> float:
    """Solve ``Q(shape, x) = delta`` for x, Q the upper incomplete gamma function with an integer shape.

    Newton on log Q, which is decreasing and concave, so that from a start above the solution (the sub-gamma tail
    bound) the steps never overshoot; in ``Q(n, x) = x^(n-1) e^-x / (n-1)! * (1 + (n-1)/x + (n-1)(n-2)/x^2 + ...)``
    every term is positive.
    """
    if log_inv_delta < 0.5:
        # Close to delta = 1 the lower tail keeps the digits that log Q loses.
        from scipy.special import gammaincinv

        return float(gammaincinv(shape, -math.expm1(-log_inv_delta)))
    n = shape
    below = np.arange(n - 1, 0, -1.0)
    x = n + math.sqrt(2 * n * log_inv_delta) + log_inv_delta
    for _ in range(200):
        tail = 1 + float(np.cumprod(below / x).sum())
        log_q = (n - 1) * math.log(x) - x - math.lgamma(n) + math.log(tail)
        step = (log_q + log_inv_delta) * tail
        x += step
        if abs(step) <= 1e-14 * x:
            break
    return x


def gaussian_calibration(y: float) -> float:
    """Return C_G of Kaufmann & Koolen (2021): ``min over l in (1/2, 1] of (g(l) + y) / l``."""
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def bound(v: float) -> float:
        # l = 1 - exp(-v)/2 reaches every point of (1/2, 1) without losing the digits of 1 - l.
        log_rest = -v - math.log(2)
        x = -math.expm1(log_rest)
        g = 2 * x - 2 * x * math.log(4 * x) + math.log(zeta(2 * x)) - 0.5 * log_rest
        return float((g + y) / x)

    return float(minimize_scalar(bound, bounds=(1e-6, 40), method="bounded", options={"xatol": 1e-9}).fun)
