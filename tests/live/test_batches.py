"""What is told together is one moment."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.live.rounds import ARMS, OBJECTIVES, facts, measure

from mobai import Experiment
from mobai.store.journal import Journal, MemoryJournal


def test_the_order_of_a_batch_changes_nothing(make_journal: Callable[[], Journal]) -> None:
    reports = None
    found = set()
    for order in range(6):
        journal = make_journal()
        test = Experiment.create(journal, f"test {order}", ARMS, OBJECTIVES)
        assignments = test.ask(40)
        reports = [(one, measure(*one)) for one in assignments]
        if order % 2:
            # The metrics of one assignment in rows of their own.
            reports = [(one, {name: value}) for one, metrics in reports for name, value in metrics.items()]
        np.random.default_rng(order).shuffle(reports)
        test.tell_all(reports)
        test.tell_all(reports)
        assert len(test.history()) == 3
        found.add(facts(test))
    assert len(found) == 1


def decided_by_a_batch(number: int, in_one: bool, order: str = "asked") -> bool:
    """Two tied arms, 200 rewards sorted by arm and then by value."""
    rng = np.random.default_rng([8, number])
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["value:gaussian=1"], rule="uniform", order=order)
    drawn = [(one, float(rng.normal())) for one in test.ask(200)]
    reports = [(one, {"value": value}) for one, value in sorted(drawn, key=lambda row: (row[0].arm, row[1]))]
    for batch in [reports] if in_one else [[report] for report in reports]:
        test.tell_all(batch)
    return test.verdict().stopped


def test_a_sorted_batch_does_not_decide() -> None:
    """At delta = 0.05; read as it is told, sorted by value, it nearly always does: the control."""
    assert sum(decided_by_a_batch(number, in_one=True) for number in range(40)) <= 5
    assert sum(decided_by_a_batch(number, in_one=False) for number in range(40)) <= 5
    assert sum(decided_by_a_batch(number, in_one=False, order="told") for number in range(10)) >= 8
