"""``mobai analyse``, ``create --from``, ``tell --arm`` and ``tell --file``: data from elsewhere."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from tests.analysis.test_analyse import rows
from tests.cli.command import mobai

METRICS = ("--objective", "signup:bernoulli", "--objective", "revenue:bounded=0..500", "--arm-column", "variant")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MOBAI_STORAGE", f"sqlite:///{tmp_path / 'test.db'}")
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows(300)))
    return str(path)


def test_analyse(capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path) -> None:
    code, out, err = mobai(capsys, "analyse", log, *METRICS, "--plot", str(tmp_path / "x.svg"))
    assert (code, err) == (0, "")
    for words in (
        "300 rows, 0 of 2 objectives decided at delta = 0.05",
        "signup",
        "more samples",
        "their order does not matter",
    ):
        assert words in " ".join(out.split())
    assert (tmp_path / "x.svg").exists()
    found = json.loads(mobai(capsys, "analyse", log, *METRICS, "--json")[1])
    assert found["objectives"][0]["arm"] == "B"
    assert {row["rewards"] + row["missing"] for row in found["means"]} == {100}
    assert set(found["forecast"]["per_arm"]) == {"A", "B", "C"}


def test_standard_input(capsys: pytest.CaptureFixture[str], log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mobai(capsys, "analyse", log, *METRICS)[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(log).read_bytes())))
    assert mobai(capsys, "analyse", "-", *METRICS)[1] == expected


def test_create_from_a_log(capsys: pytest.CaptureFixture[str], log: str) -> None:
    code, out, _ = mobai(capsys, "create", "ads", "--from", log, *METRICS)
    assert code == 0
    assert "created ads: 3 arms, 2 objectives" in out
    assert "signup: more is better, rewards are 0 or 1 (bernoulli)" in out
    assert "took over 300 rows" in out
    status = json.loads(mobai(capsys, "status", "ads", "--format", "json")[1])
    assert (status["pulls"], status["state"], status["name"]) == (300, "running", "ads")
    assert status["objectives"][0]["reported"] == 300
    assert status["objectives"][1]["outstanding"] > 0
    assert any(remark.startswith("revenue: ") and remark.endswith(" of 300 reported") for remark in status["remarks"])
    flat = list(csv.DictReader(io.StringIO(mobai(capsys, "status", "ads", "--format", "csv")[1])))
    assert len(flat) == 6
    assert {row["name"] for row in flat} == {"ads"}
    assert all(row["lower"] and row["mean"] and row["rewards"] for row in flat)


def test_a_bad_log_creates_nothing(capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("variant,signup,revenue\nA,1,3\nB,7,3\n")
    code, _, err = mobai(capsys, "create", "ads", "--from", str(tmp_path / "bad.csv"), *METRICS)
    assert (code, "row 2: metric 'signup' must be 0 or 1, not 7.0" in err) == (2, True)
    assert "there is nothing at" in mobai(capsys, "experiments")[2]


def test_an_observation_nobody_asked_for(capsys: pytest.CaptureFixture[str], log: str) -> None:
    mobai(capsys, "create", "ads", "--arm", "A", "--arm", "B", *METRICS[:4])
    code, out, _ = mobai(capsys, "tell", "ads", "--arm", "B", "signup=1")
    assert code == 0
    assert "recorded B as assignment 1" in out
    assert mobai(capsys, "tell", "ads", "1", "revenue=20")[0] == 0
    for words, message in (
        (("--arm", "C", "signup=1"), "arm must be one of A, B, not 'C'"),
        (("--arm", "B"), "give one of ID METRIC=VALUE"),
        (("--arm", "B", "signup=1", "--drop"), "--arm takes METRIC=VALUE..."),
        (("--arm", "B", "signup=1", "signup=0"), "signup is given twice"),
    ):
        code, _, err = mobai(capsys, "tell", "ads", *words)
        assert (code, message in err) == (2, True), err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,arm,signup\n1,B,1\n", "assignment 1 is for the arm 'A' here, not 'B'"),
        ("id,signup\n1\n", "row 2 has 1 cells, the first row has 2"),
        ("id,signup,signup\n1,1,0\n", "the column 'signup' appears twice"),
        ("id,signup\n", "has no rows"),
        ("signup\n1\n", "row 1 must have an id or a unit"),
    ],
)
def test_reports_that_are_refused(
    capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path, text: str, message: str
) -> None:
    mobai(capsys, "create", "ads", "--arm", "A", "--arm", "B", *METRICS[:4])
    mobai(capsys, "ask", "ads")
    (tmp_path / "reports").write_text(text)
    code, _, err = mobai(capsys, "tell", "ads", "--file", str(tmp_path / "reports"))
    assert (code, message in err) == (2, True), err
    (tmp_path / "reports").write_text('[{"id": 1, "arm": "A", "signup": 1}]')
    assert mobai(capsys, "tell", "ads", "--file", str(tmp_path / "reports"))[0] == 0
