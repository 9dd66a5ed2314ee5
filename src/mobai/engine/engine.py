"""The engine: the one place where an experiment happens.

It owns what was observed (in the arrays the kernels read), the sampling rule's memory, who takes part, and what is
decided. A session, a live experiment and a simulation pull by pull are an engine with something around it; compiled
trials are loops over the same kernel functions.

The sampling rule sees every reward as soon as it is told. Evidence reads the rewards of each metric in the order in
which they were asked for (:mod:`mobai.engine.asks`), so that what is slow, late or lost cannot bias it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.engine.answers import Answers
from mobai.engine.asks import Asks, Look, Resolution, Rows, Waiting, left_out
from mobai.engine.evidence import Evidence
from mobai.engine.family_check import FamilyCheck
from mobai.engine.reward_health import kept_of_health, new_health, restored_health, with_one_more_arm
from mobai.engine.sampling_view import SamplingView
from mobai.errors import InputError
from mobai.kernels.programs.dense import Integers
from mobai.kernels.stats.health import HealthArrays, note_rewards
from mobai.kernels.stats.observations import LimitState
from mobai.problem import FloatArray, IntArray, Problem
from mobai.problem.families import is_number
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.stopping import Decision, SharesDelta, StoppingRule
from mobai.theory.observations import Moment

# How rare an extreme may be that must not hide, in data from the world.
RARE = 0.02
_LEAST_RARE = 1e-6


def check_rare(rare: float | None) -> None:
    """Refuse what cannot be how rare an extreme is."""
    if rare is not None and not (is_number(rare) and _LEAST_RARE <= rare < 1):
        raise InputError("rare", f"must be a number from {_LEAST_RARE:g}, less than 1, or None, not {rare!r}")


class Engine(Answers):
    """An experiment under way.

    Parameters
    ----------
    problem
        The arms and objectives of the start.
    rule, stopping
        How arms are chosen, and when objectives are decided.
    focus_log_inv_delta
        A log(1/delta): the sampling rule works only for objectives that are not decided at that delta. None for all.
    log_inv_delta
        The only log(1/delta) at which decisions will be asked for; None if any may be.
    bars_broken
        Whether arms that break a limit, at the only delta or that of ``focus``, are asked for no more.
    order
        In which order evidence reads the rewards: as they were ``asked`` for, or as they were ``told``.
    rare
        How rare an extreme may be that must not hide, where extremes could: then no objective is decided before the
        arms in question have log(1/delta) / rare rewards. None to take them for ruled out.
    follows_health
        Whether rewards are followed to see whether something is wrong with them.

    Attributes
    ----------
    problem
        The arms there are now, retired ones included.
    sampling
        What the sampling rule sees: every reward told of the arms that take part, with pending ones counted.
    asks
        What was asked for, and has not become evidence yet.
    health
        What was found of the rewards, in the arrays that the kernels read; None if it is not followed.
    past
        Decisions that were opened again because arms came or went (with ``log_inv_delta`` only).
    """

    def __init__(
        self,
        problem: Problem,
        rule: SamplingRule,
        stopping: StoppingRule,
        *,
        focus_log_inv_delta: float | None = None,
        log_inv_delta: float | None = None,
        bars_broken: bool = True,
        order: str = "asked",
        rare: float | None = None,
        follows_health: bool = False,
    ) -> None:
        settle_at = log_inv_delta if focus_log_inv_delta is None else focus_log_inv_delta
        self._settle_at = None if settle_at is None else stopping.level(problem, settle_at)
        self.problem, self.rule, self.stopping = problem, rule, stopping
        extremes = any(objective.family.hides_extremes for objective in problem.objectives)
        waits = rare is not None and log_inv_delta is not None and extremes
        self._least = math.ceil((log_inv_delta or 0.0) / (rare or 1.0)) if waits else 0
        self._evidence = Evidence(problem, stopping, log_inv_delta, self._settle_at, self._least)
        self.asks = Asks(len(problem.metrics), order)
        self.health: HealthArrays | None = new_health(problem) if follows_health else None
        self.past: list[tuple[str, Decision]] = []
        # Levels belong to the initial arms; later ones pay for themselves.
        self._at_start, self._focus, self._only = problem, focus_log_inv_delta, log_inv_delta
        self._bars_broken, self._barred = bars_broken, np.zeros(problem.shape[0], np.bool_)
        self.sampling = SamplingView(problem)
        self._check = FamilyCheck(problem)
        self._memory = rule.init(problem)

    @property
    def memory(self) -> Any:
        """What the sampling rule carries from choice to choice."""
        return self._memory

    def choose(self, rng: np.random.Generator) -> int:
        """Return the arm that the sampling rule would ask for next; only its memory changes."""
        arm, self._memory = self.choice(rng)
        return arm

    def choice(self, rng: np.random.Generator) -> tuple[int, Any]:
        """Return the arm that the sampling rule would ask for next, and what it would remember then."""
        free = np.flatnonzero(self.active & ~self._barred).tolist() if self._barred.any() else None
        if free is not None and len(free) < 2:
            if not free:
                raise InputError("arm", "every arm breaks a limit, and there is none to ask for")
            return int(free[0]), self._memory
        if self._least:
            scarce = self._scarce_arm()
            if scarce is not None:
                return scarce, self._memory
        chosen = self.rule.choose(self.sampling.problem, self._memory, self.sampling.observations, rng)
        if not isinstance(chosen, tuple) or len(chosen) != 2:
            raise InputError(
                "rule", f"choose of {self.rule.name} must return an arm and the new memory, not {chosen!r}"
            )
        (row, memory), arms = chosen, self.sampling.arms
        if not isinstance(row, int | np.integer) or not 0 <= row < len(arms):
            raise InputError("rule", f"{self.rule.name} chose {row!r}, which is none of its {len(arms)} arms")
        return arms[row], memory

    def _scarce_arm(self) -> int | None:
        """Return the arm that lacks most rewards, if nothing but their number keeps some objective open."""
        x = self._known_delta()
        still_open = [m for m, one in enumerate(self._evidence.monitor.decisions(x)) if one is None]
        held = [m for m in still_open if self._evidence.is_held(m, self.level(x))]
        if not held:
            return None
        arms, seen = self.sampling.arms, self.sampling.observations.arrays
        # Those that are still to come, and those that wait to become evidence, are on their way.
        on_their_way = seen.counts + seen.pending - self.observations.arrays.counts[:, arms]
        lacking = (self._lacking(held)[:, arms] - on_their_way[: self.problem.shape[1]]).max(axis=0)
        return arms[int(lacking.argmax())] if lacking.max() > 0 else None

    def forget_choices(self) -> None:
        """Reset the rule's memory to that of ``init``, because the choices in the journal were not its own."""
        self._memory = self.rule.init(self.sampling.problem)

    def ask(self, arm: int) -> int:
        """Count an arm as asked for: pending until it is told or dropped. Return the number of the ask."""
        if not self.active[arm]:
            raise InputError(f"arm {self.problem.arms[arm]!r} was retired and cannot be asked for")
        return self.record(arm)

    def record(self, arm: int, *, more: bool = False) -> int:
        """Count a pull that nobody asked for as an ask, with ``more`` one that is read together with the one before."""
        self.ask_again(arm)
        return self.asks.add(arm, more=more)

    def tell(self, number: int, rewards: Sequence[float] | FloatArray, at: float | None = None) -> None:
        """Take in the rewards of an ask, in the objectives' own units; NaN for those that will not come."""
        self.tell_all([Resolution(number, left_out(rewards))], at)

    def tell_all(self, outcomes: Sequence[Resolution], at: float | None = None) -> None:
        """Take in what has come of several asks as one moment: the evidence is looked at once, after the last."""
        self.hear(outcomes, at)
        self.catch_up()

    def hear(self, outcomes: Sequence[Resolution], at: float | None = None) -> None:
        """Take down what has come of several asks; :meth:`catch_up` takes it in, many at a time."""
        self.asks.hear(outcomes, at)
        if self.problem.guardrails:
            self.catch_up()  # whom to wait for depends on it

    def ingest(self, arms: IntArray, rewards: FloatArray, together: npt.NDArray[np.bool_]) -> None:
        """Take in pulls of which nothing will come any more, in the objectives' own units, NaN where there is none.

        Those that are ``together`` with the one before are read with it, and evidence is looked at after the last.
        """
        for arm, times in enumerate(np.bincount(arms).tolist()):
            self.observations.ask(arm, times)
            self.sampling.ask(arm, times)
        self.asks.add_resolved(arms, rewards, together)
        self.catch_up()

    def forget_ask(self, arm: int) -> None:
        """Count a pull of an arm as never asked for: nothing of it was told, and what will not come is told apart."""
        self.observations.ask(arm, -1)
        self.sampling.forget_ask(arm)

    def ask_again(self, arm: int) -> None:
        """Count a pull that was given up as asked for after all."""
        self.observations.ask(arm)
        self.sampling.ask(arm)

    def catch_up(self) -> None:
        """Let sampling and evidence take in what they are behind with."""
        if self.asks.is_taken:
            return
        told, rows, looks = self.asks.take()
        if told is not None:
            self.sampling.tell_all(*self._moments(told))
        if rows is None and not looks:
            return
        if self._can_follow(looks):
            self._follow(rows, looks)
            return
        row = moment = 0
        for look in looks:
            part = _part_of_rows(rows, row, look.rows, moment, look.moments, len(self.problem.metrics))
            row, moment = look.rows, look.moments
            self._read(part, look)

    def _read(self, part: Rows, look: Look) -> None:
        """Let evidence take in some rows, and look at it once."""
        moment, ends = self._moments(part)
        for m, arm in look.worst:
            self.observations.expect_the_worst(m, arm)
        looked = self._evidence.tell_all(moment, ends, look.at)
        self._check.tell_all(moment, self.observations, in_order=look.apart)
        if self.health is not None:
            note_rewards(self.health, self.observations.arrays, moment.arms, moment.rewards)
        if looked:
            self._set_focus(look.at)

    def _can_follow(self, looks: Sequence[Look]) -> bool:
        """Whether there is a faster way: nothing is limited, the default threshold, asked for one by one."""
        if self.health is None or self.problem.guardrails or not self._evidence.can_follow(len(looks)):
            return False
        return all(look.apart for look in looks)

    def _follow(self, rows: Rows | None, looks: Sequence[Look]) -> None:
        """Do what :meth:`_read` does for one look after the other, faster."""
        assert rows is not None
        assert self.health is not None
        moment, done = self._moments(rows)[0], 0
        after = np.array([look.rows for look in looks])
        while done < len(looks):
            done, found = self._evidence.follow(self._check.repeats, self.health, moment, after, done)
            if found:
                self._evidence.enter(looks[done - 1].at)
                self._set_focus(looks[done - 1].at)

    def _moments(self, rows: Rows) -> tuple[Moment, Integers]:
        """Return rows in the objectives' own units, oriented, and where moments end."""
        return Moment(rows.arms, rows.values * self.problem.signs, rows.first), rows.ends

    @property
    def waiting(self) -> list[Waiting]:
        """What holds metrics up of which something waits to become evidence."""
        return self.asks.waiting()

    def add_arm(self, problem: Problem, at: float | None = None) -> None:
        """Let one more arm take part, the last one of ``problem``; objectives decided before are open again."""
        self._evidence.changing  # noqa: B018 - refuses stopping rules that are not proven for it
        if not (isinstance(self.stopping, SharesDelta) and self.stopping.reserve > 0):
            raise InputError("arm", "the stopping rule has reserve=0, so no arm can be added; use GLR(reserve=0.1)")
        # What was decided is true of the arms there were.
        self._keep_past(range(problem.shape[1]))
        self.problem, self._barred = problem, np.append(self._barred, False)
        self._evidence.add_arm(problem)
        self._check.add_arm()
        self.health = None if self.health is None else with_one_more_arm(self.health)
        self._arms_changed(at)

    def retire_arm(self, arm: int, at: float | None = None) -> None:
        """Stop asking for an arm and look for the best of the others; decisions for other arms stand."""
        self._evidence.changing  # noqa: B018 - refuses stopping rules that are not proven for it
        if not self.active[arm]:
            raise InputError(f"arm {self.problem.arms[arm]!r} was retired before")
        if self.active.sum() == 2:
            raise InputError("arm", "two arms are left, and none of them can be retired")
        if self.problem.arms[arm] in _baselines(self.problem):
            raise InputError(f"arm {self.problem.arms[arm]!r} is what others are compared with, and cannot be retired")
        reopened = self._decided_for(arm)
        self._keep_past(reopened)
        self._evidence.retire_arm(arm, reopened)
        self._arms_changed(at)

    def _decided_for(self, arm: int) -> list[int]:
        """Return the objectives that were decided for an arm; with many deltas, any may have been."""
        if self._only is None:
            return list(range(self.problem.shape[1]))
        decisions = self._evidence.monitor.decisions(self._only)
        return [m for m, decision in enumerate(decisions) if decision is not None and decision.arm == arm]

    def _keep_past(self, objectives: Iterable[int]) -> None:
        """Put what is decided on these objectives, at the only delta, among what is past."""
        if self._only is not None:
            decisions = self._evidence.monitor.decisions(self._only)
            names = self.problem.objective_names
            self.past += [(names[m], found) for m in objectives if (found := decisions[m]) is not None]

    def _arms_changed(self, at: float | None) -> None:
        """Start the rule for the arms that take part now, and look at the evidence among them."""
        self._enrol()
        self._evidence.monitor.look(self.observations, at)
        self._set_focus(at)

    def let_stand(self, objective: int, decision: Decision) -> None:
        """Take over a decision at the only delta that was made with evidence of another kind."""
        self._evidence.changing.restore(objective, decision)
        self._set_focus(decision.at)

    def is_read(self, arm: int) -> bool:  # noqa: ARG002
        """Whether anything that may still come of an arm can become evidence."""
        return True

    def room(self) -> int | None:
        """Return how many may be asked for before something comes, None for any number."""
        return None

    def place(self, number: int) -> int | None:  # noqa: ARG002
        """Return the index of an ask, where arms are measured on the same things."""
        return None

    def still(self) -> Engine:
        """Return a copy that stays as it is, to be looked at while this one goes on."""
        made = copy.copy(self)
        made._evidence, made._check = copy.deepcopy(self._evidence), copy.deepcopy(self._check)
        made.sampling, made.past, made.asks = copy.deepcopy(self.sampling), list(self.past), copy.copy(self.asks)
        return made

    def state(self) -> dict[str, Any]:
        """Return everything that cannot be computed from the rest, in arrays: for an engine with one delta only."""
        parts: dict[str, Any] = {"observed": self.observations, "check": self._check}
        parts["sampled"] = self.sampling.observations
        arrays = {f"{name}_{key}": array for name, part in parts.items() for key, array in part.state().items()}
        memory = {f"memory_{n}": array for n, array in enumerate(self._memory)}
        asks = {f"asks_{name}": array for name, array in self.asks.state().items()}
        health = {} if self.health is None else {f"health_{n}": a for n, a in kept_of_health(self.health).items()}
        return {**arrays, **memory, **asks, **health}

    def restore(
        self,
        problem: Problem,
        state: dict[str, Any],
        decisions: Sequence[Decision | None],
        past: Sequence[Any],
    ) -> None:
        """Take over the state of an engine with the same start; ValueError or KeyError if it cannot be."""
        self.problem = problem
        self._restore_evidence(state, decisions)
        self.asks.restore(part_of_state(state, "asks_"))
        self._barred = self._broken()
        self._enrol()
        self.sampling.observations.restore(part_of_state(state, "sampled_"))
        self._check.restore(part_of_state(state, "check_"))
        if self.health is not None:
            self.health = restored_health(self.health, part_of_state(state, "health_"))
        self.past = [(name, Decision(*one)) for name, one in past]
        memory = [state[f"memory_{n}"] for n in range(len(self._memory))]
        self._memory = type(self._memory)(*memory) if memory else self._memory

    def _restore_evidence(self, state: dict[str, Any], decisions: Sequence[Decision | None]) -> None:
        self._evidence.restore(self.problem, part_of_state(state, "observed_"), decisions)

    def _set_focus(self, at: float | None) -> None:
        """Turn sampling away from what is decided and from arms that break a limit; wait for these no longer."""
        broken = self._broken()
        if not np.array_equal(broken, self._barred):
            self._barred = broken
            self._enrol()
        if self.problem.guardrails:
            self.sampling.observations.settle(self.observations.arrays.limits.settled[:, self.sampling.arms])
        if self._focus is not None:
            decisions = self._evidence.monitor.decisions(self._focus)
            self.sampling.observations.focus_on([decision is None for decision in decisions])
        self.asks.pass_over(np.flatnonzero(~self.active | self._barred).tolist())
        self.asks.go_on(at)
        if self.asks.behind:
            self.catch_up()

    def _broken(self) -> npt.NDArray[np.bool_]:
        """Return which arms are to be barred: those that break a limit, but for those that others are compared with."""
        settled = self.observations.arrays.limits.settled
        spared = np.isin(self.problem.arms, list(_baselines(self.problem)))
        broken: npt.NDArray[np.bool_] = (settled == LimitState.BROKEN).any(axis=0) & ~spared & self._bars_broken
        return broken

    def _enrol(self) -> None:
        """Take note of who takes part, and start the rule for them: two arms at least."""
        taking_part = self.active & ~self._barred
        for arm in np.flatnonzero(self.active & self._barred)[: max(2 - int(taking_part.sum()), 0)].tolist():
            taking_part[arm] = True
        self.sampling.enrol(self.problem, taking_part)
        self._memory = self.rule.init(self.sampling.problem)


def _baselines(problem: Problem) -> set[str]:
    """Return the arms that others are compared with."""
    compared = {guardrail.of for guardrail in problem.guardrails} | {problem.baseline}
    return {arm for arm in compared if arm is not None}


def _part_of_rows(rows: Rows | None, row: int, end: int, moment: int, last: int, metrics: int) -> Rows:
    """Return the rows between two, and where the moments between two end."""
    if rows is None:
        empty = np.zeros(0, np.int64)
        return Rows(empty, np.zeros((0, metrics)), np.zeros(0, np.bool_), empty)
    return Rows(rows.arms[row:end], rows.values[row:end], rows.first[row:end], rows.ends[moment:last] - row)


def part_of_state(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the entries whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
