"""Run the cases: how often does a rule decide for a wrong arm?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mobai.lab.simulate import Progress
from mobai.lab.summary import Interval, mean_interval, share_interval
from mobai.lab.trajectory import Trajectory, TrialSpec, run_trajectory
from mobai.problem import Instance
from mobai.research.audit.cases import Case
from mobai.research.audit.tilt import log_likelihood_ratio, tilted


class AuditFinding(NamedTuple):
    """What was found: the error probability over delta, with a 95 % interval, and the share of trials that decided."""

    case: Case
    ratio: float
    interval: Interval
    decided: float

    @property
    def passed(self) -> bool:
        """Whether the claim stands: no proof of an error above delta, or for a control such a proof."""
        return (self.interval[0] <= 1) == self.case.valid

    @property
    def verdict(self) -> str:
        """Say it in a word."""
        if self.case.valid:
            return "holds" if self.passed else "BROKEN"
        return "caught" if self.passed else "NOT CAUGHT"


class AuditOutcome(NamedTuple):
    """How one trial ended: its weight over delta if it decided for a wrong arm, and whether it decided anything."""

    error: float
    decided: bool
    pulls: int


def run_cases(
    cases: Sequence[Case], seed: int = 0, n_jobs: int = 1, watch: Callable[[Progress], None] | None = None
) -> Iterator[AuditFinding]:
    """Return the findings one by one; ``watch`` is called after every trial."""
    done, pulls, total = 0, 0, sum(case.trials for case in cases)
    for case in cases:
        outcomes = []
        for outcome in _outcomes(case, seed, n_jobs):
            outcomes.append(outcome)
            done, pulls = done + 1, pulls + outcome.pulls
            if watch is not None:
                watch(Progress(done, total, pulls))
        yield _judge(case, outcomes)


def _outcomes(case: Case, seed: int, n_jobs: int) -> Iterator[AuditOutcome]:
    from joblib import Parallel, delayed

    run_one(case._replace(max_pulls=case.instance.shape[0] + 1), seed, 0)  # compiled here, once, for all workers
    work = (delayed(run_one)(case, seed, trial) for trial in range(case.trials))
    outcomes: Iterator[AuditOutcome] = Parallel(n_jobs=n_jobs, return_as="generator")(work)
    return outcomes


def run_one(case: Case, seed: int, trial: int) -> AuditOutcome:
    """Run one trial."""
    instance = tilted(case.instance, seed, trial) if case.tilted else case.instance
    spec = TrialSpec(instance, case.rule, [case.stopping], [case.log_inv_delta], seed, trial, case.max_pulls)
    if case.door is not None:
        answers, pulls = case.door(spec)
        wrong = any(arm != -1 and not instance.is_right(arm, m) for m, arm in enumerate(answers))
        return AuditOutcome(math.exp(case.log_inv_delta) if wrong else 0.0, max(answers) >= 0, pulls)
    trajectory = run_trajectory(spec)
    decided = bool((trajectory.answers >= 0).any())
    if not is_wrong(case.instance, trajectory):
        return AuditOutcome(0.0, decided, trajectory.pulls)
    weight = -log_likelihood_ratio(case.instance, trajectory) if case.tilted else 0.0
    return AuditOutcome(math.exp(weight + case.log_inv_delta), decided, trajectory.pulls)


def is_wrong(instance: Instance, trajectory: Trajectory) -> bool:
    """Whether some objective was decided for an arm that is not a right answer."""
    answers = trajectory.answers[0, :, 0]
    return any(arm != -1 and not instance.is_right(arm, m) for m, arm in enumerate(answers))


def _judge(case: Case, outcomes: Sequence[AuditOutcome]) -> AuditFinding:
    errors = np.array([outcome.error for outcome in outcomes])
    if case.tilted:
        interval = mean_interval(errors)
    else:
        low, high = share_interval(int((errors > 0).sum()), len(errors))
        interval = low * math.exp(case.log_inv_delta), high * math.exp(case.log_inv_delta)
    decided = float(np.mean([outcome.decided for outcome in outcomes]))
    return AuditFinding(case, float(errors.mean()), interval, decided)
