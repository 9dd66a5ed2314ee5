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
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.engine.concerns import Concern, reward_concerns
from mobai.engine.reward_health import RATE
from mobai.kernels.stats.health import HealthArrays
from mobai.live.assignments import ANSWERED, DROPPED, EXPIRED, Assignments
from mobai.problem import Problem
from mobai.theory.observations import Observations

_MANY_ANSWERS = 30


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
            *attrition(problem, assignments),
            *self._silence(problem),
            *self._never_came(problem, assignments),
            *reward_concerns(problem, observations, found),
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


def attrition(problem: Problem, assignments: Assignments) -> list[Concern]:
    """Return whether arms differ in what is lost of the assignments that are settled up to the first that is not.

    Later ones would be a biased lot: losses are settled later than answers, or earlier.
    """
    settled = assignments.settled()
    counts = np.array([[one[arm] for arm in range(problem.shape[0])] for one in settled])
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
