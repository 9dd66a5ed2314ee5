"""Segments: an experiment per group of visitors, under one delta, begun and looked at together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mobai import ConflictError, Experiment, InputError, NotFoundError, Segments, analyse_segments
from mobai.cli.main import group
from mobai.live.settings import to_body
from mobai.store.journal import Journal, MemoryJournal

ARMS = ["plain", "bold", "odd"]
CHANCES = {"young": (0.2, 0.7, 0.1), "old": (0.6, 0.3, 0.1), "other": (0.3, 0.6, 0.2)}


def begun(journal: Journal | None = None, **options: object) -> Segments:
    given = {"delta": 0.05, "seed": 1, **options}
    return Segments.create(journal or MemoryJournal(), "landing", ARMS, ["signup:bernoulli"], list(CHANCES), **given)  # type: ignore[arg-type]


def visited(test: Segments, count: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for n in range(count):
        name = list(CHANCES)[n % 3]
        given = test.of(None if name == "other" else name).ask(5)
        told = [(one, {"signup": int(rng.random() < CHANCES[name][ARMS.index(one.arm)])}) for one in given]
        test.of(name).tell_all(told)


def test_every_segment_has_its_part_of_delta_and_its_own_answer() -> None:
    test = begun(shares={"young": 0.5, "old": 0.3, "other": 0.2})
    visited(test, 240)
    status = test.status()
    assert status.stopped
    assert status.certified
    assert status.answers == ("bold", "plain", "bold")
    assert status.pulls == 1200
    for one in status.by_segment.values():
        assert one.verdict.log_inv_delta == pytest.approx(math.log(3 / 0.05))
    text = str(status)
    assert "3 of 3 answers decided, delta = 0.05 for all of them" in text
    assert "plain, decided" in text


def test_the_same_as_one_experiment_per_group_to_the_bit() -> None:
    test, journal = begun(), MemoryJournal()
    visited(test, 60)
    rng = np.random.default_rng(0)
    alone = {
        name: Experiment.create(journal, name, ARMS, ["signup:bernoulli"], delta=0.05 / 3, seed=1) for name in CHANCES
    }
    for n in range(60):
        name = list(CHANCES)[n % 3]
        given = alone[name].ask(5)
        alone[name].tell_all(
            [(one, {"signup": int(rng.random() < CHANCES[name][ARMS.index(one.arm)])}) for one in given]
        )
    for name, one in alone.items():
        assert one.status().verdict.evidence.tolist() == test[name].status().verdict.evidence.tolist()


def test_who_is_best_over_all_is_said_only_where_it_is_proven() -> None:
    shares = {"young": 0.5, "old": 0.3, "other": 0.2}
    test = begun(shares=shares)
    visited(test, 3)
    (overall,) = test.status().overall
    assert not overall.decided
    visited(test, 900, seed=1)
    (overall,) = test.status().overall
    truth = sum(share * CHANCES[name][1] for name, share in shares.items())
    assert (overall.arm, overall.decided) == ("bold", True)
    assert overall.lower < truth < overall.upper
    assert begun().status().overall == ()


def test_errors_over_all_segments_stay_below_delta() -> None:
    """Ties everywhere at delta = 0.3: decisions in any segment, or over all, are wrong in at most that share."""
    wrong, runs = 0, 60
    for run in range(runs):
        test = Segments.create(
            MemoryJournal(),
            "tied",
            ["a", "b"],
            ["x:bernoulli"],
            ["one", "two", "three"],
            shares={"one": 0.4, "two": 0.4, "three": 0.2},
            delta=0.3,
            seed=run,
        )
        rng, false = np.random.default_rng(run), False
        for _ in range(12):
            for one in test.values():
                given = one.ask(20)
                # b is better by a hair, so that every decision for a is wrong
                one.tell_all([(it, {"x": int(rng.random() < 0.5)}) for it in given])
            status = test.status()
            decided = [d for one in status.by_segment.values() for d in one.verdict.decisions]
            false |= any(d is not None and d.arm == 0 for d in decided)
            false |= any(one.decided and one.arm == "a" for one in status.overall)
        wrong += false
    assert wrong <= 0.3 * runs


def test_taken_up_again_and_finished_if_somebody_was_interrupted() -> None:
    journal = MemoryJournal()
    test = begun(journal)
    assert sorted(journal.names()) == ["landing@old", "landing@other", "landing@young"]
    again = Segments.load(journal, "landing")
    assert list(again) == list(CHANCES)
    with pytest.raises(ConflictError, match="in these segments already"):
        begun(journal)
    journal.delete("landing@other", journal.find("landing@other").number) if False else None
    other = MemoryJournal()
    Experiment.create(
        other, "landing@young", ARMS, ["signup:bernoulli"], delta=0.05 / 3, seed=1, part=test["young"].settings.part
    )
    finished = begun(other)
    assert to_body(finished["young"].settings) == to_body(test["young"].settings)
    third = MemoryJournal()
    Experiment.create(
        third, "landing@young", ARMS, ["signup:bernoulli"], delta=0.01, seed=1, part=test["young"].settings.part
    )
    with pytest.raises(ConflictError, match="begun with other settings"):
        begun(third)
    with pytest.raises(NotFoundError):
        Segments.load(journal, "nothing")


def test_other_segments_of_that_name_are_refused_and_leave_nothing() -> None:
    journal = MemoryJournal()
    begun(journal)
    with pytest.raises(ConflictError, match="in other segments: young, old, other"):
        Segments.create(journal, "landing", ARMS, ["signup:bernoulli"], ["here", "there"])
    Experiment.create(journal, "taken@b", ARMS, ["signup:bernoulli"])
    with pytest.raises(ConflictError, match="there is another experiment 'taken@b'"):
        Segments.create(journal, "taken", ARMS, ["signup:bernoulli"], ["a", "b"])
    assert sorted(journal.names()) == ["landing@old", "landing@other", "landing@young", "taken@b"]


def test_a_segment_that_is_gone_is_named() -> None:
    journal = MemoryJournal()
    begun(journal)
    journal.delete("landing@old")
    with pytest.raises(NotFoundError, match="the segment 'old' of 'landing' is gone"):
        Segments.load(journal, "landing")
    assert list(begun(journal)) == list(CHANCES)


def test_visitors_of_no_segment() -> None:
    test = begun()
    assert test.of("martian").name == "landing@other"
    strict = Segments.create(MemoryJournal(), "x", ARMS, ["signup:bernoulli"], ["young", "old"])
    for stranger in (None, "martian"):
        with pytest.raises(InputError, match="must be one of young, old"):
            strict.of(stranger)


@pytest.mark.parametrize(
    ("segments", "options", "words"),
    [
        (["young"], {}, "two or more"),
        (["young", "young"], {}, "each another one"),
        ("young", {}, "must be a list of names"),
        (["a@b", "c"], {}, "without '@'"),
        (["a", "b"], {"shares": {"a": 1.0}}, "one for each of a, b"),
        (["a", "b"], {"shares": {"a": 0.7, "b": 0.7}}, "must add up to 1"),
        (["a", "b"], {"shares": {"a": -1, "b": 2}}, "above 0"),
        (["a", "b"], {"delta": 2}, "must be a number between 0 and 1"),
        (["a", "b"], {"delta": 0.6}, "allow_large_delta"),
        (["a", "b"], {"baseline": "none"}, "baseline"),
    ],
)
def test_what_is_refused_and_changes_nothing(segments: object, options: dict[str, object], words: str) -> None:
    journal = MemoryJournal()
    with pytest.raises(InputError) as error:
        Segments.create(journal, "x", ARMS, ["signup:bernoulli"], segments, **options)  # type: ignore[arg-type]
    assert words in str(error.value)
    assert journal.names() == []


def test_limits_hold_in_the_segment_where_they_are_broken() -> None:
    test = Segments.create(
        MemoryJournal(),
        "x",
        ["a", "b"],
        ["x:bernoulli"],
        ["one", "two"],
        guardrails=["bad:bernoulli:at-most=0.2:eps=0.1"],
    )
    rng = np.random.default_rng(0)
    for name, one in test.items():
        for _ in range(30):
            given = one.ask(10)
            bad = {"a": 0.05, "b": 0.6 if name == "one" else 0.05}
            one.tell_all(
                [
                    (
                        it,
                        {
                            "x": int(rng.random() < (0.3 if it.arm == "a" else 0.7)),
                            "bad": int(rng.random() < bad[it.arm]),
                        },
                    )
                    for it in given
                ]
            )
    assert test.status().answers == ("a", "b")


def test_the_command_line(tmp_path: Path) -> None:
    storage = ["--storage", f"sqlite:///{tmp_path / 'a.db'}"]
    words = ["create", "landing", "--arm", "A,B", "--objective", "click:bernoulli", "--segment", "young,old", *storage]
    made = CliRunner().invoke(group, words)
    assert made.exit_code == 0, made.output
    assert "landing@young" in made.output
    checked = CliRunner().invoke(group, [*words, "--check"])
    assert "must come without --check" in str(checked.exception)
    asked = CliRunner().invoke(group, ["ask", "landing@young", *storage])
    assert asked.exit_code == 0
    shown = CliRunner().invoke(group, ["segments", "landing", *storage])
    assert "0 of 2 answers decided, delta = 0.05" in shown.output
    facts = json.loads(CliRunner().invoke(group, ["segments", "landing", "--json", *storage]).output)
    assert list(facts["segments"]) == ["young", "old"]


def test_logs_are_analysed_segment_by_segment(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"arm": arm, "click": int(rng.random() < chance), "age": name}
        for _ in range(150)
        for name, chances in CHANCES.items()
        for arm, chance in zip(ARMS, chances, strict=True)
    ]
    found = analyse_segments(rows, ["click:bernoulli"], "age")
    assert {name: one.verdict.answers for name, one in found.items()} == {
        "old": ("plain",),
        "other": ("bold",),
        "young": ("bold",),
    }
    assert found["old"].verdict.log_inv_delta == pytest.approx(math.log(3 / 0.05))
    file = tmp_path / "log.csv"
    file.write_text("arm,click,age\n" + "".join(f"{row['arm']},{row['click']},{row['age']}\n" for row in rows))
    words = ["analyse", str(file), "--objective", "click:bernoulli", "--segment-column", "age"]
    text = CliRunner().invoke(group, words).output
    assert "segment young:" in text
    assert "delta = 0.05 for all 3 segments together" in text
    nameless = [*rows, *({"arm": arm, "click": 1} for arm in ARMS)]
    assert set(analyse_segments(nameless, ["click:bernoulli"], "age", other=True)) == {"old", "other", "young"}
    with pytest.raises(InputError, match="there is no column 'sex'"):
        analyse_segments(rows, ["click:bernoulli"], "sex")
    for column in ("arm", "click"):
        with pytest.raises(InputError, match="must be another column"):
            analyse_segments(rows, ["click:bernoulli"], column)
    with pytest.raises(InputError, match="is empty"):
        analyse_segments([*rows, {"arm": "bold", "click": 1}], ["click:bernoulli"], "age")
