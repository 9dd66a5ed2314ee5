"""Arms that come and go, dropping, closing and deleting, from the shell."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import mobai

from mobai import Experiment, experiment_names


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    monkeypatch.setenv("MOBAI_STORAGE", url)
    assert mobai(capsys, "create", "ads", "--arm", "A", "--arm", "B", "--objective", "click:bernoulli")[0] == 0
    return url


def test_arms(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    assert "added C" in mobai(capsys, "add-arm", "ads", "C")[1]
    assert "there is an arm 'C' already" in mobai(capsys, "add-arm", "ads", "C")[2]
    assert "retired A" in mobai(capsys, "retire-arm", "ads", "A")[1]
    assert "arm must be one of B, C, not 'A'" in mobai(capsys, "retire-arm", "ads", "A")[2]
    assert {row["arm"] for row in json.loads(mobai(capsys, "ask", "ads", "-n", "6", "--format", "json")[1])} == {
        "B",
        "C",
    }


def test_dropping(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    mobai(capsys, "ask", "ads", "-n", "3")
    assert "dropped 1, 3" in mobai(capsys, "drop", "ads", "1", "3")[1]
    assert Experiment.load(storage, "ads").status().dropped == 2
    assert "assignment 9 must be an id that was handed out" in mobai(capsys, "drop", "ads", "9")[2]


def test_closing_and_deleting(
    capsys: pytest.CaptureFixture[str], storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "closed ads" in mobai(capsys, "close", "ads")[1]
    assert "the experiment is closed" in mobai(capsys, "ask", "ads")[2]
    monkeypatch.setattr(sys, "stdin", io.StringIO("adds\n"))
    code, _, err = mobai(capsys, "delete", "ads")
    assert (code, "nothing was removed" in err) == (2, True)
    assert experiment_names(storage) == ["ads"]
    assert "deleted ads" in mobai(capsys, "delete", "ads", "--yes", "ads")[1]
    assert experiment_names(storage) == []
    assert "there is no experiment 'ads'" in mobai(capsys, "delete", "ads", "--yes", "ads")[2]


def test_asking_once_all_is_decided(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    test = Experiment.load(storage, "ads")
    test.record_all([("AB"[n % 2], {"click": n % 2}) for n in range(400)])
    code, out, err = mobai(capsys, "ask", "ads", "--if-decided", "stop")
    assert (code, out) == (3, "")
    assert err == "mobai: everything is decided; mobai status ads says what\n"
    code, out, err = mobai(capsys, "ask", "ads", "--if-decided", "winner=click", "--format", "csv")
    assert (code, out) == (0, "id,arm\n401,B\n")
    assert mobai(capsys, "ask", "ads", "--if-decided", "never")[0] == 2
    assert "B leads" not in mobai(capsys, "status", "ads")[1]


def test_what_is_exported_can_be_read(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    import csv
    from datetime import datetime

    mobai(capsys, "ask", "ads")
    rows = list(csv.DictReader(io.StringIO(mobai(capsys, "export", "ads", "--events", "--format", "csv")[1])))
    assert json.loads(rows[1]["body"]) == {"arms": [0]}
    assert all(datetime.fromisoformat(row["at"]).tzinfo for row in rows)
    told = list(csv.DictReader(io.StringIO(mobai(capsys, "export", "ads", "--format", "csv")[1])))
    assert datetime.fromisoformat(told[0]["asked_at"]).tzinfo


def test_a_status_without_pulls_names_no_leader(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    assert json.loads(mobai(capsys, "status", "ads", "--format", "json")[1])["objectives"][0]["arm"] is None
    assert "leads" not in mobai(capsys, "status", "ads")[1]


def test_as_a_module(storage: str) -> None:
    words = [sys.executable, "-m", "mobai", "experiments", "--format", "csv"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1].startswith("ads,2,1,0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("creat",), "command: there is no 'creat'; did you mean 'create'?"),
        (("simulate", "ads", "--rule", "toptwo"), "did you mean 'top-two'?"),
        (("simulate", "ads", "--threshold", "mixtur"), "did you mean 'mixture'?"),
        (("create", "x", "--arm", "A", "--arm", "B", "--objective", "t:min"), "does not say what its rewards are"),
        (("create", "x", "--objective", "t:bernoulli"), "--arm is needed, once for each, or --from"),
    ],
)
def test_slips_of_the_pen(capsys: pytest.CaptureFixture[str], storage: str, words: list[str], message: str) -> None:
    code, _, err = mobai(capsys, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_output_that_cannot_be_written() -> None:
    words = [sys.executable, "-m", "mobai", "plan", "ads"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "mobai: output: No space left on device; what was to be changed before that, was\n",
    )


def test_output_that_cannot_be_encoded(tmp_path: Path) -> None:
    import os

    path = tmp_path / "x.csv"
    path.write_text("arm,x\né,1\nb,2\n")
    words, environment = [sys.executable, "-m", "mobai", "plan", str(path)], {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert "\\xe9" in done.stdout
    assert done.stderr == "mobai: output: ascii cannot show every character; set PYTHONIOENCODING=utf-8\n"


def test_formulas_are_defused(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    words = ("--arm", "=cmd|' /C calc'!A0", "--arm", "@SUM(1)", "--objective", "-gain:gaussian=1")
    assert mobai(capsys, "create", "x", *words)[0] == 0
    assert mobai(capsys, "ask", "x", "-n", "2")[0] == 0
    assert mobai(capsys, "tell", "x", "1", "--", "-gain=-2")[0] == 0
    plain = list(csv.reader(io.StringIO(mobai(capsys, "export", "x", "--format", "csv", "--raw")[1])))
    safe = list(csv.reader(io.StringIO(mobai(capsys, "export", "x", "--format", "csv")[1])))
    assert [row[1] for row in plain[1:]] == ["=cmd|' /C calc'!A0", "@SUM(1)"]
    assert [row[1] for row in safe[1:]] == ["'=cmd|' /C calc'!A0", "'@SUM(1)"]
    assert (safe[0][4], safe[1][4]) == ("'-gain", "-2.0")


def test_verify_backup_restore_copy(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    mobai(capsys, "ask", "ads", "-n", "3")
    mobai(capsys, "tell", "ads", "1", "click=1")
    code, out, _ = mobai(capsys, "verify")
    assert code == 0
    assert out.startswith("ads: intact, 3 events, head ")
    head = json.loads(mobai(capsys, "status", "ads", "--format", "json")[1])["head"]
    assert head in out
    assert json.loads(mobai(capsys, "export", "ads", "--events", "--format", "json")[1])[-1]["hash"] == head
    saved, other = str(tmp_path / "saved.db"), f"sqlite:///{tmp_path / 'other.db'}"
    assert mobai(capsys, "backup", saved)[0] == 0
    assert mobai(capsys, "backup", saved)[:2] == (2, "")
    assert mobai(capsys, "copy", "ads", "--to", other)[0] == 0
    assert head in mobai(capsys, "verify", "ads", "--storage", other)[1]
    mobai(capsys, "drop", "ads", "2")
    assert mobai(capsys, "restore", saved)[0] == 2
    assert mobai(capsys, "restore", saved, "--replace")[0] == 0
    assert head in mobai(capsys, "verify")[1]
    with closing(sqlite3.connect(storage.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE mobai_events SET at = at + 1 WHERE seq = 2")
    code, out, _ = mobai(capsys, "verify")
    assert code == 1
    assert "ads: NOT intact, 1 events" in out
    assert "event 2 is damaged" in out


def test_resuming_says_first_that_nothing_is_certified_any_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = f"sqlite:///{tmp_path / 'x.db'}"
    words = ("run", "--storage", storage, "--name", "x", "--arm", "A,B", "--metric", "c:bernoulli", "--max-pulls", "4")
    code, _, err = mobai(capsys, *words, "--on-refused", "drop", "--command", "echo '{\"c\": 2}'")
    assert code == 2
    assert "must be 0 or 1, not 2" in err
    _, _, err = mobai(capsys, *words, "--command", "echo '{\"c\": 1}'")
    lines = err.splitlines()
    assert lines[0].startswith("mobai: resuming x, 0 pulls so far")
    assert lines[1].startswith("mobai: not certified: 5 lost because of their value")
