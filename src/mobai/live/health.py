"""What looks wrong about an experiment: warnings, each of which is a test with a stated rate of false alarms.

They are not part of delta, and change nothing. Each kind is raised at any time of an experiment with a probability of
at most one in a thousand, as long as nothing is wrong:

- *attrition*: answers are lost more often for one arm than for another. The losses of each arm by themselves, averaged
  over their rates, against one rate for all (universal inference: no larger than a likelihood ratio).
- *silence*: a metric that came before has stopped coming. A lower bound of how often it comes with the first report on
  an assignment, valid at all times, against the first reports since it came last. (Metrics that come later are not
  looked at.)
- *drift*: the mean of an arm's early rewards differs from that of its late ones, by the evidence of a pair of arms. The
  border moves on when the rewards have doubled.
- *outliers*: a reward further from its arm's mean than the stated sd allows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.engine.reward_health import FIRST_BORDER, RATE
from mobai.kernels.engine import weigh
from mobai.kernels.evidence import MIXTURE, Scoring
from mobai.kernels.health import HealthArrays
from mobai.kernels.observations import SHARED, UNIT
from mobai.live.assignments import ANSWERED, DROPPED, EXPIRED, Assignments
from mobai.problem import Family, FloatArray, Objective, Problem, UnknownVariance
from mobai.theory.observations import Observations
from mobai.theory.thresholds import no_prices

_MANY_ANSWERS = 30
# How much of an arm's rewards must be at the end of a range to be remarked on.
_EDGE_SHARE, _EDGE_LEAST = 0.05, 100


class Concern(NamedTuple):
    """Something that looks wrong: its kind, what it is in a sentence, and which metric and arm it is about, if any."""

    kind: str
    text: str
    metric: str | None = None
    arm: str | None = None


class Health:
    """What is followed of an experiment to see whether something is wrong with it: what comes with reports.

    Attributes
    ----------
    reports
        First reports on an assignment.
    arrived, since
        Per metric: how many of these had it, and how many have not had it since one had.
    came
        Per metric: for which arm it has come, how often.
    """

    def __init__(self, problem: Problem) -> None:
        self.reports = 0
        self.arrived, self.since = [0] * len(problem.metrics), [0] * len(problem.metrics)
        self.came: list[Counter[int]] = [Counter() for _ in problem.metrics]

    def note(self, arm: int, rewards: Sequence[float], *, first: bool) -> None:
        """Take in what was told of an assignment, NaN where nothing was."""
        for m, reward in enumerate(rewards):
            self.came[m][arm] += math.isfinite(reward)
        if first:
            self.reports += 1
            for m, reward in enumerate(rewards):
                came = math.isfinite(reward)
                self.arrived[m] += came
                self.since[m] = 0 if came else self.since[m] + 1

    def concerns(
        self, problem: Problem, assignments: Assignments, observations: Observations, found: HealthArrays
    ) -> list[Concern]:
        """Return what looks wrong now, given what was found of the rewards."""
        return [
            *_attrition(problem, assignments),
            *self._silence(problem),
            *self._never_came(problem, assignments),
            *_drift(problem, observations, found),
            *_edges(problem, observations, found),
        ]

    def _silence(self, problem: Problem) -> list[Concern]:
        silent = []
        for m, name in enumerate(problem.metric_names):
            arrived, since = self.arrived[m], self.since[m]
            if arrived == 0 or since == 0:
                continue
            least = _least_rate(arrived, self.reports - since, RATE / len(problem.metrics) / 2)
            allowed = math.log(RATE / len(problem.metrics) / 2) + math.log(6 / math.pi**2) - 2 * math.log(arrived)
            if since * math.log1p(-least) < allowed:
                text = f"{name}: has stopped coming: in none of the last {since:,} reports, in {arrived:,} before"
                silent.append(Concern("silence", text, name))
        return silent

    def _never_came(self, problem: Problem, assignments: Assignments) -> list[Concern]:
        """Return metrics that have come for some arms and, in many answers, never for another: a fact, no test."""
        found = []
        for m, name in enumerate(problem.metric_names):
            for arm, answered in sorted(assignments.by_status[ANSWERED].items()):
                seldom = self.came[m][arm] == 0 and answered >= _MANY_ANSWERS
                if seldom and max(self.came[m].values(), default=0) >= _MANY_ANSWERS // 2:
                    text = f"{name}: has never come for {problem.arms[arm]}, in {answered:,} answers"
                    found.append(Concern("silence", text, name, problem.arms[arm]))
        return found

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as arrays."""
        arms = range(1 + max((arm for came in self.came for arm in came), default=-1))
        return {
            "reports": np.array([self.reports]),
            "arrived": np.array(self.arrived),
            "since": np.array(self.since),
            "came": np.array([[came[arm] for arm in arms] for came in self.came], np.int64),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` returned; ValueError or KeyError if it cannot have."""
        if len(arrays["arrived"]) != len(self.arrived) or len(arrays["since"]) != len(self.since):
            raise ValueError("reports: not of these metrics")
        self.reports = int(arrays["reports"][0])
        self.arrived, self.since = arrays["arrived"].tolist(), arrays["since"].tolist()
        self.came = [Counter(dict(enumerate(row))) for row in arrays["came"].tolist()]


def _drift(problem: Problem, observations: Observations, health: HealthArrays) -> list[Concern]:
    found = []
    tests = len(problem.metrics) * problem.shape[0]
    both = health.earlier, health.early
    apart = [_may_differ(problem, observations, early, math.log(tests / RATE)) for early in both]
    for m, arm in np.argwhere(apart[0] | apart[1]).tolist():
        for early in (health.earlier[m, arm], health.early[m, arm]):
            if not (early[0] > 0 and _is_change(problem, observations, m, arm, early, tests)):
                continue
            text = (
                f"{problem.metric_names[m]}: the mean of {problem.arms[arm]} has changed: its first "
                f"{early[0]:,.0f} rewards and the later ones differ"
            )
            found.append(Concern("drift", text, problem.metric_names[m], problem.arms[arm]))
            break
    return found


def _is_change(problem: Problem, observations: Observations, m: int, arm: int, early: FloatArray, tests: int) -> bool:
    """Whether rewards before and after a border differ beyond chance, for all borders and arms together."""
    border = math.log2(early[0] / FIRST_BORDER) + 1
    needed = math.log(tests / RATE) + math.log(math.pi**2 / 6) + 2 * math.log(border) + math.log(2)
    return _evidence_of_change(problem, observations, m, arm, early) > needed


def _edges(problem: Problem, observations: Observations, health: HealthArrays) -> list[Concern]:
    counts, found = observations.arrays.counts, []
    for m, metric in enumerate(problem.metrics):
        whole = _whole_numbers(metric.family, observations.arrays.histograms[m])
        share = health.at_top[m] / np.maximum(counts[m], 1)
        many = (counts[m] >= _EDGE_LEAST) & (share > _EDGE_SHARE)
        if many.any() and not whole:
            arm = int(np.argmax(np.where(many, share, 0)))
            text = (
                f"{metric.name}: {share[arm]:.0%} of the rewards of {problem.arms[arm]} are at the upper end of "
                "the range, as if they were cut off there"
            )
            found.append(Concern("edge", text, metric.name, problem.arms[arm]))
        if health.far[m].any():
            arm = int(health.far[m].argmax())
            count = f"{health.far[m, arm]:,} rewards of {problem.arms[arm]}"
            text = f"{metric.name}: {count} are far outside the stated sd"
            found.append(Concern("outliers", text, metric.name))
    return found


def _attrition(problem: Problem, assignments: Assignments) -> list[Concern]:
    counts = np.array([[one[arm] for arm in range(problem.shape[0])] for one in assignments.by_status])
    lost, answered = counts[DROPPED] + counts[EXPIRED], counts[ANSWERED]
    seen = lost + answered
    if lost.sum() == 0 or answered.sum() == 0:
        return []
    apart = sum(_log_mixture(int(a), int(n)) for a, n in zip(lost, seen, strict=True))
    if apart - _log_most(int(lost.sum()), int(seen.sum())) <= -math.log(RATE):
        return []
    share = lost / np.maximum(seen, 1)
    worst, best = int(np.argmax(np.where(seen > 0, share, -1))), int(np.argmin(np.where(seen > 0, share, 2)))
    text = (
        f"answers are lost more often for some arms than for others: {share[worst]:.1%} of {problem.arms[worst]}, "
        f"{share[best]:.1%} of {problem.arms[best]}"
    )
    return [Concern("attrition", text)]


def _log_mixture(heads: int, count: int) -> float:
    """Return the log-likelihood of a coin, averaged over Beta(1/2, 1/2)."""
    ends = math.lgamma(heads + 0.5) + math.lgamma(count - heads + 0.5)
    return ends - math.lgamma(count + 1) - math.log(math.pi)


def _log_most(heads: int, count: int) -> float:
    """Return the largest log-likelihood of a coin."""
    tails = count - heads
    parts = ((heads, heads / count), (tails, tails / count)) if count else ()
    return sum(n * math.log(share) for n, share in parts if n)


def _least_rate(arrived: int, reports: int, alpha: float) -> float:
    """Return a lower bound of how often something comes that holds at all times with probability 1 - alpha."""
    top = _log_mixture(arrived, reports) + math.log(alpha)
    low, high = 0.0, arrived / reports
    for _ in range(60):
        middle = 0.5 * (low + high)
        value = arrived * math.log(max(middle, 1e-300)) + (reports - arrived) * math.log1p(-middle)
        low, high = (low, middle) if value > top else (middle, high)
    return low


def _whole_numbers(family: Family, histogram: FloatArray) -> bool:
    """Whether rewards seem to be ratings or coins, which are often at the upper end without having been cut off."""
    bins, steps = family.histogram_bins, family.range[1] - family.range[0]
    if not bins or steps != round(steps) or bins % steps:
        return False
    between = np.arange(bins + 1) % int(bins // steps) > 0
    return not histogram[:, : bins + 1][:, between].any()


def _may_differ(
    problem: Problem, observations: Observations, early: FloatArray, needed: float
) -> npt.NDArray[np.bool_]:
    """Return where early and late rewards are far enough apart for the evidence to be worth computing. Shape (M, K).

    Of Gaussian rewards the evidence is below half the square of their distance in standard errors, of others not far
    above: a quarter of what is needed is asked for.
    """
    arrays = observations.arrays
    n, mean, scatter = early[:, :, 0], early[:, :, 1], early[:, :, 2]
    later = arrays.counts - n
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (arrays.means - mean) * arrays.counts / later
        rest = np.maximum(arrays.scatter - scatter - n * later / (n + later) * apart**2, 0.0)
        known = np.isfinite(problem.sd.T)
        one, two = (np.where(known, problem.sd.T**2, found / count) for found, count in ((scatter, n), (rest, later)))
        # A little for what few rewards of a known range do not show.
        slack = np.where(arrays.objectives.model[:, None] == UNIT, (arrays.objectives.width**2)[:, None] / 4, 0.0)
        square = apart**2 / ((one + slack / n) / n + (two + slack / later) / later)
    found: npt.NDArray[np.bool_] = (n > 0) & (later >= 2) & ~(square / 2 < needed / 2)
    return found


def _evidence_of_change(problem: Problem, observations: Observations, m: int, arm: int, early: FloatArray) -> float:
    """Return the evidence that an arm's rewards after a border have another mean than those before, in nats."""
    arrays, metric = observations.arrays, problem.metrics[m]
    n, mean, scatter = early[:3]
    later = float(arrays.counts[m, arm]) - n
    if later < 2:
        return -math.inf
    rest = mean + (float(arrays.means[m, arm]) - mean) * float(arrays.counts[m, arm]) / later
    between = n * later / (n + later) * (rest - mean) ** 2
    family = UnknownVariance() if arrays.objectives.model[m] == SHARED else metric.family
    known = None if np.isnan(problem.sd[arm, m]) else float(problem.sd[arm, m])
    pair = Observations(Problem(2, [Objective("x", "max", family)], known))
    made = pair.arrays
    made.objectives.offset[0] = arrays.objectives.offset[m]
    made.counts[0], made.means[0] = (n, later), (mean, rest)
    made.first[0], made.sums[0] = arrays.objectives.offset[m], made.means[0] * made.counts[0]
    made.scatter[0] = scatter, max(float(arrays.scatter[m, arm]) - scatter - between, 0.0)
    if arrays.objectives.model[m] == UNIT:
        points = made.histograms.shape[2]
        made.histograms[0, 0] = early[3 : 3 + points]
        made.histograms[0, 1] = np.maximum(arrays.histograms[m, arm, :points] - early[3 : 3 + points], 0.0)
    pair.refresh()
    found = np.empty(1)
    weigh(Scoring(MIXTURE, no_prices(2), 0.0), made, found)
    return float(found[0])
