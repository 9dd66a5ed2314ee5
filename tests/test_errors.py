"""Errors say what they are about in fields; the sentence is made of these."""

from __future__ import annotations

import pickle

import pytest

from mobai import Experiment, InputError, Instance, Objective, Policy, Problem
from mobai.errors import ConflictError, NotFoundError
from mobai.store.journal import MemoryJournal


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("delta", "must be between 0 and 1"), "delta must be between 0 and 1"),
        (InputError("arm", "there is no other"), "arm: there is no other"),
        (InputError("one sentence"), "one sentence"),
        (InputError(None, "is no table", source="x.csv"), "x.csv is no table"),
        (InputError("eps", "must be 0", metric="a", row=2, source="x"), "x: row 2: metric 'a': eps must be 0"),
        (ConflictError(None, "was dropped", assignment=7), "assignment 7 was dropped"),
        (NotFoundError("name", "there is none", hint="there are a and b"), "name: there is none; there are a and b"),
    ],
)
def test_the_sentence(error: InputError, sentence: str) -> None:
    assert str(error) == sentence
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), sentence, vars(error))


def test_a_place_is_added_to_the_same_error() -> None:
    error = ConflictError("arm", "must be A", arm="B")
    found = error.within(row=3)
    assert isinstance(found, ConflictError)
    assert (found.argument, found.row, found.arm, error.row) == ("arm", 3, "B", None)


def fields_of(error: InputError) -> dict[str, object]:
    return {name: value for name, value in vars(error).items() if value is not None and name != "message"}


def test_what_the_library_refuses_has_fields() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["click:bernoulli"])
    (one,) = test.ask()
    session = Policy().start(Problem(2, ["y:bernoulli"]))
    found = []
    for wrong in (
        lambda: test.tell(one, {"click": 7}),
        lambda: test.tell(99, {"click": 1}),
        lambda: test.record_all([("A", {"click": 1}), ("C", {"click": 1})]),
        lambda: Objective.parse("click:eps=much"),
        lambda: session.record(0, [2.0]),
        lambda: Instance.load("nothing.csv"),
        lambda: Experiment.create(MemoryJournal(), "x", ["A", "B"], ["click:bernoulli"], delta=7),
    ):
        with pytest.raises(InputError) as refused:
            wrong()
        found.append(fields_of(refused.value))
    assert found == [
        {"assignment": 1, "metric": "click"},
        {"assignment": 99},
        {"argument": "arm", "row": 2},
        {"argument": "eps", "metric": "click"},
        {"metric": "y"},
        {"source": "nothing.csv"},
        {"argument": "delta"},
    ]
