"""A state as bytes and back: plain arrays and JSON, nothing that could run."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import BadZipFile

import numpy as np

from mobai.live.journal import Event, Snapshot
from mobai.live.settings import from_body, to_body
from mobai.live.state import Decision, State

_TALLY = ("asked", "answered", "pulls", "sums", "scatter", "open")
# Snapshots of another layout are ignored, and the journal is read from its beginning.
_LAYOUT = 1


def take(state: State) -> Snapshot:
    """Write a state down."""
    facts = {
        "layout": _LAYOUT,
        "settings": to_body(state.settings),
        "created_at": state.created_at,
        "closed_at": state.closed_at,
        "initial": state.initial,
        "told": state.tally.told,
        "decisions": state.decisions,
        "past": state.past,
        "memory": len(state.memory),
    }
    arrays: dict[str, Any] = {f"tally_{name}": getattr(state.tally, name) for name in _TALLY}
    arrays |= {f"assignments_{name}": array for name, array in state.assignments.arrays().items()}
    arrays |= {f"memory_{n}": array for n, array in enumerate(state.memory)}
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, facts=text, active=state.active, **arrays)
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
    state.seq, state.closed_at, state.initial = seq, facts["closed_at"], facts["initial"]
    state.settings = from_body(facts["settings"])
    state.active = arrays["active"]
    for name in _TALLY:
        setattr(state.tally, name, arrays[f"tally_{name}"])
    state.tally.told = facts["told"]
    state.assignments.restore({name: arrays[f"assignments_{name}"] for name in ("arms", "status", "since", "told")})
    state.decisions = [None if one is None else Decision(*one) for one in facts["decisions"]]
    state.past = [(name, Decision(*one)) for name, one in facts["past"]]
    state.restore([arrays[f"memory_{n}"] for n in range(facts["memory"])])
    return state
