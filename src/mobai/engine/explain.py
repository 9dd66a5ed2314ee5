"""Why this arm next, and why not stopped yet: every objective's pairs, and what the sampling rule does, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mobai.errors import InputError
from mobai.kernels.stats.observations import BROKEN, KEPT
from mobai.kernels.trials.engine import pair_evidences
from mobai.rules.sampling.base import GivesReasons, opening
from mobai.views import explanation_text, plural

if TYPE_CHECKING:
    from mobai.engine.engine import Engine


class Pair(NamedTuple):
    """An objective's leader and one of its rivals.

    ``evidence`` is what the data say for the leader, in nats, and ``threshold`` what it takes; ``broken`` is the
    evidence that the rival breaks a limit, which would do as well.
    """

    objective: str
    leader: str
    rival: str
    gap: float
    evidence: float
    broken: float
    threshold: float

    @property
    def decided(self) -> bool:
        """Whether this rival is out of the way."""
        return max(self.evidence, self.broken) > self.threshold


class Limit(NamedTuple):
    """What is known of an arm and a limit: the evidence that it is kept, that it is broken, and what it takes."""

    guardrail: str
    arm: str
    kept: float
    broken: float
    threshold: float
    status: str


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an experiment stands where it does.

    Attributes
    ----------
    pairs
        Every rival of every objective's leader, the one that holds it up first.
    limits
        Every arm and guardrail.
    next_arm, reason
        What the sampling rule would ask for next, None if it cannot be said, and why.
    sentences
        Per objective, why it is not decided, or since when it is.
    """

    pairs: tuple[Pair, ...]
    limits: tuple[Limit, ...]
    next_arm: str | None
    reason: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in a few lines."""
        return explanation_text(self)


def explain(engine: Engine, x: float, rng: np.random.Generator) -> Explanation:
    """Explain an experiment at log(1/delta); ``rng`` has the random numbers of the next choice."""
    pairs, limits = _pairs(engine, x), _limits(engine, x)
    arm, reason = _next(engine, rng)
    name = None if arm is None else engine.problem.arms[arm]
    return Explanation(pairs, limits, name, reason, _sentences(engine, x, pairs, limits))


@runtime_checkable
class ComparesPairs(Protocol):
    """An engine that compares pairs of arms in its own way, and says itself why an arm is next."""

    def pairs(self, x: float) -> tuple[Pair, ...]:
        """Return every rival of every objective's leader, the one that holds it up first."""
        ...

    def reason(self, arm: int) -> str:
        """Return why an arm is next, in words."""
        ...


def _pairs(engine: Engine, x: float) -> tuple[Pair, ...]:
    if isinstance(engine, ComparesPairs):
        return engine.pairs(x)
    problem, observations = engine.problem, engine.observations
    level, scoring = engine.level(x), engine.scoring()
    found = []
    if scoring is None:
        return ()
    for m, objective in enumerate(problem.objectives):
        evidence, broken = np.empty((2, problem.shape[0]))
        pair_evidences(scoring, observations.arrays, m, level, evidence, broken)
        leader, means = int(observations.leaders[m]), observations.means[:, m]
        for i in np.flatnonzero(observations.active).tolist():
            if i != leader:
                gap = float(means[leader] - means[i]) if np.isfinite(means[[leader, i]]).all() else math.nan
                names = objective.name, problem.arms[leader], problem.arms[i]
                found.append(Pair(*names, gap, float(evidence[i]), float(broken[i]), level))
    return tuple(sorted(found, key=lambda pair: max(pair.evidence, pair.broken)))


def _limits(engine: Engine, x: float) -> tuple[Limit, ...]:
    problem, level = engine.problem, engine.level(x)
    evidence, verdict = engine.limit_evidence(), engine.verdict(x)
    return tuple(
        Limit(
            f"{guardrail.metric} {guardrail.words}",
            arm,
            float(evidence[KEPT, c, i]),
            float(evidence[BROKEN, c, i]),
            level,
            verdict.limit_status(c, i),
        )
        for c, guardrail in enumerate(problem.guardrails)
        for i, arm in enumerate(problem.arms)
        if arm != guardrail.of
    )


def _next(engine: Engine, rng: np.random.Generator) -> tuple[int | None, str]:
    """Return the arm that would be asked for next, and why."""
    problem, observations = engine.sampling.problem, engine.sampling.observations
    try:
        arm = engine.choice(rng)[0]
    except InputError as error:
        return None, str(error)
    name = engine.problem.arms[arm]
    if isinstance(engine, ComparesPairs):
        return arm, f"{name} is next: {engine.reason(arm)}"
    free = engine.active & ~engine.barred
    if free.sum() == 1:
        return arm, f"{name} is next: all other arms break a limit"
    if opening(observations) is not None:
        seen = observations.pulls
        i, m = min(np.argwhere(seen == seen.min()).tolist(), key=lambda one: one[0] != arm)
        return arm, (
            f"{name} is next: every arm must answer once, completely, before the rule can compare; "
            f"{problem.arms[i]} has the fewest answers with {engine.problem.metric_names[m]}: {seen.min():,}"
        )
    if isinstance(engine.rule, GivesReasons):
        return arm, f"{name} is next: {engine.rule.reason(problem, observations)}"
    return arm, f"{name} is next: of all arms it is furthest behind the share that {engine.rule.name} wants for it"


def _sentences(engine: Engine, x: float, pairs: tuple[Pair, ...], limits: tuple[Limit, ...]) -> tuple[str, ...]:
    verdict, found = engine.verdict(x), []
    for m, objective in enumerate(engine.problem.objectives):
        decision = verdict.decisions[m]
        if decision is not None:
            words = "no arm keeps every limit" if decision.arm < 0 else f"decided for {verdict.answers[m]}"
            found.append(f"{objective.name}: {words}, at pull {decision.pull:,}")
            continue
        own = [pair for pair in pairs if pair.objective == objective.name]
        if not own or not verdict.leading[m]:
            found.append(f"{objective.name}: nothing can be said yet")
            continue
        weakest, standing = own[0], sum(not pair.decided for pair in own)
        text = f"{objective.name}: {weakest.leader} leads; "
        open_limits = [one for one in limits if one.arm == weakest.leader and one.status != "kept"]
        if standing:
            rivals = f" of {plural(standing, 'rival')} left" if standing > 1 else ""
            text += (
                f"{weakest.rival}, the closest{rivals}, is not yet told apart from {weakest.leader}: "
                f"{max(weakest.evidence, weakest.broken, 0.0):.2f} of {weakest.threshold:.2f} nats"
            )
        if not standing and not open_limits and any(verdict.held[m : m + 1]):
            text += f"too few to rule out rare extremes, which takes {verdict.least:,} of every arm in question"
        if open_limits:
            text += ("; " if standing else "") + f"{weakest.leader} is not yet shown to keep {open_limits[0].guardrail}"
        found.append(text)
    return (*found, *_held_up(engine))


def _held_up(engine: Engine) -> list[str]:
    """Say which metrics wait to become evidence, and for what, and which are seldom reported."""
    problem, found, waiting = engine.problem, [], {one.metric: one for one in engine.waiting}
    reported, answered = engine.observations.pulls.sum(axis=0), engine.asks.answered
    for m, metric in enumerate(problem.metrics):
        if m in waiting:
            values, number, arm = waiting[m][1:]
            ends = "or dropped" if metric.has_worst else "or dropped as lost"
            ends = ends if metric.window is None else "or its window is over"
            found.append(
                f"{metric.name}: {plural(values, 'result')} told, and no evidence before assignment {number} "
                f"({problem.arms[arm]}) is reported, {ends}"
            )
        elif reported[m] < answered:
            found.append(f"{metric.name}: in {reported[m]:,} of {plural(answered, 'answer')}")
    return found
