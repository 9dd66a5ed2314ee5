"""A state as bytes and back: plain arrays and JSON, nothing that could run."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import BadZipFile

import numpy as np

from mobai.live.journal import Event, Snapshot
from mobai.live.settings import problem_from_body, problem_to_body, to_body
from mobai.live.state import State
from mobai.rules.stopping import Decision

# Snapshots of another layout are ignored, and the journal is read from its beginning.
_LAYOUT = 7


def take(state: State) -> Snapshot:
    """Write a state down."""
    facts = {
        "layout": _LAYOUT,
        "settings": to_body(state.settings),
        "problem": problem_to_body(state.problem),
        "created_at": state.created_at,
        "closed_at": state.closed_at,
        "decisions": state.engine.verdict().decisions,
        "of_complete_pulls": state.engine.decisions_of_complete_pulls,
        "past": state.engine.past,
        "refused": state.refused,
    }
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    arrays: dict[str, Any] = {f"assignments_{name}": array for name, array in state.assignments.arrays().items()}
    buffer = io.BytesIO()
    np.savez(buffer, facts=text, **state.engine.state(), **arrays)
    return Snapshot(state.seq, buffer.getvalue())


def restore(snapshot: Snapshot) -> State | None:
    """Read a state back; None if this is not a snapshot that can be."""
    try:
        with np.load(io.BytesIO(snapshot.data), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            if facts["layout"] != _LAYOUT:
                return None
            return _rebuild(snapshot.seq, facts, dict(arrays))
    except (ValueError, KeyError, OSError, EOFError, TypeError, BadZipFile):
        return None


def _rebuild(seq: int, facts: dict[str, Any], arrays: dict[str, Any]) -> State:
    state = State(Event(1, "created", facts["created_at"], facts["settings"]))
    state.seq, state.closed_at, state.refused = seq, facts["closed_at"], int(facts["refused"])
    state.assignments.restore({name: arrays[f"assignments_{name}"] for name in ("arms", "status", "since", "told")})
    decisions, complete = facts["decisions"], facts["of_complete_pulls"]
    state.engine.restore(
        problem_from_body(facts["problem"]),
        arrays,
        _decisions(decisions),
        None if complete is None else _decisions(complete),
        facts["past"],
    )
    return state


def _decisions(found: list[Any]) -> list[Decision | None]:
    return [None if one is None else Decision(*one) for one in found]
