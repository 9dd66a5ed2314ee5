"""Handing assignments out: who asks, for whom, under which name, and what is left to hand out."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from mobai.errors import ConflictError, InputError
from mobai.live.assignments import Assignment
from mobai.live.ledger import Change
from mobai.live.reports import Metrics, has_reward, measured
from mobai.live.state import State
from mobai.live.units import ASKED, RECORDED, Asked
from mobai.problem import Problem
from mobai.problem.objective import is_name

_log = logging.getLogger(__name__)

LONGEST_NAME = 200


def checked_row(problem: Problem, arm: str, metrics: Metrics, number: int) -> tuple[str, list[float]]:
    """Return the name of an arm, which may have been retired, and what was measured; complaints name the row."""
    try:
        if not isinstance(arm, str):
            raise InputError("arm", f"must be a name, not {arm!r}")
        windows = {metric.name for metric in problem.metrics if metric.window is not None}
        if isinstance(metrics, Mapping):
            # What a recorded observation does not have of these may still come, until the window is over.
            metrics = {name: value for name, value in metrics.items() if value is not None or name not in windows}
        rewards = measured(problem, metrics)
        if not has_reward(rewards):
            raise InputError("metrics", "must hold at least one number")
        return problem.arms[problem.arm_index(arm)], rewards
    except InputError as error:
        raise error.within(row=number) from None


def objective_to_use(state: State, if_decided: str) -> int | None:
    """Return the objective whose winner is wanted, None for ``go-on`` and ``stop``."""
    names = state.problem.objective_names
    if if_decided in ("go-on", "stop"):
        return None
    word, _, objective = if_decided.partition("=") if isinstance(if_decided, str) else ("", "", "")
    if word != "winner" or objective not in names:
        accepted = ", ".join(["go-on", "stop", *(f"winner={name}" for name in names)])
        raise InputError("if_decided", f"must be one of {accepted}, not {if_decided!r}")
    return names.index(objective)


def made_by(who: str | None) -> dict[str, Any]:
    """Return what an event says about who made it."""
    if who is None:
        return {}
    if not is_name(who) or len(who) > LONGEST_NAME:
        raise InputError("by", f"must be a name of at most {LONGEST_NAME} printable characters, not {str(who)[:100]!r}")
    return {"by": who}


def names_of_ask(unit: str | None, key: str | None, n: int) -> dict[str, Any]:
    """Return what an ask says about who it is for, and what it is called."""
    for what, name in (("unit", unit), ("key", key)):
        if name is not None and not (isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME):
            raise InputError(what, f"must be a text of 1 to {LONGEST_NAME} characters, not {repr(name)[:100]}")
        if name is not None and not _can_be_written(name):
            raise InputError(what, f"must be a text that UTF-8 can hold, not {name!r}")
    if unit is not None and (n != 1 or key is not None):
        raise InputError("unit", "a unit has one assignment, so n must be 1, and a key is not needed")
    return ({} if unit is None else {"units": [str(unit)]}) | ({} if key is None else {"key": key, "n": n})


def check_name(name: Any) -> None:
    """Refuse what cannot be the name of an experiment."""
    if not is_name(name) or len(name) > LONGEST_NAME or name in (".", ".."):
        raise InputError(
            "name",
            f"must be a non-empty string of printable characters, at most {LONGEST_NAME}, no space at its "
            f"ends, neither . nor .., not {repr(name)[:100]}",
        )


def unit_name(unit: str | int | None) -> str | None:
    """Return the name of a unit, which may be given as a whole number."""
    return str(unit) if isinstance(unit, int) and not isinstance(unit, bool) else unit  # type: ignore[return-value]


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def known_assignments(
    state: State, n: int, unit: str | None, key: str | None, by: int = ASKED
) -> list[Assignment] | None:
    """Return what a unit has, or what was handed out under a key; None if there is nothing yet."""
    found = state.units.get(unit) if unit is not None else state.keys.get(key) if key is not None else None
    if found is None:
        return None
    first, count, wanted, before = Asked(found, 1, 1) if unit is not None else Asked.unpack(found)
    if before != by:
        raise ConflictError("key", f"{key!r} was used for another kind of call")
    if wanted != n:
        raise ConflictError(
            "key", f"{key!r} was used to {'record' if by == RECORDED else 'ask for'} {wanted:,}, not {n:,}"
        )
    return [state.assignment(first + k) for k in range(count)]


def hand_out(change: Change, n: int, objective: int | None, more: Mapping[str, Any]) -> list[Assignment]:
    """Let the rule choose, or take the winner of an objective, and write it down."""
    now = time.time()
    room = change.state.room(now)
    n = n if room is None else min(n, room)
    if n == 0:  # arms on items wait for each other
        return []
    first, problem = change.state.assignments.count + 1, change.state.problem
    body: dict[str, Any] = {"arms": [None] * n}
    if objective is not None:
        winner = change.state.engine.winner(objective)
        if winner < 0:
            raise ConflictError("if_decided", "no arm keeps every limit, so there is no winner")
        body = {"arms": [winner] * n, "winner": problem.objective_names[objective]}
    asked = change.add("asked", {**body, **more})
    return [change.state.assignment(first + k) for k in range(len(asked.body["arms"]))]
