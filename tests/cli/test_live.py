"""The commands of live experiments, from create to export."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mobai import Experiment
from mobai.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as end:
        main(words)
    captured = capsys.readouterr()
    assert end.value.code == code, captured.err
    return captured.out if code == 0 else captured.err


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    monkeypatch.setenv("MOBAI_STORAGE", url)
    return url


OBJECTIVES = ("--objective", "click:bernoulli", "--objective", "latency:min:unknown-variance")
CREATE = ("create", "ads", "--arm", "A", "--arm", "B", *OBJECTIVES)


def test_from_create_to_export(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    assert "created ads: 2 arms, 2 objectives, delta = 0.05" in run(capsys, *CREATE)
    assert "there is an experiment 'ads' already" in run(capsys, *CREATE, code=2)
    assigned = json.loads(run(capsys, "ask", "ads", "-n", "4", "--format", "json"))
    assert [row["arm"] for row in assigned] == ["A", "B", "A", "B"]
    assert "told 1 report; 1 pull, 0 of 2 objectives decided at delta = 0.05" in run(
        capsys, "tell", "ads", "1", "click=1", "latency=3.5"
    )
    run(capsys, "tell", "ads", "1", "click=1")
    assert "was 1.0 before, and is 0.0 now" in run(capsys, "tell", "ads", "1", "click=0", code=2)
    lines = tmp_path / "reports.jsonl"
    lines.write_text('{"id": 2, "click": 0}\n{"id": 3, "click": 1, "latency": 4}\n')
    assert "told 2" in run(capsys, "tell", "ads", "--file", str(lines))
    table = tmp_path / "reports.csv"
    table.write_text("id,arm,click,latency\n2,B,,5\n")
    run(capsys, "tell", "ads", "--file", str(table))
    assert "dropped 4" in run(capsys, "tell", "ads", "4", "--drop")
    status = json.loads(run(capsys, "status", "ads", "--format", "json"))
    assert [row["objective"] for row in status["objectives"]] == ["click", "latency"]
    assert status["objectives"][0]["decided_at"] is None
    picture = run(capsys, "status", "ads")
    assert "ads: running, 3 pulls, 0 pending, 1 dropped or expired" in picture
    listed = run(capsys, "experiments", "--format", "csv").splitlines()
    assert listed == ["name,arms,objectives,pulls,pending,decided,state", "ads,2,2,3,0,0 of 2,running"]
    rows = list(csv.DictReader(run(capsys, "export", "ads", "--format", "csv").splitlines()))
    assert [row["status"] for row in rows] == ["answered", "answered", "answered", "dropped"]
    assert rows[1]["latency"] == "5.0"
    events = json.loads(run(capsys, "export", "ads", "--events", "--format", "json"))
    assert [event["kind"] for event in events] == ["created", "asked", "told", "told", "told", "dropped"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "no"), "name: there is no experiment 'no'; there are 'ads'"),
        (("tell", "ads"), "give one of ID METRIC=VALUE"),
        (("tell", "ads", "1", "click=1", "--drop"), "--drop takes one ID and no metrics"),
        (("tell", "ads", "one", "click=1"), "id must be a whole number, not 'one'"),
        (("tell", "ads", "1"), "at least one METRIC=VALUE is needed"),
        (("tell", "ads", "1", "click"), "metrics are written METRIC=VALUE, not 'click'"),
        (("tell", "ads", "1", "click=much"), "click must be a number, not 'much'"),
        (("tell", "ads", "9", "click=1"), "assignment 9 must be an id that was handed out"),
        (("create", "x", "--arm", "A", "--arm", "B", "--objective", "y:eps=z"), "eps must be a number"),
        (("run",), "give --command or --sampler to measure the arms"),
        (("run", "ads", "--command", "x"), "a live run takes --arm and --objective, no instance"),
        (("run", "--command", "x", "--sampler", "y:z"), "give either --command or --sampler"),
        (("run", "--command", "x"), "--arm and --objective are needed"),
        (
            ("run", "--command", "x", "--name", "ads", "--arm", "A", "--arm", "C", *OBJECTIVES),
            "has other arms",
        ),
    ],
)
def test_bad_words(capsys: pytest.CaptureFixture[str], storage: str, words: tuple[str, ...], message: str) -> None:
    run(capsys, *CREATE)
    before = len(Experiment.load(storage, "ads").history())
    error = run(capsys, *words, code=2)
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert len(Experiment.load(storage, "ads").history()) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": 1}\n5\n', "row 2 is not a JSON object"),
        (b"id,click\n1,\xff\n", "is not a text file in UTF-8"),
        (b'{"id": 1, "click": 1' + b"0" * 500 + b"}", "click must be a number"),
        (b'{"id": 1, "click": ' + b"[" * 100_000, "is neither CSV nor JSON lines"),
        (b"id,click\n1,\n", "metrics must hold at least one number"),
    ],
)
def test_bad_files(
    capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path, content: bytes, message: str
) -> None:
    run(capsys, *CREATE)
    run(capsys, "ask", "ads")
    path = tmp_path / "reports"
    path.write_bytes(content)
    assert message in run(capsys, "tell", "ads", "--file", str(path), code=2)
    path.write_bytes("id,click\n1,1\n".encode("utf-8-sig"))
    assert "told 1" in run(capsys, "tell", "ads", "--file", str(path))


def test_a_broken_storage_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("no database " * 50)
    error = run(capsys, "experiments", "--storage", f"sqlite:///{path}", code=1)
    assert error == f"mobai: sqlite:///{path}: is not a database of mobai\n"


COMMAND = """
import json, pathlib, random, sys
mean = {"fast": 1.0, "slow": 3.0, "slower": 4.0}[sys.argv[1]]
calls = pathlib.Path(sys.argv[0]).with_suffix(".calls")
random.seed(len(calls.read_text()) if calls.exists() else 0)
with calls.open("a") as more:
    more.write(".")
print(json.dumps({"time": random.gauss(mean, 0.5), "size": random.gauss(-mean, 0.5)}))
"""


def words_of_a_run(tmp_path: Path) -> list[str]:
    script = tmp_path / "measure.py"
    script.write_text(COMMAND)
    arms = [word for arm in ("fast", "slow", "slower") for word in ("--arm", arm)]
    objectives = [w for o in ("time:min", "size:min") for w in ("--objective", f"{o}:unknown-variance")]
    return ["run", "--command", f"{sys.executable} {script} {{arm}}", *arms, *objectives]


def test_a_real_run(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    words = words_of_a_run(tmp_path)
    with pytest.raises(SystemExit) as end:
        main([*words, "--max-pulls", "5"])
    assert end.value.code == 3
    assert "gave up at --max-pulls: 5 pulls, 0 of 2 objectives decided at delta = 0.05" in capsys.readouterr().out
    found = json.loads(run(capsys, *words, "--json"))
    assert found["ending"] == "decided"
    assert [row["arm"] for row in found["objectives"]] == ["fast", "slower"]
    # The same words resume: everything is decided, so nothing more is measured.
    again = json.loads(run(capsys, *words, "--json"))
    assert again["objectives"] == found["objectives"]
    for other in (("--delta", "0.001"), ("--rule", "uniform"), ("--seed", "7")):
        assert "choose another name" in run(capsys, *words, *other, code=2)


def test_a_broken_command_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = run(
        capsys,
        "run",
        "--command",
        "false",
        "--arm",
        "a",
        "--arm",
        "b",
        *OBJECTIVES,
        "--name",
        "broken",
        code=2,
    )
    assert "command: 5 assignments failed one after the other, the last one" in error


def test_watching(storage: str, tmp_path: Path) -> None:
    """``status --watch`` redraws until everything is decided."""
    test = Experiment.create(storage, "x", ["A", "B"], ["value:gaussian=1"])
    command = [
        sys.executable,
        "-c",
        "from mobai.cli import main; main()",
        "status",
        "x",
        "--watch",
        "--storage",
        storage,
    ]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    while not test.verdict().stopped:
        (assignment,) = test.ask()
        test.tell(assignment, {"value": 5.0 if assignment.arm == "A" else 0.0})
    text, _ = watcher.communicate(timeout=30)
    assert watcher.returncode == 0
    assert "x: decided" in text
