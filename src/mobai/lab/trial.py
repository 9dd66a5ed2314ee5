"""One simulated run of a policy on an instance, pull by pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mobai.engine import Policy, Session, Verdict
from mobai.errors import InputError
from mobai.lab.environment import Environment
from mobai.lab.trajectory import coins
from mobai.problem import Instance, IntArray
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.theory.intervals import Intervals


@dataclass(frozen=True, eq=False)
class Trial:
    """How a run ended.

    Attributes
    ----------
    verdict
        Where the experiment stood at the end.
    intervals
        Confidence intervals for every mean at the end.
    pulls
        How often each arm was pulled. Shape (K,).
    correct
        Whether every recommended arm is a best arm of its objective, or within eps of it.
    interrupted
        Whether Ctrl-C ended it early.
    """

    verdict: Verdict
    intervals: Intervals
    pulls: IntArray
    correct: bool
    interrupted: bool = False


def run_trial(
    instance: Instance,
    policy: Policy,
    delta: float,
    *,
    seed: int = 0,
    max_pulls: int = 1_000_000,
    focus: bool = False,
    watch: Callable[[Session], None] | None = None,
) -> Trial:
    """Run a policy until every objective is decided at ``delta``, or ``max_pulls`` is reached.

    ``watch`` is called after every pull; Ctrl-C ends the run with what it has. The noise and the rule's own choices
    come from separate streams of the seed. It is trial 0 of :func:`mobai.simulate`. With ``focus`` only objectives that
    are not decided yet are sampled for.
    """
    if max_pulls < 1:
        raise InputError("max_pulls", f"must be at least 1, not {max_pulls!r}")
    x = resolve_log_inv_delta(delta)
    session = policy.start(instance.problem, coins(seed, 0), focus=delta if focus else None)
    environment = Environment(instance, seed)
    interrupted = False
    try:
        while not session.engine.stopped(x) and session.engine.told < max_pulls:
            arm = session.ask()
            session.tell(arm, environment.pull(arm))
            if watch is not None:
                watch(session)
    except KeyboardInterrupt:
        interrupted = True
    verdict = session.verdict(delta)
    correct = is_correct(instance, verdict)
    return Trial(verdict, session.intervals(delta), session.observations.asked, correct, interrupted)


def is_correct(instance: Instance, verdict: Verdict) -> bool:
    """Check every recommendation against the true means; any arm within eps of the best is right."""
    return all(instance.is_right(arm, m) for m, arm in enumerate(verdict.recommended))
