"""What people write who come from elsewhere is understood, or refused with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import mobai

from mobai import Experiment, InputError, Problem, analyse
from mobai.rows import read_rows
from mobai.store.journal import MemoryJournal

ARMS = ["A", "B"]


def test_objectives_by_name() -> None:
    assert Problem(ARMS, {"click": "bernoulli", "a:b": "min:bounded=0..2"}).objective_names == ("click", "a:b")


def test_a_range_is_never_made_up() -> None:
    with pytest.raises(InputError, match=r"bounded needs the range that no reward leaves: bounded=0\.\.1"):
        Problem(ARMS, ["revenue:bounded"])


@pytest.mark.parametrize(("delta", "said"), [(0.95, r"did you mean 0\.05\?"), (0.5, "no better than a coin")])
def test_a_large_delta_is_asked_about(delta: float, said: str) -> None:
    with pytest.raises(InputError, match=f"delta is the chance of a wrong answer.*{said}"):
        Experiment.create(MemoryJournal(), "x", ARMS, ["c:bernoulli"], delta=delta)
    meant = Experiment.create(MemoryJournal(), "x", ARMS, ["c:bernoulli"], delta=delta, allow_large_delta=True)
    assert meant.settings.log_inv_delta < 0.7


def test_a_unit_may_be_a_number() -> None:
    test = Experiment.create(MemoryJournal(), "x", ARMS, ["c:bernoulli"])
    (one,) = test.ask(unit=42)  # type: ignore[arg-type]
    assert test.ask(unit="42") == [one]


@pytest.mark.parametrize(
    "data",
    [
        b"arm;c\nA;1\nB;0\n",
        b"arm\tc\nA\t1\nB\t0\n",
        b"\xef\xbb\xbfarm,c\nA,1\nB,0\n",
        "arm,c\nA,1\nB,0\n".encode("utf-16"),
        b"arm;c\rA;1\rB;0\r",
    ],
)
def test_files_of_other_programs(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(data)
    assert read_rows(tmp_path / "log.csv") == [{"arm": "A", "c": "1"}, {"arm": "B", "c": "0"}]


def test_commas_in_the_header_of_a_file_with_semicolons(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text('arm;c;"note, more"\nA;1;"x; y"\n')
    assert read_rows(tmp_path / "log.csv") == [{"arm": "A", "c": "1", "note, more": "x; y"}]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("1.234,5", "with a point"),
        ("NaN", "leave the cell empty if it is missing"),
        ("1,5", "decimals are written with a point"),
    ],
)
def test_cells_that_are_no_numbers_here(cell: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(f"arm;c\nA;1\nB;{cell}\n")
    with pytest.raises(InputError, match=said):
        analyse(tmp_path / "log.csv", ["c:bounded=0..2"])


def test_options_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path / 'x.db'}")
    words = ("--variant", "A, B,C", "--metric", "click:bernoulli", "--delta")
    code, out, err = mobai(capsys, "create", "x", *words, "5%", *storage)
    assert (code, "created x: 3 arms, 1 objective, delta = 0.05" in out + err) == (0, True)
    code, out, err = mobai(capsys, "create", "y", *words, "0.95", *storage)
    assert (code, "did you mean 0.05?" in err) == (2, True)


def test_frames_have_labels() -> None:
    test = Experiment.create(MemoryJournal(), "x", ARMS, ["c:bernoulli", "d:gaussian=1"])
    for one in test.ask(6):
        test.tell(one, {"c": 1, "d": 2.0})
    status = test.status()
    assert status.to_pandas().loc[("A", "c"), "mean"] == 1.0
    assert status.verdict.to_pandas().loc["d", "decided"] == False  # noqa: E712
    found = analyse([{"arm": "A", "c": 1}, {"arm": "B", "c": 0}], ["c:bernoulli"])
    assert found.to_pandas().loc[("B", "c"), "rewards"] == 1


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_exports_are_read_back(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage, file = f"sqlite:///{tmp_path / 'x.db'}", tmp_path / f"out{suffix}"
    test = Experiment.create(storage, "x", ARMS, ["c:bernoulli"])
    for one in test.ask(3):
        test.tell(one, {"c": 1})
    assert mobai(capsys, "export", "x", "--storage", storage, "--out", str(file))[0] == 0
    assert [float(row["c"]) for row in read_rows(file)] == [1.0, 1.0, 1.0]
    code, _, err = mobai(capsys, "export", "x", "--storage", storage, "--out", str(tmp_path / "x.xls"))
    assert (code, "ends in .parquet, .csv, .jsonl" in err) == (2, True)


def test_variants_and_metrics() -> None:
    test = Experiment.create(MemoryJournal(), "x", variants=ARMS, metrics={"c": "bernoulli"})
    assert (test.problem.arms, test.problem.objective_names) == (("A", "B"), ("c",))
    with pytest.raises(InputError, match="objectives must be given, under this name or as metrics, and only once"):
        Experiment.create(MemoryJournal(), "x", ARMS)
    with pytest.raises(InputError, match="arms must be given, under this name or as variants, and only once"):
        Experiment.create(MemoryJournal(), "x", ARMS, ["c:bernoulli"], variants=ARMS)
