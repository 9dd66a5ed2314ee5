"""A state as bytes and back: plain arrays and JSON, nothing that could run.

A snapshot says which event it was taken after, with that event's hash, and begins with a digest of the rest: one that
is damaged, or of another history, is never used.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np

from mobai.live.journal import Event, Snapshot
from mobai.live.settings import problem_from_body, problem_to_body, to_body
from mobai.live.state import State
from mobai.rules.stopping import Decision

# Snapshots of another layout are ignored, and the journal is read from its beginning.
_LAYOUT = 8
_DIGEST = hashlib.sha256().digest_size


def take(state: State) -> Snapshot:
    """Write a state down."""
    facts = {
        "layout": _LAYOUT,
        "seq": state.seq,
        "head": state.head,
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
    return Snapshot(state.seq, _digest(buffer.getvalue()) + buffer.getvalue())


def restore(snapshot: Snapshot) -> State | None:
    """Read a state back; None if this is not a snapshot that can be."""
    try:
        digest, data = snapshot.data[:_DIGEST], snapshot.data[_DIGEST:]
        if digest != _digest(data) or not _is_plain(data):
            return None
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            if facts["layout"] != _LAYOUT or facts["seq"] != snapshot.seq:
                return None
            return _rebuild(facts, dict(arrays))
    except Exception:
        return None


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _is_plain(data: bytes) -> bool:
    """Whether nothing in it is compressed, so that it cannot be larger than it looks."""
    with zipfile.ZipFile(io.BytesIO(data)) as files:
        return all(one.compress_type == zipfile.ZIP_STORED for one in files.infolist())


def _rebuild(facts: dict[str, Any], arrays: dict[str, Any]) -> State:
    state = State(Event(1, "created", facts["created_at"], facts["settings"]))
    state.seq, state.head = facts["seq"], facts["head"]
    state.closed_at, state.refused = facts["closed_at"], int(facts["refused"])
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
