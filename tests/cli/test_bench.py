"""``mobai bench``: real commands, their exports and exit codes."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import mobai

FAST, SLOW = "sleep 0.005", "sleep 0.02"


def test_the_faster_command_is_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = {kind: str(tmp_path / f"found.{kind}") for kind in ("json", "csv", "markdown")}
    exports = [word for kind, path in files.items() for word in (f"--export-{kind}", path)]
    code, out, _ = mobai(capsys, "bench", FAST, SLOW, *exports)
    assert code == 0
    assert f"{FAST} is faster than {SLOW}, in most of" in out
    facts = json.loads(Path(files["json"]).read_text())
    assert facts["mobai"]["fastest"] == {"seconds": FAST}
    first, second = facts["results"]
    assert len(first["times"]) == len(first["memory_usage_byte"]) == facts["mobai"]["rounds"] >= 10
    assert min(first["times"]) >= 0.005
    assert set(first["exit_codes"]) == {0}
    assert second["median"] > first["median"] > first["user"]
    # What hyperfine writes, readers of it can read.
    assert {"command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "exit_codes"} <= set(first)
    rows = list(csv.DictReader(Path(files["csv"]).read_text().splitlines()))
    assert list(rows[0]) == ["command", "mean", "stddev", "median", "user", "system", "min", "max"]
    assert [row["command"] for row in rows] == [FAST, SLOW]
    assert f"| `{FAST}` |" in Path(files["markdown"]).read_text()


def test_json_is_all_there_is_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "bench", FAST, SLOW, "--json", "--max-rounds", "2")
    assert (code, json.loads(out)["mobai"]["ending"]) == (0, "max-rounds")


def test_a_command_that_is_slower_than_the_baseline_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "bench", "-n", "old", FAST, "-n", "new", SLOW, "--fail-if-slower", "old", "5%")
    assert code == 1
    assert "new: slower by more than 5 %" in out
    code, out, _ = mobai(capsys, "bench", SLOW, FAST, "--fail-if-slower", SLOW, "5%")
    assert code == 0
    assert f"{FAST}: not slower by more than 5 %" in out


def test_what_stays_open_may_fail_too(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "sleep 0.002", "sleep 0.002; true", "--fail-if-slower", "sleep 0.002", "50%", "--max-rounds", "2"]
    assert mobai(capsys, *words)[0] == 0
    code, out, _ = mobai(capsys, *words, "--fail-if-open")
    assert code == 3
    assert "open" in out


def test_parameters_preparation_setup_and_cleanup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    code, out, _ = mobai(
        capsys,
        *("bench", "sleep {t}", "-L", "t", "0.001,0.02", "--warmup", "1", "--max-rounds", "2", "--json"),
        *("--setup", f"echo setup {{t}} >> {log}"),
        *("--prepare", f"echo prepare {{t}} >> {log}"),
        *("--cleanup", f"echo cleanup {{t}} >> {log}"),
    )
    assert code == 0
    assert [one["parameters"] for one in json.loads(out)["results"]] == [{"t": "0.001"}, {"t": "0.02"}]
    lines = log.read_text().splitlines()
    assert lines[:2] == ["setup 0.001", "setup 0.02"]
    assert lines[-2:] == ["cleanup 0.001", "cleanup 0.02"]
    assert sorted(lines[2:-2]) == ["prepare 0.001"] * 3 + ["prepare 0.02"] * 3


def test_values_are_written_in_once_and_exports_may_go_to_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "echo {x}{y}", "-L", "x", "{y},2", "-L", "y", "1,3", "-M", "2", "--export-csv", "-"]
    code, out, _ = mobai(capsys, *words)
    assert code == 0
    rows = list(csv.DictReader(out[out.index("command,") :].splitlines()))
    assert [row["command"] for row in rows] == ["echo {y}1", "echo {y}3", "echo 21", "echo 23"]


def test_memory_and_user_time_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    small = f"{sys.executable} -S -c 'pass'"
    large = f"{sys.executable} -S -c 'x = bytearray(80_000_000)'"
    busy = f"{sys.executable} -S -c 'sum(range(3_000_000))'"
    code, out, _ = mobai(capsys, "bench", small, large, "--metric", "memory", "--json")
    facts = json.loads(out)
    assert (code, facts["mobai"]["fastest"]) == (0, {"memory": small})
    one, two = (min(one["memory_usage_byte"]) for one in facts["results"])
    assert one < 30_000_000
    assert two - one == pytest.approx(80_000_000, rel=0.1)
    code, out, _ = mobai(capsys, "bench", small, busy, "--metric", "user", "--json")
    assert json.loads(out)["mobai"]["fastest"] == {"user": small}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["true"], "there must be two to compare at least"),
        (["true", "true"], "two are called 'true'; give them names (--name)"),
        (["true", "sleep 'a"], "cannot be split into words: no closing quotation"),
        (["true", "false", "--at-least", "much"], "--at-least must be a share such as 5% or 0.05, not 'much'"),
        (
            ["true", "false", "--fail-if-slower", "true", "5"],
            "--fail-if-slower must be a share such as 5% or 0.05",
        ),
        (["true", "false", "--at-least", "3"], "did you mean 3%?"),
        (["true", "false", "--fail-if-open"], "--fail-if-open needs --fail-if-slower"),
        (["true", "false", "--fail-if-slower", "other", "5%"], "must be one of true, false, not 'other'"),
        (["true", "false", "--fail-if-slower", "true", "5%", "--metric", "user"], "--fail-if-slower must come without"),
        (["true", "false", "-p", "a", "-p", "b", "-p", "c"], "--prepare must be given once, or once per command"),
        (["true", "false", "--export-json", "/tmp"], "--export must be a file, not the folder /tmp"),
        (["true", "false", "-S", "nosuchshell"], "--shell must be a shell that is installed, not 'nosuchshell'"),
        (["true", "false", "--export-json", "/no/folder/x.json"], "there is no folder /no/folder"),
        (["a", "b", "c", "-L", "x", "1", "-L", "x", "2"], "has 'x' twice"),
    ],
)
def test_wrong_input_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    code, out, err = mobai(capsys, "bench", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        (["true", "false"], "'false' ended with exit code 1; ignore that with --ignore-failure"),
        (["true", "no-such-program"], "'no-such-program' ended with exit code 127: there is no such command"),
        (["true", "kill -9 $$"], "ended with exit code -9"),
    ],
)
def test_a_command_that_fails(capsys: pytest.CaptureFixture[str], commands: list[str], said: str) -> None:
    code, _, err = mobai(capsys, "bench", *commands)
    assert code == 1
    assert said in err
    err = mobai(capsys, "bench", *commands, "--setup", "exit 3")[2]
    assert err.strip() == "mobai: 'exit 3' ended with exit code 3"


def test_without_a_shell_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = mobai(capsys, "bench", "-N", "true", "exit 3")
    assert (code, err.strip()) == (1, "mobai: 'exit 3' could not be started: No such file or directory")


def test_failures_can_be_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "bench", "exit 3", f"{SLOW}; exit 2", "-i", "--json")
    assert code == 0
    assert [set(one["exit_codes"]) for one in json.loads(out)["results"]] == [{3}, {2}]


def test_ctrl_c_shows_what_there_is(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mobai", "bench", "sleep 0.2", "sleep 0.21", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    time.sleep(3.0)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    facts = json.loads(out)
    assert facts["mobai"]["ending"] == "interrupted"
    assert facts["results"][0]["times"]
