"""What is tried: instances on which an invalid rule would be found out, and rules known to be invalid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from mobai.problem import (
    Bernoulli,
    Bounded,
    Family,
    FloatArray,
    Gaussian,
    Guardrail,
    Instance,
    Objective,
    Quantile,
    SharedVariance,
    SubGaussian,
    UnknownVariance,
)
from mobai.research.audit import designs, groups, pools
from mobai.research.audit import reporting_schemes as schemes
from mobai.research.audit.controls import PeekedTest
from mobai.research.audit.reporting_schemes import ReportingScheme
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.successive_elimination import SuccessiveElimination
from mobai.rules.sampling.top_two import TopTwo
from mobai.rules.sampling.uniform import Uniform
from mobai.rules.stopping import GLR, StoppingRule

TEN_PERCENT = math.log(10)
# Two arms that differ by this share of the noise are tied for all practical purposes, and one of them is still wrong.
_NOTHING = 1e-9


class Case(NamedTuple):
    """One line of the audit: ``valid`` is what is claimed, ``tilted`` asks for importance sampling.

    ``door`` is how rewards are handed over, one after the other unless given.
    """

    name: str
    family: str
    instance: Instance
    rule: SamplingRule
    stopping: StoppingRule
    log_inv_delta: float
    trials: int
    max_pulls: int
    valid: bool = True
    tilted: bool = False
    door: ReportingScheme | None = None


class Scores(Bounded):
    """Rewards spread evenly around their mean, at any point of the range."""

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return rewards with this mean and standard deviation, made of standard normal noise."""
        from scipy.special import ndtr

        return np.asarray(mean + math.sqrt(12) * sd * (ndtr(noise) - 0.5))


class Times(Quantile):
    """Times, a few of which are many times as long as the others."""

    def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:
        """Return lognormal rewards with this quantile."""
        at = math.exp(NormalDist().inv_cdf(self.level))
        return np.asarray(mean + sd / (at * self.noise_of(1.0)) * (np.exp(noise) - at))


class Kind(NamedTuple):
    """A family to audit: where its means are, how large its noise is, and how far losers are behind."""

    name: str
    family: Family
    centre: float
    noise: float
    behind: float


KINDS = (
    Kind("gaussian", Gaussian(), 0.0, 1.0, 1.0),
    Kind("subgaussian", SubGaussian(2.0), 0.0, 2.0, 2.0),
    Kind("unknown variance", UnknownVariance(), 0.0, 3.0, 3.0),
    Kind("bernoulli", Bernoulli(), 0.5, 0.5, 0.3),
    Kind("rare bernoulli", Bernoulli(), 0.05, math.sqrt(0.05 * 0.95), 0.03),
    Kind("bounded, at its ends", Bounded(1, 5), 3.0, 2.0, 1.2),
    Kind("bounded, within", Bounded(1, 5), 3.0, 1.0, 1.2),
    Kind("scores", Scores(0, 1), 0.6, 0.1, 0.1),
    Kind("shared variance", SharedVariance(), 0.0, 3.0, 3.0),
    Kind("median", Quantile(0.5, -20, 20, 4_000), 0.0, 1.0, 1.0),
    Kind("p90 of times", Times(0.9, -20, 20, 4_000), 0.0, 1.0, 3.0),
)
# What importance sampling knows the likelihood of.
_NOT_TILTED = ("bounded, within", "scores", "median", "p90 of times")


def duel(kind: Kind, gap: float = _NOTHING, eps: float = 0.0) -> Instance:
    """Return two arms, the second better by ``gap`` (in units of the noise): all that separates them is chance."""
    means = [[kind.centre], [kind.centre + gap * kind.noise]]
    objective = Objective("value", "max", kind.family, eps * kind.noise)
    return Instance(means, _noise(kind, (2, 1)), objectives=[objective])


def contenders(kinds: tuple[Kind, ...], gap: float = 0.2) -> Instance:
    """Return two arms that contend for each objective and are far behind in the others: K = 2M."""
    objectives = len(kinds)
    means, sd = np.empty((2 * objectives, objectives)), np.empty((2 * objectives, objectives))
    for m, kind in enumerate(kinds):
        means[:, m] = kind.centre - kind.behind
        # The better of the two is the first in one objective and the second in the next.
        means[2 * m + m % 2, m] = kind.centre
        means[2 * m + 1 - m % 2, m] = kind.centre - gap * kind.noise
        sd[:, m] = _noise(kind, (2 * objectives, 1))[:, 0]
    names = [Objective(f"value {m}", "max", kind.family) for m, kind in enumerate(kinds)]
    return Instance(means, sd, objectives=names)


def _noise(kind: Kind, shape: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the noise of every arm; that of every second arm is half as large where nobody knows it."""
    if kind.family.noise_follows_mean or kind.name == "bounded, at its ends":
        return np.full(shape, np.nan)
    table = np.full(shape, kind.noise)
    if isinstance(kind.family, UnknownVariance):
        table[::2] /= 2
    return table


def all_cases(scale: float = 1.0) -> list[Case]:
    """Return every line of the audit; ``scale`` multiplies the numbers of trials."""
    cases = [*_families(), *_thresholds(), *_reporting_schemes(), *_designs(), *_groups(), *_limits(), *_controls()]
    return [case._replace(trials=max(round(case.trials * scale), 20)) for case in cases]


def _families() -> Iterator[Case]:
    """Try the default stopping rule on every family."""
    mixture = GLR("mixture")
    for kind in KINDS:
        yield Case("two arms, no gap", kind.name, duel(kind), TopTwo(), mixture, TEN_PERCENT, 4000, 3000)
        zone = duel(kind, gap=0.2 * (1 + 1e-6), eps=0.2)
        yield Case("just outside eps", kind.name, zone, TopTwo(), mixture, TEN_PERCENT, 4000, 3000)
        crowd = contenders((kind,) * 3)
        yield Case("two contenders an objective", kind.name, crowd, TopTwo(), mixture, TEN_PERCENT, 1000, 100_000)
        if kind.name not in _NOT_TILTED:
            yield Case("two arms, no gap", kind.name, duel(kind), TopTwo(), mixture, 50.0, 400, 100_000, tilted=True)
    mixed = contenders((KINDS[0], KINDS[2], KINDS[3], KINDS[5], KINDS[8]))
    yield Case("all families at once", "mixed", mixed, TopTwo(), mixture, TEN_PERCENT, 1000, 100_000)


def _thresholds() -> Iterator[Case]:
    """Try the other proven rules."""
    gaussian, uniform = KINDS[0], Uniform()
    for name in ("kaufmann_koolen", "theory"):
        yield Case("two arms, no gap", "gaussian", duel(gaussian), uniform, GLR(name), TEN_PERCENT, 4000, 3000)
    yield Case("two arms, no gap", "gaussian", duel(gaussian), uniform, GLR("mixture"), TEN_PERCENT, 4000, 3000)
    rule = SuccessiveElimination(0.1)
    crowd = contenders((gaussian,) * 3)
    yield Case("two contenders an objective", "gaussian", crowd, rule, rule.stopping, TEN_PERCENT, 500, 1_000_000)


def _reporting_schemes() -> Iterator[Case]:
    """Try the ways in which people hand rewards over, each with a control."""
    gaussian, mixture = KINDS[0], GLR("mixture")
    one, two = duel(gaussian), Instance([[0.0, 0.0], [_NOTHING, _NOTHING]])
    for name, instance, door, valid in (
        ("sorted batches of 200", one, schemes.sorted_batches, True),
        ("sorted, looked at row by row", one, schemes.sorted_rows, False),
        ("metrics ten pulls late", two, schemes.late_metrics, True),
        ("missing because of another metric", two, schemes.missing_by_a_sibling, False),
        ("measured again if too large", one, schemes.refused_values, False),
    ):
        yield Case(name, "gaussian", instance, TopTwo(), mixture, TEN_PERCENT, 300, 400, valid, door=door)
    for name, door, valid in (
        ("a pool, told when it is over", pools.in_a_pool, True),
        ("a pool, read as it is told", pools.in_a_pool_as_told, False),
        ("slow ones dropped", pools.given_up_as_the_worst, True),
        ("slow ones left out", pools.given_up_and_left_out, False),
    ):
        yield Case(name, "times", pools.times(), TopTwo(), mixture, TEN_PERCENT, 300, 400, valid, door=door)
    shared = duel(KINDS[8])
    for name, door, valid in (
        ("sorted batches of 200", schemes.sorted_batches, True),
        ("sorted, looked at row by row", schemes.sorted_rows, False),
    ):
        yield Case(name, "shared variance", shared, TopTwo(), mixture, TEN_PERCENT, 300, 400, valid, door=door)


def _designs() -> Iterator[Case]:
    """Compare arms on the same things."""
    for name, door, valid in designs.lines():
        rule, stopping = Uniform(), GLR("mixture")  # which the doors do without
        yield Case(name, "paired", designs.tie(), rule, stopping, TEN_PERCENT, 600, 400, valid, door=door)
    apart, door = designs.ahead(), designs.averages_by_day_and_night
    yield Case(
        "averages, by day and by night", "gaussian", apart, Uniform(), stopping, TEN_PERCENT, 300, 400, False, door=door
    )


def _groups() -> Iterator[Case]:
    """Compare ratios of totals, and decide segment by segment."""
    nothing, mixture = duel(KINDS[0]), GLR("mixture")
    for name, door, pulls, valid in (
        ("ratios of totals", groups.ratios, 300, True),
        ("means of ratios", groups.means_of_ratios, 1000, False),
        ("twenty segments", groups.segments, 400, True),
        ("twenty segments, all of delta in each", groups.segments_with_all_of_delta, 400, False),
    ):
        yield Case(name, "groups", nothing, Uniform(), mixture, TEN_PERCENT, 300, pulls, valid, door=door)


def _limits() -> Iterator[Case]:
    """Try guardrails where claims are likeliest to be false, differences to a baseline, and who may still be best."""
    for kind in (KINDS[0], KINDS[2], KINDS[3], KINDS[7], KINDS[8], KINDS[9]):
        yield _looked_at("on the limit", kind, on_the_limit(kind), schemes.limits)
        tied = against_a_baseline(kind)
        yield _looked_at("differences to a baseline", kind, tied, schemes.differences)._replace(trials=100)
    for kind in (KINDS[0], KINDS[3]):
        yield _looked_at("who may still be best", kind, duel(kind), schemes.contention)
        yield _looked_at("on a margin", kind, on_the_margin(kind), schemes.limits)
    gaussian = KINDS[0]
    yield _looked_at("tested at every look", gaussian, on_the_limit(gaussian), schemes.limits_peeked, valid=False)
    tied = against_a_baseline(gaussian)
    yield _looked_at("intervals for one look", gaussian, tied, schemes.differences_peeked, valid=False)
    yield _looked_at("out at one look", gaussian, duel(gaussian), schemes.contention_peeked, valid=False)


def _looked_at(name: str, kind: Kind, instance: Instance, door: ReportingScheme, *, valid: bool = True) -> Case:
    return Case(name, kind.name, instance, Uniform(), GLR("mixture"), TEN_PERCENT, 300, 400, valid, door=door)


def on_the_limit(kind: Kind) -> Instance:
    """Return two arms, one a little beyond the tolerance of a limit, the other a little within the limit."""
    step, tiny = 0.2 * kind.noise, _NOTHING * kind.noise
    limit = kind.centre
    means = [[limit, limit - step - tiny], [limit, limit + tiny]]
    objective = Objective("value", "max", kind.family)
    guardrail = Guardrail("guarded", kind.family, at_least=limit, eps=step)
    return Instance(means, _noise(kind, (2, 2)), objectives=[objective], guardrails=[guardrail])


def on_the_margin(kind: Kind) -> Instance:
    """Return three arms: a baseline, one a little beyond the tolerance of a margin, one a little within the margin."""
    step, tiny = 0.2 * kind.noise, _NOTHING * kind.noise
    means = [
        [kind.centre, kind.centre],
        [kind.centre, kind.centre - 2 * step - tiny],
        [kind.centre, kind.centre - step + tiny],
    ]
    objective = Objective("value", "max", kind.family)
    guardrail = Guardrail("guarded", kind.family, within=step, of="arm 0", eps=step)
    return Instance(means, _noise(kind, (3, 2)), objectives=[objective], guardrails=[guardrail])


def against_a_baseline(kind: Kind) -> Instance:
    """Return three arms that are tied, one of which is a baseline."""
    objective = Objective("value", "max", kind.family)
    return Instance([[kind.centre]] * 3, _noise(kind, (3, 1)), objectives=[objective], baseline="arm 0")


def _controls() -> Iterator[Case]:
    """Return rules known to be invalid: an audit that does not catch them is worth nothing."""
    nothing, empirical = duel(KINDS[0]), GLR("empirical")
    for x, trials in ((50.0, 1000), (500.0, 400)):
        yield Case("two arms, no gap", "gaussian", nothing, TopTwo(), empirical, x, trials, 100_000, False, tilted=True)
    yield Case("two arms, no gap", "gaussian", nothing, Uniform(), PeekedTest(), TEN_PERCENT, 300, 400, valid=False)
    printed = SuccessiveElimination(0.1, as_printed=True)
    spaced = Instance(np.eye(20, 10) * 0.5)
    stop = printed.stopping
    yield Case("gaps of 0.5, K = 20, M = 10", "gaussian", spaced, printed, stop, TEN_PERCENT, 300, 100_000, valid=False)
