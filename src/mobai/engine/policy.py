"""A policy = a sampling rule + a stopping rule + the recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mobai.engine.engine import Engine
from mobai.engine.session import Session
from mobai.engine.warm_up import announce_compiling
from mobai.errors import InputError
from mobai.problem import Problem
from mobai.rules.catalogue import sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.top_two import TopTwo
from mobai.rules.stopping import GLR, StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta

Seed = int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None


@dataclass(frozen=True)
class Policy:
    """How to choose arms and when to stop.

    Parameters
    ----------
    sampling
        The sampling rule; ``TopTwo()`` unless given.
    stopping
        The stopping rule; unless given, the sampling rule's own if it stops by itself, else ``GLR()``.

    Examples
    --------
    >>> problem = Problem(arms=["A", "B"], objectives=["clicks", "latency:min"], sd=1.0)
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
            raise InputError("sampling", f"must be a sampling rule such as TopTwo(), not {self.sampling!r}")
        own = self.sampling.stopping
        if self.stopping is None:
            object.__setattr__(self, "stopping", own or GLR())
        if isinstance(self.stopping, type) or not isinstance(self.stopping, StoppingRule):
            raise InputError("stopping", f"must be a stopping rule such as GLR('mixture'), not {self.stopping!r}")
        if own is not None and self.stopping != own:
            raise InputError("stopping", f"must be left out: {self.sampling.name} stops by itself")

    def start(self, problem: Problem, seed: Seed = None, *, focus: float | None = None) -> Session:
        """Begin an experiment; the seed fixes every random choice of the sampling rule.

        With ``focus``, a delta, sampling works only for the objectives that are not decided yet at that delta. The
        guarantee at any delta is the same.
        """
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise InputError("seed", f"must be a nonnegative integer or a NumPy generator, not {seed!r}") from None
        focused = None if focus is None else resolve_log_inv_delta(focus)
        announce_compiling()
        return Session(Engine(problem, self.sampling, self.stopping, focus_log_inv_delta=focused), rng)


def pair_up(rules: Sequence[str], thresholds: Sequence[str]) -> list[Policy]:
    """Pair every rule, given by its name and options, with every threshold; rules that stop by themselves have none.

    Examples
    --------
    >>> [policy.stopping.name for policy in pair_up(["top-two", "successive-elimination:delta=0.1"], ["mixture"])]
    ['mixture', 'elimination']
    """
    stoppings, policies = [GLR(name) for name in thresholds], []
    for rule in map(sampling_rule, rules):
        policies += [Policy(rule)] if rule.stopping else [Policy(rule, stopping) for stopping in stoppings]
    return policies
