"""A policy = a sampling rule + a stopping rule + the recommendation: ask, tell, verdict.

The same object runs simulations and live experiments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem import FloatArray, Problem, Tally
from mobai.problem.problem import frozen
from mobai.rules.catalogue import sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.top_two import TopTwo
from mobai.rules.stopping import GLR, Decision, Elimination, Reaching, StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.intervals import Intervals, confidence_intervals
from mobai.theory.thresholds import union_level

Seed = int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None


@dataclass(frozen=True)
class Policy:
    """How to choose arms and when to stop.

    Examples
    --------
    >>> problem = Problem(arms=["A", "B"], objectives=["clicks", "latency:min"])
    >>> session = Policy().start(problem, seed=1)
    >>> for _ in range(40):
    ...     arm = session.ask()
    ...     session.tell(arm, [1.0, 30.0] if arm == 0 else [3.0, 10.0])
    >>> verdict = session.verdict(delta=0.05)
    >>> verdict.stopped, verdict.answers
    (True, ('B', 'B'))
    """

    sampling: SamplingRule = field(default_factory=TopTwo)
    # Left out: the sampling rule's own, if it stops by itself, or GLR().
    stopping: StoppingRule = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check the two parts and that they go together."""
        if isinstance(self.sampling, type) or not isinstance(self.sampling, SamplingRule):
            raise InputError(f"sampling must be a sampling rule such as TopTwo(), not {self.sampling!r}")
        own = getattr(self.sampling, "stopping", None)
        if self.stopping is None:
            object.__setattr__(self, "stopping", own or GLR())
        if isinstance(self.stopping, type) or not isinstance(self.stopping, StoppingRule):
            raise InputError(f"stopping must be a stopping rule such as GLR('mixture'), not {self.stopping!r}")
        if own is not None and self.stopping != own:
            raise InputError(f"stopping must be left out: {self.sampling.name} stops by itself")
        if own is None and isinstance(self.stopping, Elimination):
            raise InputError("stopping: elimination goes with successive-elimination only")

    def start(self, problem: Problem, seed: Seed = None, *, focus: float | None = None) -> Session:
        """Begin an experiment; the seed fixes every random choice of the sampling rule.

        With ``focus``, a log(1/delta), sampling works only for the objectives that are not decided yet at that delta.
        The guarantee at any delta is the same.
        """
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise InputError(f"seed must be a nonnegative integer or a NumPy generator, not {seed!r}") from None
        return Session(self, problem, rng, focus)


def pair_up(rules: Sequence[str], thresholds: Sequence[str]) -> list[Policy]:
    """Pair every rule, given by its name and options, with every threshold; rules that stop by themselves have none.

    Examples
    --------
    >>> [policy.stopping.name for policy in pair_up(["top-two", "successive-elimination:delta=0.1"], ["mixture"])]
    ['mixture', 'elimination']
    """
    stoppings, policies = [GLR(name) for name in thresholds], []
    for rule in map(sampling_rule, rules):
        own = hasattr(rule, "stopping")
        policies += [Policy(rule)] if own else [Policy(rule, stopping) for stopping in stoppings]
    return policies


@dataclass(frozen=True, eq=False)
class Verdict:
    """Where an experiment stands at one error probability.

    Attributes
    ----------
    problem
        The arms and objectives it speaks of.
    log_inv_delta
        log(1/delta).
    leaders
        The empirical best arm of every objective now (the first arm as long as nothing was told). Shape (M,).
    decisions
        Per objective: the arm decided on and the pull at which it was, or None.
    evidence, threshold
        Per objective: what the data say, and what delta demands, in nats. An objective is decided the first time its
        evidence exceeds its threshold (with elimination: once its turn has come); later evidence may fall without
        undoing that.
    pulls
        How many pulls have been answered.
    certified
        Whether the threshold is proven to keep the error probability below delta.
    stopping
        The stopping rule that says so, or whatever knows which delta so much evidence reaches.
    """

    problem: Problem
    log_inv_delta: float
    leaders: tuple[int, ...]
    decisions: tuple[Decision | None, ...]
    evidence: FloatArray
    threshold: FloatArray
    pulls: int
    certified: bool
    stopping: Reaching

    @property
    def delta(self) -> float:
        """The error probability (0.0 where it is too small for a double)."""
        return math.exp(-self.log_inv_delta)

    @property
    def stopped(self) -> bool:
        """Whether every objective has been decided."""
        return all(decision is not None for decision in self.decisions)

    @property
    def stopped_at(self) -> int | None:
        """The pull at which the last objective was decided, or None."""
        pulls = [decision.pull for decision in self.decisions if decision is not None]
        return max(pulls) if self.stopped else None

    @cached_property
    def reached(self) -> FloatArray:
        """Per objective the largest log(1/delta) at which the evidence of this moment is enough, 0 if for none."""
        return frozen(np.array([self.stopping.reached(self.problem, float(e)) for e in self.evidence]))

    @property
    def smallest_deltas(self) -> FloatArray:
        """Per objective the smallest delta at which the evidence of this moment is enough; 1 if there is none."""
        return np.exp(-self.reached)

    @property
    def recommended(self) -> tuple[int, ...]:
        """The index of the arm to use for every objective: the decided one, else the leader."""
        return tuple(
            leader if decision is None else decision.arm
            for leader, decision in zip(self.leaders, self.decisions, strict=True)
        )

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the recommended arms."""
        return tuple(self.problem.arms[arm] for arm in self.recommended)

    def __str__(self) -> str:
        """Say it in a few lines."""
        state = f"stopped at pull {self.stopped_at:,}" if self.stopped else f"not stopped after {self.pulls:,} pulls"
        lines = [f"{state}, log(1/delta) = {self.log_inv_delta:.4g}" + ("" if self.certified else ", not certified")]
        for m, name in enumerate(self.problem.objective_names):
            decision = self.decisions[m]
            fact = f"decided at pull {decision.pull:,}" if decision else "leading, not decided"
            lines.append(
                f"  {name}: {self.answers[m]} ({fact}; {self.evidence[m]:.2f} of {self.threshold[m]:.2f} nats)"
            )
        return "\n".join(lines)


class Session:
    """One experiment under way. Made by :meth:`Policy.start`."""

    def __init__(self, policy: Policy, problem: Problem, rng: np.random.Generator, focus: float | None = None) -> None:
        self.policy, self.problem = policy, problem
        self._focus = None if focus is None else resolve_log_inv_delta(log_inv_delta=focus)
        self.tally = Tally(problem)
        self._rng = rng
        self._memory = policy.sampling.init(problem)
        self._watch = policy.stopping.start(problem)
        self._open = [0] * problem.shape[0]

    def ask(self) -> int:
        """Give the arm to pull next. Several asks may be open at once."""
        arm, self._memory = self.policy.sampling.choose(self.problem, self._memory, self.tally, self._rng)
        self.tally.ask(arm)
        self._open[arm] += 1
        return arm

    def tell(self, arm: int, rewards: npt.ArrayLike | Mapping[str, float | None]) -> None:
        """Report the rewards of an arm that was asked for, in any order of answers.

        One number per objective, NaN where it is missing; or a mapping from the names of those that are there.
        """
        arm = self.problem.arm_index(arm)
        values = self.problem.check_rewards(rewards)
        if not self._open[arm]:
            raise InputError(f"arm {arm} ({self.problem.arms[arm]}) has no open ask to tell the rewards of")
        self._open[arm] -= 1
        self.tally.tell(arm, self.problem.orient(values))
        self._watch.look(self.tally)
        if self._focus is not None:
            self.tally.open[:] = [decision is None for decision in self._watch.decisions(self._focus)]

    def verdict(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> Verdict:
        """Say where the experiment stands at this error probability; any delta may be asked for at any time."""
        x = resolve_log_inv_delta(delta, log_inv_delta)
        level = self.policy.stopping.level(self.problem, x)
        return Verdict(
            problem=self.problem,
            log_inv_delta=x,
            leaders=tuple(self._watch.leaders.tolist()),
            decisions=self._watch.decisions(x),
            evidence=frozen(self._watch.evidence),
            threshold=frozen(np.full(self.problem.shape[1], level)),
            pulls=self.tally.told,
            certified=self.policy.stopping.certified,
            stopping=self.policy.stopping,
        )

    def intervals(self, delta: float | None = None, *, log_inv_delta: float | None = None) -> Intervals:
        """Give a confidence interval for every mean, K x M, in the objectives' own units.

        With probability at least 1 - delta all of them hold at all times. They are fitted to what is decided at this
        delta, so that they never contradict the verdict.
        """
        x = resolve_log_inv_delta(delta, log_inv_delta)
        decided = tuple(None if one is None else one.arm for one in self._watch.decisions(x))
        return confidence_intervals(self.problem, self.tally, union_level(x, *self.problem.shape), decided)
