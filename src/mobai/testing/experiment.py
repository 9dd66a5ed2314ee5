"""The conformance suite of experiments: the same calls, the same answers and refusals, wherever they are kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mobai.errors import ConflictError, InputError, NotFoundError
from mobai.live.experiment import Experiment
from mobai.live.storage import delete, experiment_names
from mobai.live.units import Unit
from mobai.store.journal import Event, Journal, MemoryJournal

_ARMS, _OBJECTIVES = ["A", "B", "C"], ["click:bernoulli", "latency:min:unknown-variance:eps=0.5"]
_OPTIONS: dict[str, Any] = {
    "guardrails": ["errors:bernoulli:at-most=0.5:eps=0.1"],
    "baseline": "A",
    "delta": 0.1,
    "max_samples": 400,
}


def check_experiment(storage: str | Path | Journal) -> None:
    """Run experiments of an empty storage through what every one must satisfy, beside one that is kept in memory.

    Raises AssertionError with the reason where the two differ: in what is handed out, in what the status says to the
    last bit (times to the millisecond), or in what is refused and with which words.
    """
    twin = _Twin(storage)
    _is_created_once(twin)
    _asks_and_tells(twin)
    _refuses(twin)
    _changes(twin)
    _explains(twin)
    _ends(twin)


class _Twin:
    """An experiment in the storage that is checked, and the same one in memory."""

    def __init__(self, storage: str | Path | Journal) -> None:
        self.storage, self.memory = storage, MemoryJournal()
        self.one, self.other = (
            Experiment.create(place, "twin/ä %", _ARMS, _OBJECTIVES, **_OPTIONS) for place in (storage, self.memory)
        )

    def both(self, what: str, action: Callable[..., Any], *with_: Any) -> Any:
        """Do the same to both, and compare what comes of it."""
        found, expected = _outcome(action, self.one, *with_), _outcome(action, self.other, *with_)
        assert found == expected, f"{what}: {found!r} instead of {expected!r}"
        return found

    def compare(self) -> None:
        """Compare everything that can be said about both."""
        self.both("status", _facts)
        self.both("records", lambda test: [_without_time(row) for row in test.records()])


def _outcome(action: Callable[..., Any], test: Experiment, *with_: Any) -> Any:
    try:
        return action(test, *with_)
    except (InputError, TypeError) as error:
        return type(error).__name__, str(error)


def _facts(test: Experiment) -> list[Any]:
    status = test.status()
    verdict, intervals, more = status.verdict, status.intervals, status.forecast
    tables: list[Any] = [verdict.evidence, verdict.threshold, verdict.reached, status.means, status.rewards]
    tables += [status.asked]
    tables += [status.answered, status.active, status.barred, intervals.lower, intervals.upper, intervals.contradicted]
    if status.differences is not None:
        tables += [table[1:] for table in status.differences[1:]]
    if more is not None:
        tables += [more.per_objective, more.per_arm]
    decisions = [None if one is None else (one.arm, one.pull) for one in verdict.decisions]
    words = (status.name, status.state, status.rule, str(verdict), verdict.remarks, verdict.leaders, verdict.leading)
    counts = (status.pending, status.incomplete, status.dropped, status.expired, status.events, verdict.limits)
    said = (status.concerns, status.past, status.ending, status.weighed_otherwise, more is None or more.samples)
    return [[str(table.tolist()) for table in tables], decisions, words, counts, said]


def _without_time(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "asked_at"}


def _reward(number: int, arm: str) -> dict[str, float]:
    """Return what a pull brings: a function of its number and arm."""
    place, luck = _ARMS.index(arm) if arm in _ARMS else 3, math.sin(12.9898 * number) * 43758.5453 % 1.0
    return {
        "click": float(luck < 0.2 + 0.3 * place),
        "latency": 80.0 - 5 * place + 10 * luck,
        "errors": float(luck > 0.9),
    }


def _is_created_once(twin: _Twin) -> None:
    def again(test: Experiment) -> Any:
        storage = twin.storage if test is twin.one else twin.memory
        return Experiment.create(storage, test.name, _ARMS, _OBJECTIVES, **_OPTIONS)

    assert twin.both("create again", again)[0] == ConflictError.__name__, "a name must not be taken twice"
    assert experiment_names(twin.storage) == [twin.one.name], "the experiment must be listed"
    loaded = Experiment.load(twin.storage, twin.one.name)
    assert _facts(loaded) == _facts(twin.other), "a loaded experiment must say the same"
    problem = loaded.problem
    assert (problem, loaded.settings.problem) == (twin.other.problem, twin.other.problem), "the problem must be kept"
    missing = _outcome(lambda _: Experiment.load(twin.storage, "nothing"), loaded)
    assert missing[0] == NotFoundError.__name__, "an experiment that is not there must not be found"


def _asks_and_tells(twin: _Twin) -> None:
    for step in range(12):
        assignments = twin.both("ask", lambda test: test.ask(3))
        for one in assignments[:2]:
            twin.both("tell", lambda test, one: test.tell(one, _reward(*one)), one)
        last = assignments[2]
        late = _reward(*last)
        twin.both("tell a part", lambda test, one, late: test.tell(one.id, {"click": late["click"]}), last, late)
        twin.both("tell it again", lambda test, one, late: test.tell(one.id, {"click": late["click"]}), last, late)
        rest = {"latency": late["latency"], "errors": None}
        twin.both("tell the rest", lambda test, one, rest: test.tell(one, rest), last, rest)
        unit = f"visitor/{step} é"
        (first,) = twin.both("ask for a unit", lambda test, unit: test.ask(unit=unit), unit)
        twin.both("ask for it again", lambda test, unit: test.ask(unit=unit, if_decided="stop"), unit)
        twin.both("tell a unit", lambda test, unit, one: test.tell(unit=unit, metrics=_reward(*one)), unit, first)
    keyed = twin.both("ask with a key", lambda test: test.ask(2, key="a \u2028 key"))
    assert twin.both("ask with it again", lambda test: test.ask(2, key="a \u2028 key")) == keyed
    reports = [(one, _reward(*one)) for one in keyed]
    more = twin.both("tell and ask", lambda test: test.tell_all(reports, ask=2, key="k2"))
    assert twin.both("tell and ask again", lambda test: test.tell_all(reports, ask=2, key="k2")) == more
    twin.both("tell by a mapping", lambda test: test.tell_all({more[0].id: _reward(*more[0])}))
    twin.both("drop", lambda test: test.drop(more[1]))
    twin.both("drop again", lambda test: test.drop(more[1].id))
    rows = [("B", _reward(1, "B")), ("C", {"click": 1.0})]
    twin.both("record", lambda test: test.record_all(rows, key="k3", by="somebody"))
    twin.both("record again", lambda test: test.record_all(rows, key="k3", by="somebody"))
    twin.both("record one", lambda test: test.record("A", {"latency": 75.5}))
    twin.compare()


def _refuses(twin: _Twin) -> None:
    answered = twin.other.ask()[0]
    assert twin.one.ask()[0] == answered
    twin.both("tell", lambda test: test.tell(answered, _reward(*answered)))
    calls: list[Callable[[Experiment], Any]] = [
        lambda test: test.ask(0),
        lambda test: test.ask("2"),  # type: ignore[arg-type]
        lambda test: test.ask(2, unit="u"),
        lambda test: test.ask(unit=""),
        lambda test: test.ask(unit="x" * 201),
        lambda test: test.ask(if_decided="maybe"),
        lambda test: test.ask(3, key="a \u2028 key"),
        lambda test: test.ask(by=" "),
        lambda test: test.tell(answered, {"click": 1 - _reward(*answered)["click"]}),
        lambda test: test.tell(answered.id, {}),
        lambda test: test.tell(answered.id, {"nothing": 1}),
        lambda test: test.tell(answered.id, {"click": "1"}),  # type: ignore[dict-item]
        lambda test: test.tell(10**6, {"click": 1}),
        lambda test: test.tell(0, {"click": 1}),
        lambda test: test.tell(True, {"click": 1}),
        lambda test: test.tell(answered._replace(arm="other"), {"click": 1}),
        lambda test: test.tell(unit="nobody", metrics={"click": 1}),
        lambda test: test.tell_all([(answered, {"click": 2})]),
        lambda test: test.tell_all([(1, 2, 3)]),  # type: ignore[list-item]
        lambda test: test.tell_all(7),  # type: ignore[arg-type]
        lambda test: test.tell_all([], key="k"),
        lambda test: test.tell_all([], ask=-1),
        lambda test: test.record("nobody", {"click": 1}),
        lambda test: test.record_all([("A", {"click": 1}), ("A", {"click": 0.5})]),
        lambda test: test.drop(answered),
        lambda test: test.drop(10**6),
        lambda test: test.drop(Unit("nobody")),
        lambda test: test.add_arm("A"),
        lambda test: test.add_arm(" "),
        lambda test: test.retire_arm("nobody"),
        lambda test: test.retire_arm("A"),
    ]
    for number, call in enumerate(calls):
        found = twin.both(f"refusal {number}", call)
        assert isinstance(found, tuple), f"refusal {number}: {found!r} instead of an error"
    twin.compare()


def _changes(twin: _Twin) -> None:
    twin.both("add an arm", lambda test: test.add_arm("D", by="somebody"))
    twin.both("retire an arm", lambda test: test.retire_arm("C"))
    twin.both("pause", lambda test: test.pause())
    twin.both("pause again", lambda test: test.pause())
    assert twin.both("ask while paused", lambda test: test.ask())[0] == ConflictError.__name__
    twin.compare()
    twin.both("resume", lambda test: test.resume())
    for _ in range(60):
        (one,) = twin.both("ask", lambda test: test.ask())
        twin.both("tell", lambda test, one: test.tell(one, _reward(*one)), one)
    twin.compare()


def _explains(twin: _Twin) -> None:
    def explained(test: Experiment) -> Any:
        found = test.explain()
        return str(found), str(found.pairs), found.limits, found.next_arm

    def series(test: Experiment) -> Any:
        found = test.series()
        arrays = (found.pulls, found.evidence, found.asked, found.means, found.lower, found.upper)
        return len(found), found.threshold, [str(array.tolist()) for array in arrays]

    twin.both("explain", explained)
    twin.both("series", series)
    twin.both("concerns", lambda test: test.concerns())
    twin.both("history", lambda test: [_without_key(event) for event in test.history()])
    assert twin.one.verify().intact, "the journal must be intact"
    assert _facts(twin.one)[0][0] == str(twin.one.replay().verdict.evidence.tolist()), "replaying must say the same"


def _without_key(event: Event) -> Any:
    """Return what happened; a call may have been given a key of its own, so that it can be made again."""
    return event.seq, event.kind, {name: value for name, value in event.body.items() if name not in ("key", "n")}


def _ends(twin: _Twin) -> None:
    twin.both("close", lambda test: test.close(by="somebody"))
    twin.both("close again", lambda test: test.close())
    assert twin.both("ask", lambda test: test.ask())[0] == ConflictError.__name__, "a closed one must hand out nothing"
    twin.both("a unit of before", lambda test: test.ask(unit="visitor/0 é"))
    twin.compare()
    delete(twin.storage, twin.one.name)
    assert experiment_names(twin.storage) == [], "what is deleted must be gone"
    gone = _outcome(lambda test: test.status(), twin.one)
    assert gone[0] == NotFoundError.__name__, "what is deleted must not be found"
