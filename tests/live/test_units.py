"""Visitors keep their variant; calls that are tried again hand out the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.live.guarded import new

from mobai import ConflictError, Experiment, InputError, NotFoundError, Unit
from mobai.live import ledger
from mobai.live.units import RECORDED, Asked, NumberTable
from mobai.store.journal import Journal


def test_units_keep_their_variant(make_journal: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 8)
    test = new(make_journal())
    first = {f"visitor {n}": test.ask(unit=f"visitor {n}")[0] for n in range(30)}
    assert len({one.id for one in first.values()}) == 30
    other = Experiment.load(make_journal(), "test")
    for unit, one in first.items():
        assert other.ask(unit=unit) == [one]
    other.tell(unit="visitor 3", metrics={"click": 1.0})
    other.tell_all([(Unit("visitor 3"), {"errors": 0.0}), (Unit("visitor 4"), {"click": 0.0, "errors": 0.0})])
    assert test.status().verdict.pulls == 2
    test.drop(Unit("visitor 5"))
    with pytest.raises(NotFoundError, match="unit: 'nobody' has no assignment"):
        other.tell_all([(Unit("nobody"), {"click": 1.0})])
    test.close()
    assert other.ask(unit="visitor 5") == [first["visitor 5"]]


def test_keys_make_retries_safe(make_journal: Callable[[], Journal]) -> None:
    test = new(make_journal())
    first = test.ask(3, key="request 1")
    assert Experiment.load(make_journal(), "test").ask(3, key="request 1") == first
    assert test.ask(3, key="request 2") != first
    with pytest.raises(ConflictError, match="key: 'request 1' was used to ask for 3, not 2"):
        test.ask(2, key="request 1")
    assert test.status().pending == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "a", "n": 2}, "a unit has one assignment"),
        ({"unit": "a", "key": "b"}, "a unit has one assignment"),
        ({"unit": ""}, "unit must be a text of 1 to 200 characters"),
        ({"key": "x" * 201}, "key must be a text of 1 to 200 characters"),
        ({"unit": 7.5}, "unit must be a text"),
        ({"unit": "\ud800"}, "unit must be a text that UTF-8 can hold"),
        ({"by": "a\nb"}, "by must be a name"),
    ],
)
def test_bad_names(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        new().ask(**options)


def test_tell_needs_one_name() -> None:
    test = new()
    calls: list[tuple[Any, dict[str, Any]]] = [((), {"metrics": {"click": 1.0}}), ((1, {"click": 1.0}), {"unit": "a"})]
    for given, named in calls:
        with pytest.raises(InputError, match="tell takes an assignment or a unit, and metrics"):
            test.tell(*given, **named)


def test_a_million_units_fit() -> None:
    """24 bytes each, and found again."""
    table = NumberTable()
    for n in range(200_000):
        table.add(f"visitor {n}", n + 1)
    arrays = table.arrays()
    assert sum(array.nbytes for array in arrays.values()) == 24 * 200_000
    again = NumberTable()
    again.restore(arrays)
    for n in (0, 1, 77_777, 199_999):
        assert table.get(f"visitor {n}") == again.get(f"visitor {n}") == n + 1
    assert again.get("visitor 200000") is None
    assert len(again) == 200_000
    largest = Asked(2**32, 10_000, 10_000, RECORDED)
    assert Asked.unpack(largest.packed) == largest
    assert largest.packed < 2**63


def test_units_are_exported() -> None:
    test = new()
    test.ask(2)
    test.record("B", {"click": 1.0})
    test.ask(unit="ann")
    assert [(row["id"], row["unit"]) for row in test.records()] == [(1, None), (2, None), (3, None), (4, "ann")]
    plain = new()
    plain.ask()
    assert "unit" not in plain.records()[0]
