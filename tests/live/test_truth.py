"""The journal is the truth: what was asked was asked, what comes together is one moment, readers make nothing."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.live.rounds import ARMS, OBJECTIVES, facts, measure, new, run

import mobai
from mobai import Experiment, InputError, StorageError
from mobai.cli.main import group
from mobai.live.journal import Journal, MemoryJournal, Snapshot


def forged(rule: str, seed: int = 0) -> tuple[MemoryJournal, list[int]]:
    """A journal whose rule would choose otherwise: some asks are for other arms than it chose."""
    journal = MemoryJournal()
    test = new(journal, rule=rule)
    rng, changed = np.random.default_rng(seed), []
    for _ in range(60):
        (assignment,) = test.ask()
        if assignment.id > 10 and rng.random() < 0.3:
            events = journal._events["test"]
            arm = (ARMS.index(assignment.arm) + 1) % 3
            events[-1] = events[-1]._replace(body={"arms": [arm]})
            test = Experiment.load(journal, "test")
            changed.append(assignment.id)
        known = test.records()[-1]
        test.tell(assignment.id, measure(assignment.id, known["arm"]))
    return journal, changed


@pytest.mark.parametrize("rule", ["top-two", "mo-bai", "track-and-stop", "frank-wolfe", "d-tracking:iterations=3"])
def test_choices_changed_by_hand(rule: str) -> None:
    """Loading takes them as they are and goes on; only replay compares, and names them."""
    journal, changed = forged(rule)
    test = Experiment.load(journal, "test")
    assert test.verdict().pulls == 60
    run(test, 20)
    assert test.verdict().pulls == 80
    assert facts(Experiment.load(journal, "test")) == facts(test)
    with pytest.raises(StorageError, match=r"was arm . in the journal and is arm . now") as caught:
        test.replay()
    first = next(n for n in changed if str(n) in str(caught.value))
    assert f"assignment {first} was arm" in str(caught.value)


def test_an_arm_that_was_retired_is_not_asked_for() -> None:
    journal = MemoryJournal()
    test = new(journal)
    run(test, 5)
    test.retire_arm("C")
    handle = journal.find("test")
    with journal.lock(handle) as log:
        log.append(mobai.live.journal.Event(len(test.history()) + 1, "asked", 0.0, {"arms": [2]}))
    with pytest.raises(StorageError, match="arm 'C' was retired and cannot be asked for"):
        test.status()


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


def decided_by_a_batch(number: int, in_one: bool) -> bool:
    """Two tied arms, 200 rewards sorted by arm and then by value."""
    rng = np.random.default_rng([8, number])
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["value:gaussian=1"], rule="uniform")
    assignments = sorted(test.ask(200), key=lambda one: one.arm)
    values = np.sort(rng.normal(size=(2, 100)), axis=1).ravel().tolist()
    reports = [(one, {"value": value}) for one, value in zip(assignments, values, strict=True)]
    for batch in [reports] if in_one else [[report] for report in reports]:
        test.tell_all(batch)
    return test.verdict().stopped


def test_a_sorted_batch_does_not_decide() -> None:
    """At delta = 0.05; told one by one, sorted by value, it nearly always does: the control."""
    assert sum(decided_by_a_batch(number, in_one=True) for number in range(40)) <= 5
    assert sum(decided_by_a_batch(number, in_one=False) for number in range(10)) >= 8


@pytest.mark.parametrize("command", ["status x", "ask x", "tell x 1 click=1", "export x", "experiments"])
def test_reading_makes_no_storage(command: str, tmp_path: Path) -> None:
    for path in (tmp_path / "mistyped.db", tmp_path / "folder" / "a.db"):
        result = CliRunner().invoke(group, [*command.split(), "--storage", f"sqlite:///{path}"])
        assert isinstance(result.exception, InputError)
        assert f"storage: there is nothing at {path}; creating an experiment makes it" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_reading_from_python_makes_no_storage(tmp_path: Path) -> None:
    path = tmp_path / "mistyped.db"
    for read in (Experiment.load, mobai.delete):
        with pytest.raises(InputError, match="there is nothing at"):
            read(path, "x")
    with pytest.raises(InputError, match="there is nothing at"):
        mobai.experiment_names(path)
    path.touch()
    with pytest.raises(InputError, match="there is nothing at"):
        mobai.experiment_names(path)
    assert path.stat().st_size == 0
    new(path)
    assert mobai.experiment_names(path) == ["test"]


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="is a database of something else"):
        new(path)
    with pytest.raises(StorageError, match="is a database of something else"):
        Experiment.load(path, "x")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["theirs.db"]


def test_operators_can_listen(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.INFO, logger="mobai"):
        test = new(tmp_path / "a.db")
        (one,) = test.ask()
        test.drop(one)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "making the tables of schema 3" in said
    assert "test: assignment 1 was dropped" in said
    journal = MemoryJournal()
    test = new(journal)
    run(test, 3)
    journal.save_snapshot(journal.find("test"), Snapshot(5, b"damaged"))
    with caplog.at_level(logging.WARNING, logger="mobai"):
        Experiment.load(journal, "test")
    assert "the snapshot of event 5 is not usable" in caplog.text


def test_silent_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    journal = MemoryJournal()
    test = new(journal)
    journal.save_snapshot(journal.find("test"), Snapshot(1, b"damaged"))
    test.drop(test.ask()[0])
    Experiment.load(journal, "test")
    assert capfd.readouterr() == ("", "")
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("mobai").handlers)


def test_a_retired_arm_with_no_reserve_still_decides() -> None:
    test = new(reserve=0, delta=0.2, rule="uniform")
    run(test, 150)
    test.retire_arm("A")
    for _ in range(600):
        run(test, 1)
        if test.verdict().stopped:
            break
    assert test.verdict().answers == ("B", "C")
    assert test.verdict().stopped
    assert np.isfinite(test.verdict().evidence).all()


class Words(mobai.problem.Family):
    """A family that lacks nothing: rewards from -1 to 1."""

    word, model, range = "words", "unit", (-1.0, 1.0)


def test_a_family_of_somebody_elses() -> None:
    objective = mobai.Objective("sentiment", "max", Words())
    session = mobai.Policy().start(mobai.Problem(2, [objective]), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(800):
        arm = session.ask()
        session.tell(arm, [rng.choice([-1, 1], p=[0.5 - 0.2 * arm, 0.5 + 0.2 * arm])])
    assert session.verdict(0.1).decisions[0] is not None
    assert session.verdict(0.1).recommended == (1,)
    with pytest.raises(InputError, match="the family of 'sentiment' cannot be read back from a journal"):
        Experiment.create(MemoryJournal(), "x", ["A", "B"], [objective])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"word": "odd", "model": ""}, "the family 'odd' lacks a model, one of normal, student, unit"),
        ({"word": "odd", "model": "cauchy"}, "the family 'odd' lacks a model, one of normal, student, unit"),
        ({"word": "", "model": "unit"}, "the family Odd lacks a word, its name in files"),
        ({"word": "odd", "model": "unit"}, "the family 'odd' lacks a finite range, which 'unit' needs"),
    ],
)
def test_a_family_that_lacks_something(attributes: dict[str, Any], message: str) -> None:
    odd = type("Odd", (mobai.problem.Family,), attributes)
    with pytest.raises(InputError, match=f"objective 'x': {message}"):
        mobai.Objective("x", "max", odd())


def test_partial_answers_in_any_order_are_counted_once() -> None:
    """Metrics one after the other, over calls that overlap: the same counts as told at once."""
    for order in itertools.permutations(range(4)):
        test = new()
        one, two = test.ask(2)
        parts: list[tuple[mobai.Assignment, dict[str, float | None]]] = [
            (one, {"click": 1}),
            (one, {"latency": 80.0}),
            (two, {"click": 0, "latency": 70.0}),
            (one, {"click": 1}),
        ]
        for n in order:
            test.tell(*parts[n])
        status = test.status()
        assert status.pulls.tolist() == [[1, 1], [1, 1], [0, 0]]
        assert (status.answered.tolist(), status.pending) == ([1, 1, 0], 0)
        assert status.means[0, 1] == 80.0


def test_snapshots_agree_about_metrics_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that reports one metric and not the other, before and after a snapshot."""
    monkeypatch.setattr(mobai.live.ledger, "_LEAST_EVENTS_BETWEEN_SNAPSHOTS", 20)
    journal = MemoryJournal()
    test = Experiment.create(journal, "test", ARMS, ["A:bernoulli", "B:bernoulli"], rule="uniform")
    for _ in range(120):
        (one,) = test.ask()
        metrics: dict[str, float | None] = {"A": 0} if one.arm == "C" else {"A": 0, "B": float(one.arm == "B")}
        test.tell(one, metrics)
        assert test.verdict().decisions[1] is None
    assert facts(Experiment.load(journal, "test")) == facts(test)


def test_paths_are_paths(tmp_path: Path) -> None:
    for name in ("what?.db", "pct%41.db", "a b#c.db"):
        new(tmp_path / name)
        assert (tmp_path / name).is_file()
        assert mobai.experiment_names(tmp_path / name) == ["test"]
    assert len([path for path in tmp_path.iterdir() if path.suffix == ".db"]) == 3


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("sqlite:///file:{folder}/typo.db?uri=true", "there is nothing at"),
        ("postgresql://127.0.0.1:abc/x", "storage must be sqlite:///FILE"),
        (
            "mysql://host/x",
            "storage must be sqlite:///FILE, postgresql://USER@HOST/NAME, http://HOST:PORT or memory:, not mysql",
        ),
        (None, "storage must be an address, a path or a journal, not None"),
    ],
)
def test_addresses_that_lead_nowhere(storage: Any, message: str, tmp_path: Path) -> None:
    address = storage.format(folder=tmp_path) if storage else storage
    with pytest.raises(InputError, match=message):
        Experiment.load(address, "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("body", [{}, [], {"arms": []}, {"rule": "no such"}])
def test_a_damaged_beginning(body: Any) -> None:
    journal = MemoryJournal()
    new(journal)
    events = journal._events["test"]
    events[0] = events[0]._replace(body=body)
    with pytest.raises(StorageError, match=r"event 1 \(created\) is damaged"):
        Experiment.load(journal, "test")
    events.clear()
    with pytest.raises(StorageError, match="the journal is empty"):
        Experiment.load(journal, "test")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"model": "normal"}, "must say known_noise = True"),
        ({"model": "student", "known_noise": True}, "must leave known_noise False"),
        ({"model": "unit", "range": (1.0, 0.0)}, "must be two numbers, low < high"),
    ],
)
def test_a_family_that_contradicts_itself(attributes: dict[str, Any], message: str) -> None:
    odd = type("Odd", (mobai.problem.Family,), {"word": "odd", **attributes})
    with pytest.raises(InputError, match=message):
        mobai.Objective("x", "max", odd())


def test_a_stated_sd_has_the_same_limits_as_any() -> None:
    with pytest.raises(InputError, match="objective 'x': sd must be positive, between 1e-50 and 1e"):
        mobai.Problem(2, ["x:gaussian=1e-200"])


def test_reports_in_a_json_array(tmp_path: Path) -> None:
    storage = ["--storage", f"sqlite:///{tmp_path / 'a.db'}"]
    new(tmp_path / "a.db").ask(2)
    file = tmp_path / "reports.json"
    file.write_text('[{"id": 1, "click": 1}, {"id": 2, "click": 0}]')
    result = CliRunner().invoke(group, ["tell", "test", "--file", str(file), *storage])
    assert result.exit_code == 0
    assert Experiment.load(tmp_path / "a.db", "test").status().pending == 0
    for text in ("[]", "", "id,click\n"):
        file.write_text(text)
        result = CliRunner().invoke(group, ["tell", "test", "--file", str(file), *storage])
        assert str(result.exception).endswith((": has no rows", ": the table is empty"))
    result = CliRunner().invoke(group, ["tell", "test", "1", "click=1", "click=0", *storage])
    assert str(result.exception) == "click is given twice"
