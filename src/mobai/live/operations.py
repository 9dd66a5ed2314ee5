"""What can be done to an experiment, each as an operation on its locked state.

An operation checks everything before it changes anything. Several of them can be carried out in one transaction
(:mod:`mobai.live.transactions`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from mobai.errors import ConflictError, InputError
from mobai.live.assigning import (
    checked_row,
    hand_out,
    known_assignments,
    made_by,
    names_of_ask,
    objective_to_use,
    unit_name,
)
from mobai.live.assignments import ANSWERED, DROPPED, Assignment
from mobai.live.ledger import Change
from mobai.live.reports import Metrics, Report, body_of, named, number_of, only_new, pair_of
from mobai.live.settings import with_arm
from mobai.live.state import State
from mobai.live.units import RECORDED, TOLD, Unit, UnitOfArm
from mobai.problem.families import is_number

_log = logging.getLogger(__name__)

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

MOST_ASKED = 10_000
# Reports or observations in one call to a service.
MOST_REPORTED_OVER_HTTP = 5_000
_MOST_ROWS_PER_EVENT = 1000
# Why an assignment is dropped: for reasons that have nothing to do with any result. Any other may have to do with its
# value.
_REASONS = (None, "lost")


@dataclass(frozen=True)
class Operation(Generic[Result_co]):
    """Something to be done while the experiment is locked.

    ``even_closed`` if it can be done to a closed one. ``finish`` makes the result of what ``run`` returns, when
    everything else in the transaction has been done.
    """

    run: Callable[[Change], Any]
    even_closed: bool = False
    finish: Callable[[Change, Any], Result_co] = field(default=lambda _, result: result)


def ask(
    n: int = 1, *, if_decided: str = "go-on", unit: str | None = None, key: str | None = None, by: str | None = None
) -> Operation[list[Assignment]]:
    """Hand out the next assignments."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_ASKED:
        raise InputError("n", f"must be a whole number from 1 to {MOST_ASKED:,}, not {n!r}")
    n, unit = int(n), unit_name(unit)
    more = names_of_ask(unit, key, n) | made_by(by)

    def run(change: Change) -> list[Assignment]:
        state = change.state
        known = known_assignments(state, n, unit, key)
        if known is not None:
            return known
        state.check_open()
        if unit is not None and state.problem.design is not None and state.problem.design.kind != "rounds":
            raise InputError("unit", f"is not for {state.problem.design.words}, which are measured and not visited")
        return _handed_out(change, n, if_decided, more)

    return Operation(run, even_closed=unit is not None or key is not None)


def _handed_out(change: Change, n: int, if_decided: str, more: Mapping[str, Any]) -> list[Assignment]:
    objective, engine = objective_to_use(change.state, if_decided), change.state.engine
    if if_decided == "stop" and engine.stopped():
        return []
    winner = None if objective is None or not engine.stopped() else objective
    return hand_out(change, n, winner, more)


def tell_all(
    reports: Iterable[tuple[Assignment | Unit | UnitOfArm | int | None, Metrics]] | Mapping[Any, Metrics],
    *,
    ask: int = 0,
    if_decided: str = "go-on",
    key: str | None = None,
    by: str | None = None,
) -> Operation[list[Assignment]]:
    """Report on many assignments; new ones are handed out in the same transaction."""
    if not isinstance(reports, Iterable):
        raise InputError("reports", f"must be pairs of an assignment (or arm) and metrics, not {reports!r}")
    given: Sequence[Any] = list(reports.items() if isinstance(reports, Mapping) else reports)
    if isinstance(ask, bool) or not isinstance(ask, int | np.integer) or not 0 <= ask <= MOST_ASKED:
        raise InputError("ask", f"must be a whole number from 0 to {MOST_ASKED:,}, not {ask!r}")
    ask = int(ask)
    if key is not None and not ask:
        raise InputError("key", "only a call that asks needs one; the same report twice changes nothing anyway")
    names_of_ask(None, key, ask)
    who = made_by(by)

    def run(change: Change) -> list[Assignment]:
        state = change.state
        names = _names_of_told(state, given, key, ask)
        known = known_assignments(state, ask, None, key, TOLD)
        if known is not None and state.keys.get(f"{key}\n{names['told']}") is None:
            raise ConflictError("key", f"{key!r} was used with other reports")
        objective_to_use(state, if_decided)  # refuses what it cannot be, before anything is told
        fresh, late = only_new(state.problem, state.assignments, given, state.units, state.assignments.is_settled)
        late = _not_kept_yet(state, late)
        if fresh or late or (ask and known is None):
            state.check_open()
        if late:
            body = body_of(state.problem, fresh) | {"late": body_of(state.problem, late)["reports"]}
            change.add("told", body | who)
        elif fresh:
            change.add("told", body_of(state.problem, fresh) | who, fresh)
        if known is not None or not ask or (given and state.ending(time.time()) is not None):
            return known or []  # answers are taken all the same
        return _handed_out(change, ask, if_decided, names | who)

    return Operation(run, even_closed=True)  # what was told before may be told again


def _not_kept_yet(state: State, late: list[Report]) -> list[Report]:
    """Return what came too late and was not put aside before."""
    found = []
    for number, rewards in late:
        new = [math.nan if state.late.get((number, m)) == one else one for m, one in enumerate(rewards)]
        if not all(map(math.isnan, new)):
            found.append((number, new))
    return found


def record_all(
    rows: Iterable[tuple[str, Metrics]], *, key: str | None = None, by: str | None = None
) -> Operation[list[Assignment]]:
    """Report observations that nobody asked for."""
    if not isinstance(rows, Iterable):
        raise InputError("rows", f"must be pairs of an arm and its metrics, not {rows!r}")
    given = [pair_of(row) for row in rows]
    if key is not None and len(given) > MOST_ASKED:
        raise InputError("key", f"only a call of at most {MOST_ASKED:,} rows can have one, not of {len(given):,}")
    names, who = names_of_ask(None, key, len(given)), made_by(by)

    def run(change: Change) -> list[Assignment]:
        state = change.state
        known = known_assignments(state, len(given), None, key, RECORDED)
        if known is not None:
            _check_same(state, known, given, key)
            return known
        state.check_open()
        if state.problem.design is not None:
            raise InputError(
                "rows",
                f"what nobody asked for is none of {state.problem.design.words}; ask for it, or read a table of "
                "results with mobai analyse --item-column",
            )
        checked = [checked_row(state.problem, *row, number) for number, row in enumerate(given, start=1)]
        first, more = state.assignments.count + 1, names
        for start in range(0, len(checked), _MOST_ROWS_PER_EVENT):
            rows_of_event = checked[start : start + _MOST_ROWS_PER_EVENT]
            body: dict[str, Any] = {"rows": [[arm, named(state.problem, told)] for arm, told in rows_of_event]}
            if start + _MOST_ROWS_PER_EVENT < len(checked):
                body["more"] = True
            change.add("recorded", body | more | who)
            more = {}
        return [state.assignment(first + n) for n in range(len(checked))]

    return Operation(run, even_closed=key is not None)


def _names_of_told(state: State, given: Sequence[Any], key: str | None, ask: int) -> dict[str, Any]:
    """Return what an ask that comes with reports says about its key: also which reports these were."""
    if key is None:
        return {}
    rows = []
    for one, metrics in map(pair_of, given):
        number = number_of(state.problem, state.assignments, one, state.units)
        rows.append([number, sorted(metrics.items()) if isinstance(metrics, Mapping) else repr(metrics)])
    text = json.dumps(sorted(rows, key=repr), default=float)
    return {**names_of_ask(None, key, ask), "told": hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}


def _check_same(state: State, known: Sequence[Assignment], given: Sequence[tuple[Any, Any]], key: str | None) -> None:
    """Refuse observations under a key that others were recorded under."""
    for number, (one, (arm, metrics)) in enumerate(zip(known, given, strict=True), start=1):
        name, rewards = checked_row(state.problem, arm, metrics, number)
        there = state.assignments.rewards(one.id)
        if name != one.arm or any(not math.isnan(new) and new != old for new, old in zip(rewards, there, strict=True)):
            raise ConflictError("key", f"{key!r} was used to record other observations")


def drop(
    assignment: Assignment | Unit | int, *, reason: str | None = None, refused: bool = False, by: str | None = None
) -> Operation[None]:
    """Drop an assignment, or say of one that was told in part that the rest will not come."""
    if reason not in _REASONS:
        raise InputError("reason", f"must be 'lost', or None, not {reason!r}")
    more = ({reason: True} if reason else {}) | ({"refused": True} if refused else {}) | made_by(by)

    def run(change: Change) -> None:
        state = change.state
        number = number_of(state.problem, state.assignments, assignment, state.units)
        status = state.assignments.status(number)
        told = state.assignments.rewards(number)
        waits = any(map(math.isnan, told))
        if status == ANSWERED and all(map(math.isfinite, told)):
            raise ConflictError(
                None, "has been answered, or its windows are over, and cannot be dropped", assignment=number
            )
        if (status == ANSWERED and not waits) or (status == DROPPED and not (waits and reason)):
            return
        missing = [one for one, reward in zip(state.problem.metrics, told, strict=True) if math.isnan(reward)]
        if status == ANSWERED and not (reason or refused or any(metric.has_worst for metric in missing)):
            names = " and ".join(metric.name for metric in missing)
            raise ConflictError(
                f"there is no worst that {names} could be; report null if it never comes for anybody like this, or say "
                "reason=lost if that has nothing to do with any result",
                assignment=number,
            )
        change.add("dropped", {"ids": [number]} | more)
        _log.info("%s: assignment %d was dropped", state.name, number)

    return Operation(run)


def drop_older(
    seconds: float, *, reason: str | None = None, by: str | None = None, now: float | None = None
) -> Operation[int]:
    """Drop every assignment that has waited for so long, or what is missing of it; return how many there were.

    Metrics with a window are not what is waited for: they end by themselves.
    """
    if reason not in _REASONS:
        raise InputError("reason", f"must be 'lost', or None, not {reason!r}")
    if not is_number(seconds) or seconds < 0:
        raise InputError("seconds", f"must be a number, 0 or more, not {seconds!r}")
    more = ({reason: True} if reason else {}) | made_by(by)

    def run(change: Change) -> int:
        state, before = change.state, (time.time() if now is None else now) - seconds
        metrics = [m for m, metric in enumerate(state.problem.metrics) if metric.window is None]
        late = {number for m in metrics for number in state.assignments.waited_for(m, before)}
        if reason is None:  # what is missing of the others could be anything
            late = {number for number in late if state.can_be_the_worst(number)}
        found = sorted(late.union(state.assignments.dropped_open(before) if reason else ()))
        for start in range(0, len(found), _MOST_ROWS_PER_EVENT):
            change.add("dropped", {"ids": found[start : start + _MOST_ROWS_PER_EVENT]} | more)
        return len(found)

    return Operation(run)


def settle() -> Operation[None]:
    """Do nothing: what is due is settled before every operation."""
    return Operation(lambda _: None, even_closed=True)


def settle_due(change: Change) -> None:
    """Let metrics whose windows are over count as what they do then, and give up what was waited for too long."""
    state, now = change.state, time.time()
    if state.closed_at is not None:
        return
    if state.to_stand:
        change.add("stood", {"decisions": state.to_stand})
    lapsed = [[number, metrics] for number, metrics in state.lapsed(now)]
    for start in range(0, len(lapsed), _MOST_ROWS_PER_EVENT):
        change.add("told", {"reports": lapsed[start : start + _MOST_ROWS_PER_EVENT], "lapsed": True})
    overdue = state.given_up(now)
    if overdue:
        change.add("expired", {"ids": overdue})
        _log.info("%s: %d assignments expired: %s", state.name, len(overdue), overdue[:10])


def add_arm(arm: str, sd: npt.ArrayLike | None = None, *, by: str | None = None) -> Operation[None]:
    """Let one more arm take part."""
    who = made_by(by)

    def run(change: Change) -> None:
        state = change.state
        if state.problem.design is not None:
            raise ConflictError(
                "arm", f"none can be added to {state.problem.design.words} yet; begin another experiment"
            )
        if state.settings.reserve == 0:
            raise InputError("arm", "the experiment was created with reserve=0, so no arm can be added")
        row = with_arm(state.problem, arm, sd).sd[-1]
        plain = [None if math.isnan(value) else value for value in row.tolist()]
        change.add("arm_added", {"arm": arm, "sd": plain} | who)

    return Operation(run)


def retire_arm(arm: str, *, by: str | None = None) -> Operation[None]:
    """Stop asking for an arm."""
    who = made_by(by)

    def run(change: Change) -> None:
        state = change.state
        if state.problem.design is not None:
            raise ConflictError("arm", f"arms take part in {state.problem.design.words} until they are ruled out")
        taking_part = [name for name, active in zip(state.problem.arms, state.engine.active, strict=True) if active]
        if arm not in taking_part:
            raise InputError("arm", f"must be one of {', '.join(taking_part)}, not {arm!r}")
        if len(taking_part) == 2:
            raise InputError("arm", "two arms are left, and none of them can be retired")
        compared = {guardrail.of for guardrail in state.problem.guardrails} | {state.problem.baseline}
        if arm in compared:
            raise ConflictError("arm", f"{arm!r} is what others are compared with, and cannot be retired")
        change.add("arm_retired", {"arm": arm} | who)

    return Operation(run)


def pause(*, by: str | None = None) -> Operation[None]:
    """Hand out nothing until it is resumed."""
    return _unless(lambda change: change.state.paused_at is not None, "paused", by)


def resume(*, by: str | None = None) -> Operation[None]:
    """Hand out assignments again."""
    return _unless(lambda change: change.state.paused_at is None, "resumed", by)


def close(*, as_equal: bool | Sequence[str] = False, by: str | None = None) -> Operation[None]:
    """End the experiment; arms left in the objectives ``as_equal`` (True: all that are open) are equal enough."""
    names = as_equal if isinstance(as_equal, bool) else _names_of_equal(as_equal)
    who = made_by(by)

    def run(change: Change) -> None:
        if change.state.closed_at is None:
            change.add("closed", _equal_arms(change.state, names) | who)
        elif names:
            raise ConflictError("as_equal", "the experiment is closed, and how it ended cannot be changed")

    return Operation(run, even_closed=True)


def _names_of_equal(given: Any) -> list[str]:
    names: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError("as_equal", f"must be names of objectives, or True for all that are open, not {given!r}")
    return names


def _equal_arms(state: State, as_equal: bool | Sequence[str]) -> dict[str, Any]:
    """Return what the journal says of objectives that are closed as equal: the arms left, and how much they differ."""
    verdict = state.verdict()
    names = verdict.problem.objective_names
    still_open = [name for name, decision in zip(names, verdict.decisions, strict=True) if decision is None]
    wanted = still_open if as_equal is True else list(as_equal or ())
    for name in wanted:
        if name not in still_open:
            known = ", ".join(still_open) or "none: everything is decided"
            raise InputError("as_equal", f"must be objectives that are open ({known}), not {name!r}")
    found = {one.objective: one for one in verdict.contention}
    for name in wanted:
        by_wins = name in names and verdict.problem.objectives[names.index(name)].family.counts_wins
        if name not in found or len(found[name].left) < 2 or (found[name].apart is None and not by_wins):
            raise InputError("as_equal", f"nothing is known yet of how much the arms left in {name!r} differ")
    equal = {name: {"arms": list(found[name].left), "apart": found[name].apart} for name in wanted}
    return {"as_equal": equal} if equal else {}


def and_whether_decided(operation: Operation[Result]) -> Operation[tuple[Result, bool]]:
    """Return an operation that also says whether every objective is decided after it."""

    def finish(change: Change, result: Any) -> tuple[Result, bool]:
        return operation.finish(change, result), change.stopped

    return Operation(operation.run, operation.even_closed, finish)


def and_whether_new(operation: Operation[Result]) -> Operation[tuple[Result, bool]]:
    """Return an operation that also says whether it has changed anything."""

    def run(change: Change) -> tuple[Any, bool]:
        before = change.written
        return operation.run(change), change.written > before

    def finish(change: Change, result: tuple[Any, bool]) -> tuple[Result, bool]:
        return operation.finish(change, result[0]), result[1]

    return Operation(run, operation.even_closed, finish)


def _unless(
    is_so: Callable[[Change], bool], kind: str, by: str | None, *, even_closed: bool = False
) -> Operation[None]:
    """Append an event without details, unless it is so already."""
    who = made_by(by)

    def run(change: Change) -> None:
        if not is_so(change):
            change.add(kind, who)

    return Operation(run, even_closed)
