"""A state as bytes and back: plain arrays and JSON, nothing that could run or grow.

First the digest of the rest, then the length of a JSON text and that text, which says what the state is besides arrays
and lists these with their types and shapes, then the numbers in them. A snapshot says which event it was taken after,
with that event's hash: one that is damaged, or of another history, is never used.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np

from mobai.live.settings import to_body
from mobai.live.state import Milestone, State
from mobai.problem.codec import problem_json, problem_of
from mobai.rules.stopping import Decision
from mobai.store.journal import Event, Snapshot

# Snapshots of another layout are ignored, and the journal is read from its beginning.
_LAYOUT = 13
# The last one whose evidence was weighed otherwise: what was decided then stands.
_LAYOUT_BEFORE = 12
_DIGEST = hashlib.sha256().digest_size


def take(state: State) -> Snapshot:
    """Write a state down."""
    engine = state.engine
    facts = {
        "layout": _LAYOUT,
        "seq": state.seq,
        "head": state.head,
        "settings": {**to_body(state.settings), **({} if state.name is None else {"name": state.name})},
        "problem": problem_json(state.problem),
        "created_at": state.created_at,
        "closed_at": state.closed_at,
        "equal": state.equal,
        "paused_at": state.paused_at,
        "last_report_at": state.last_report_at,
        "decisions": engine.verdict().decisions,
        "past": engine.past,
        "refused": state.refused,
        "lost": state.lost,
        "late": [[*place, value if math.isfinite(value) else None] for place, value in state.late.items()],
        "timeline": state.timeline,
    }
    arrays: dict[str, Any] = {f"assignments_{name}": array for name, array in state.assignments.arrays().items()}
    for name, table in (("units", state.units), ("keys", state.keys)):
        arrays |= {f"{name}_{key}": array for key, array in table.arrays().items()}
    arrays |= {f"trace_{key}": array for key, array in state.trace.arrays(state.problem.shape[0]).items()}
    arrays |= {f"reports_{key}": array for key, array in state.health.arrays().items()}
    data = _pack(facts, {**engine.state(), **arrays})
    return Snapshot(state.seq, _digest(data) + data)


def restore(snapshot: Snapshot) -> State | None:
    """Read a state back; None if this is not a snapshot that can be."""
    try:
        digest, data = snapshot.data[:_DIGEST], snapshot.data[_DIGEST:]
        if digest != _digest(data):
            return None
        facts, arrays = _unpack(data)
        if facts["layout"] != _LAYOUT or facts["seq"] != snapshot.seq:
            return None
        return _rebuild(facts, arrays)
    except Exception:
        return None


def is_of_another_version(snapshot: Snapshot) -> bool:
    """Whether this is a sound snapshot that another version has written."""
    facts = _facts_of(snapshot)
    return facts is not None and facts.get("layout") != _LAYOUT


def decided_before(snapshot: Snapshot) -> list[Decision | None] | None:
    """Return what the version before, which weighed evidence otherwise, had decided; None if this is not from it."""
    facts = _facts_of(snapshot)
    if facts is None or facts.get("layout") != _LAYOUT_BEFORE:
        return None
    try:
        return _decisions(facts["decisions"])
    except (LookupError, TypeError):
        return None


def _facts_of(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return what a sound snapshot says of itself."""
    digest, data = snapshot.data[:_DIGEST], snapshot.data[_DIGEST:]
    if digest != _digest(data):
        return None
    try:
        facts = json.loads(data[8 : 8 + int.from_bytes(data[:8], "big")])
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None


def _pack(facts: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    listed = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    text = json.dumps({**facts, "arrays": listed}).encode()
    return b"".join([len(text).to_bytes(8, "big"), text, *(array.tobytes() for array in arrays.values())])


def _unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    place = 8 + int.from_bytes(data[:8], "big")
    facts, arrays = json.loads(data[8:place]), {}
    for name, kind, shape in facts["arrays"]:
        count, dtype = math.prod(shape), np.dtype(kind)
        if dtype.hasobject:
            raise ValueError(f"{name}: not an array of numbers")
        arrays[name] = np.frombuffer(data, dtype, count, place).reshape(shape).copy()
        place += count * dtype.itemsize
    if place != len(data):
        raise ValueError("there is more, or less, than was listed")
    return facts, arrays


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _rebuild(facts: dict[str, Any], arrays: dict[str, Any]) -> State:
    state = State(Event(1, "created", facts["created_at"], facts["settings"]))
    state.seq, state.head = facts["seq"], facts["head"]
    state.equal = facts.get("equal", {})
    state.closed_at, state.paused_at, state.refused = facts["closed_at"], facts["paused_at"], int(facts["refused"])
    state.last_report_at, state.lost = facts["last_report_at"], int(facts["lost"])
    state.late = {(number, m): math.inf if value is None else value for number, m, value in facts["late"]}
    for name, table in (("units", state.units), ("keys", state.keys)):
        table.restore({key: arrays[f"{name}_{key}"] for key in ("first", "second", "numbers")})
    state.assignments.restore(
        {name: arrays[f"assignments_{name}"] for name in ("arms", "status", "since", "told", "by_clock")}
    )
    problem, decisions = problem_of(facts["problem"]), _decisions(facts["decisions"])
    state.engine.restore(problem, arrays, decisions, facts["past"])
    state.timeline = [Milestone(*one) for one in facts["timeline"]]
    state.trace.restore(_part_of(arrays, "trace_"), state.engine.told, state.problem)
    state.health.restore(_part_of(arrays, "reports_"))
    return state


def _part_of(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _decisions(found: list[Any]) -> list[Decision | None]:
    return [None if one is None else Decision(*one) for one in found]
