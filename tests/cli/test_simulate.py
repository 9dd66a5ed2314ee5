"""``mobai simulate``: one run to watch, and many trials."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import mobai

from mobai import Instance, Policy, lower_bound
from mobai.cli.progress import Bar
from mobai.lab.instances import ads
from mobai.lab.trial import run_trial


def watched(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return mobai(capsys, "simulate", *words, "--trials", "1", "--watch")


def test_a_run_to_watch(capsys: pytest.CaptureFixture[str], table: str) -> None:
    code, out, _ = watched(capsys, table, "--seed", "1", "--rule", "top-two")
    assert code == 0
    assert "stopped after" in out
    assert "every recommended arm is right" in out
    assert "certified, the error probability is proven" in out


def test_a_run_as_json_is_reproducible(capsys: pytest.CaptureFixture[str], table: str) -> None:
    words = (table, "--seed", "1", "--json")
    first, second = (watched(capsys, *words)[1] for _ in range(2))
    assert first == second
    result = json.loads(first)
    assert result["stopped"]
    assert result["certified"]
    assert sum(result["pulls_per_arm"].values()) == result["pulls"] == result["stopped_at"]
    assert [o["arm"] for o in result["objectives"]] == ["bold", "price", "story"]
    assert max(o["decided_at"] for o in result["objectives"]) == result["pulls"]


def test_the_unproven_threshold_is_called_so(capsys: pytest.CaptureFixture[str], table: str) -> None:
    out = watched(capsys, table, "--threshold", "empirical")[1]
    assert "not certified" in out
    assert json.loads(watched(capsys, table, "--threshold", "empirical", "--json")[1])["certified"] is False


def test_a_run_gives_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = watched(capsys, "remark2:eps=0", "--max-pulls", "50")
    assert code == 0
    assert "gave up, undecided, after 50 pulls" in out
    assert "lower bound" not in out


def test_ctrl_c_reports_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "hard.csv"
    Instance([[0.0], [1e-4]]).save(path)
    # What has to be compiled is compiled here: the signal must meet the run.
    run_trial(ads(), Policy(), 0.05, max_pulls=20)
    lower_bound(ads())
    words = [
        sys.executable,
        "-u",
        "-c",
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from mobai.cli import main; print('up', flush=True); main()",
        "simulate",
        str(path),
        "--trials",
        "1",
        "--watch",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted after" in out
    assert err == "mobai: interrupted\n"


def test_names_are_not_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    Instance([[3.0], [0.0], [1.0]], arms=["[red]A", "[/b]", "[v1] C"], objectives=["[bold]x"]).save(path)
    for words in (("plan",), ("simulate", "--trials", "1", "--watch")):
        code, out, _ = mobai(capsys, *words, str(path))
        assert code == 0
        assert "[red]A" in out
        assert "[bold]x" in out


def test_a_run_needs_no_lower_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    Instance([[1e-60], [0.0], [-1.0]]).save(path)
    code, out, _ = watched(capsys, str(path), "--max-pulls", "20", "--json")
    assert code == 0
    assert json.loads(out)["lower_bound"] is None


def test_it_is_the_first_trial_of_many(capsys: pytest.CaptureFixture[str]) -> None:
    one = json.loads(watched(capsys, "ads", "--seed", "3", "--json")[1])
    many = json.loads(mobai(capsys, "simulate", "ads", "--seed", "3", "--trials", "1", "--json")[1])
    assert many["summary"][0]["mean"] == one["pulls"]


@pytest.mark.parametrize("words", [("--trials", "2"), ("--delta", "0.1", "--delta", "0.01"), ("--out", "x.parquet")])
def test_several_runs_are_not_watched(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code, _, err = mobai(capsys, "simulate", "ads", "--trials", "1", "--watch", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "--watch draws one run: give --trials 1" in err


def test_the_old_words_still_work(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = mobai(capsys, "run", "ads", "--seed", "1", "--json")
    assert code == 0
    assert err == "mobai: run is for live runs; a simulated one is: mobai simulate ads --trials 1 --watch\n"
    assert out == watched(capsys, "ads", "--seed", "1", "--json")[1]


def simulated(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return mobai(capsys, "simulate", "ads", "--delta", "0.1", "--trials", "3", *words)


def test_simulate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    words = ("--rule", "top-two", "--rule", "successive-elimination:delta=0.1", "--threshold", "empirical")
    code, table, _ = simulated(capsys, *words, "--threshold", "mixture", "--out", str(out))
    assert code == 0
    lines = table.splitlines()
    assert [line.split()[0] for line in lines] == ["rule", "top-two", "top-two", words[3], "lower"]
    assert "empirical (not certified)" in lines[1]
    assert simulated(capsys, *words, "--threshold", "mixture", "--out", str(out))[:2] == (0, table)
    code, said, _ = mobai(capsys, "plot", str(out))
    assert (code, said.strip()) == (0, str(tmp_path / "r.png"))
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert mobai(capsys, "plot", str(out), "--out", str(tmp_path / "r.svg"))[0] == 0
    assert "where the pulls went" in (tmp_path / "r.svg").read_text().lower()
    code, _, error = mobai(capsys, "plot", str(out), "--out", str(tmp_path / "r.doc"))
    assert (code, error.count("\n")) == (2, 1)
    assert "must end in .png, .svg or .pdf" in error


def test_simulate_as_json_does_not_depend_on_workers(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (simulated(capsys, "--json", "-j", jobs)[1] for jobs in ("1", "2"))
    assert one == two
    result = json.loads(one)
    assert result["missing"] == {}
    assert result["summary"][0]["trials"] == 3
    assert result["config"]["policies"] == {"top-two": ["mixture"]}
    single = mobai(capsys, "simulate", "ads", "--trials", "1", "--json")[1]
    assert json.loads(single)["summary"][0]["mean_interval"] is None
    assert "Infinity" not in single


def test_an_interrupted_simulation_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(self: Bar, progress: Any) -> None:
        raise KeyboardInterrupt

    out = str(tmp_path / "r.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(Bar, "__call__", interrupt)
        code, table, error = simulated(capsys, "--out", out)
    assert code == 130
    assert "top-two" in table
    assert "interrupted; trials missing: 2 of top-two; the same command goes on from there" in error
    assert simulated(capsys, "--out", out) == (0, simulated(capsys)[1], "")


def test_run_of_a_rule_that_stops_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = watched(capsys, "ads", "--rule", "successive-elimination:delta=0.1", "--delta", "0.1")
    assert code == 0
    assert "elimination: certified" in out
