"""Sentences and numbers, word by word."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mobai import Experiment, views
from mobai.live import codec
from mobai.store.journal import Event, MemoryJournal


def begun() -> Experiment:
    """A leads; C, whose mean is next, breaks the limit; then comes B."""
    limits = ["e:bernoulli:at-most=0.2:eps=0.1"]
    test = Experiment.create(MemoryJournal(), "x", ["A", "B", "C"], ["s:gaussian=1"], guardrails=limits, delta=1e-3)
    rng = np.random.default_rng(0)
    rows = [
        (arm, {"s": mean + 0.3 * rng.normal(), "e": float(arm == "C")})
        for _ in range(30)
        for arm, mean in (("A", 0.5), ("B", 0.0), ("C", 0.35))
    ]
    test.record_all(rows)
    return test


def test_the_outlook_of_an_open_metric() -> None:
    status = begun().status()
    assert status.barred.tolist() == [False, False, True]
    verdict = status.verdict
    share = float(verdict.evidence[0] / verdict.threshold[0])
    assert 0.005 < share < 1
    assert status.forecast is not None
    words = views.samples_text(float(status.forecast.per_objective[0])).replace("roughly", "about")
    # C is out: the next to A is B.
    assert views.headline(status) == f"s is open: A leads B, {share:.0%} of the evidence is in, {words}."


def test_what_waits_and_what_is_too_few_is_said_first() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["t:unknown-variance"], rule="uniform")
    rng = np.random.default_rng(5)
    test.record_all([(arm, {"t": mean + rng.normal()}) for arm, mean in (("A", 3.0), ("B", 0.0)) for _ in range(40)])
    assert "A leads B with enough evidence, but fewer than the 150 rewards that would show rare" in views.headline(
        test.status()
    )
    first, *others = test.ask(4)
    test.tell_all([(one, {"t": 1.0}) for one in others])
    assert ", 3 results not counted yet" in views.headline(test.status())
    test.tell(first, {"t": 1.0})
    assert "not counted yet" not in views.headline(test.status())


def test_a_decision_that_is_not_certified_is_no_advice_to_stop() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["t:unknown-variance"], rule="uniform", rare=None)
    rng = np.random.default_rng(5)
    means = {"A": 9.0, "B": 0.0}
    test.record_all([(arm, {"t": means[arm] + rng.exponential() ** 2}) for _ in range(300) for arm in means])
    status = test.status()
    assert (status.verdict.stopped, status.verdict.certified) == (True, False)
    assert views.headline(status).startswith("Decided, but NOT certified: A looks best for t")


def test_an_arm_that_seems_to_break_a_limit_is_said_to() -> None:
    test = Experiment.create(
        MemoryJournal(), "x", ["A", "B"], ["s:gaussian=1"], guardrails=["e:bernoulli:at-most=0.2:eps=0.1"], delta=1e-6
    )
    test.record_all([(arm, {"s": mean, "e": float(arm == "B")}) for arm, mean in (("A", 0.0), ("B", 1.0)) * 3])
    assert "B</span> (seems to break a limit)" in views.forest(test.status(), 0)
    assert "A</span> (leads)" in views.forest(test.status(), 0)


def test_a_rival_that_breaks_a_limit_is_out_of_the_way() -> None:
    pairs = {pair.rival: pair for pair in begun().explain().pairs}
    assert pairs["C"].evidence < pairs["C"].threshold < pairs["C"].broken
    assert pairs["C"].decided
    assert max(pairs["B"].evidence, pairs["B"].broken) < pairs["B"].threshold
    assert not pairs["B"].decided


def test_many_open_metrics_are_counted() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], [f"m{n}:gaussian=1" for n in range(8)])
    test.record("A", {f"m{n}": 1.0 for n in range(8)})
    assert views.headline(test.status()).endswith("m4 is open: A leads; 3 other metrics open, too.")


def test_what_is_outstanding() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["a:gaussian=1", "b:gaussian=1"])
    for n, one in enumerate(test.ask(7)):
        test.tell(one, {"a": 1.0, "b": 1.0} if n < 2 else {"a": 1.0})
    rows = codec.status_json(test.status())["objectives"]
    assert [(row["reported"], row["outstanding"]) for row in rows] == [(7, 0), (2, 5)]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", " =1", "\uff1d1", "\uff0b1"])
def test_no_text_is_a_formula(text: str) -> None:
    line = views.csv_text([{"name": text, "n": -1.5}], ["name", "n"]).splitlines()[1:]
    assert "".join(line).lstrip('"').startswith("'")
    assert line[-1].endswith(",-1.5")


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("created", {"arms": ["A", "B"], "objectives": ["x"], "rule": "top-two"}, "2 arms, 1 objective, top-two"),
        ("asked", {"arms": [0, 1, 1]}, "handed out: B (2), A"),
        ("told", {"reports": [[3, {"x": 1.0, "y": None}]]}, "1 report (3: x 1, y will not come)"),
        ("told", {"reports": [[n, {"x": n}] for n in range(4)]}, "4 reports (0: x 0; 1: x 1; ...)"),
        ("recorded", {"rows": [["A", {"x": 0.25}]]}, "1 observation (A: x 0.25)"),
        ("dropped", {"ids": list(range(12))}, "12 assignments (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)"),
        ("arm_added", {"arm": "C", "sd": [None]}, "C"),
        ("paused", {}, ""),
    ],
)
def test_events_in_words(kind: str, body: dict[str, object], words: str) -> None:
    assert views.event_text(Event(2, kind, 0.0, json.loads(json.dumps(body))), ["A", "B"]) == words


def test_cells_stay_one_cell_in_any_country() -> None:
    text = views.csv_text([{"a": "x;=y", "b": 'he said "no"', "c": None, "d": 1.5}], ["a", "b", "c", "d"])
    assert text == 'a,b,c,d\n"x;=y","he said ""no""",,1.5\n'
