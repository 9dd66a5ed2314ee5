"""The command line as a user meets it: real output, one-line errors, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.command import mobai

from mobai import ConvergenceError
from mobai.cli import main
from mobai.cli.main import _COMMANDS, _explain, group


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("--help",), ("-h",)):
        code, out, _ = mobai(capsys, *words)
        assert code == 0
        for name, line in _COMMANDS.items():
            assert name in out
            assert line in out


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_has_help_and_is_documented(name: str) -> None:
    result = CliRunner().invoke(group, [name, "--help"])
    assert result.exit_code == 0
    guide = Path(__file__).parents[2] / "docs" / "cli.md"
    assert f"## mobai {name}" in guide.read_text()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert mobai(capsys, "--version")[1].startswith("mobai, version 0.")


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "demo")
    assert code == 0
    for word in ("bold", "price", "story", "uniform sampling", "lower bound", "certified", "saved"):
        assert word in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "none.csv"], "none.csv: No such file or directory"),
        (["plan", "none"], "none: neither an instance file (.csv, .json) nor one of ads, remark2, snw, synthetic"),
        (["plan"], "missing argument 'INSTANCE'"),
        (["plan", "ads", "--delta", "1"], "--delta must be a number between 0 and 1, both excluded, not 1.0"),
        (
            ["plan", "ads", "--delta", "often"],
            "invalid value for '--delta': 'often' is not a number such as 0.05 or 5%",
        ),
        (["plan", "remark2:eps=0"], "metric 'objective 2' has no single best arm: 'arm 0', 'arm 1' are tied"),
        (["simulate", "ads", "--rule", "luck"], "rule must be one of top-two, mo-bai, frank-wolfe"),
        (
            ["simulate", "ads", "--threshold", "luck"],
            "threshold must be one of mixture, kaufmann_koolen, theory, emp",
        ),
        (
            ["simulate", "ads", "--rule", "successive-elimination:delta=0.1"],
            "delta: successive-elimination was set up for 0.1 and can answer no other",
        ),
        (["simulate", "ads", "--delta", "0.1", "--log-inv-delta", "3"], "only one of deltas and log_inv_deltas"),
        (["simulate", "ads", "--out", "/nowhere/r.parquet", "--trials", "1"], "/nowhere/r.parquet: No such file"),
        (["simulate", "ads", "-j", "0"], "n_jobs must be a whole number of workers, -1 for all cores"),
        (["simulate", "ads", "--threshold", "luck"], "threshold must be one of mixture"),
        (["reproduce", "table-9"], "part must be one of table-1, table-2"),
        (["plot", "nothing.parquet"], "nothing.parquet: No such file"),
        (["simulate", "ads", "--seed", "-1"], "invalid value for '--seed'"),
        (["simulate", "ads", "--max-pulls", "0"], "invalid value for '--max-pulls'"),
        (["simulate", "ads", "--nothing"], "no such option"),
        (["plan", "synthetic:seed=-1"], "synthetic:seed=-1: the instance 'synthetic' does not take these options"),
        (["plan", "synthetic:seed=abc"], "synthetic:seed=abc: the instance 'synthetic' does not take these options"),
        (["demo", "--delta", "2"], "--delta must be a number between 0 and 1"),
        (["walk"], "command: there is no 'walk'"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    code, out, err = mobai(capsys, *words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"mobai: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,x\na,1\nb\n", "row 3 has 1 cells"),
        ("arm,x\na,1\nb,fast\n", "'fast' is not a number"),
        ("arm,x\na,1\nb,nan\n", "'nan' is not a finite number"),
        ("arm,x\na,1\n", "at least two"),
    ],
)
def test_bad_tables_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    for command in ("plan", "simulate"):
        code, _, err = mobai(capsys, command, str(path))
        assert (code, err.count("\n")) == (2, 1)
        assert message in err


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(ValueError, match="delta"):
        main(["--debug", "plan", "ads", "--delta", "1"])


def test_unexpected_errors_ask_for_a_report() -> None:
    assert _explain(RuntimeError("boom")) == (
        "unexpected RuntimeError: boom (run again with --debug and report it)",
        1,
    )
    assert _explain(ConvergenceError("stuck")) == ("stuck", 1)


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -c 'from mobai.cli import main; main()' plan snw | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("objective")


def test_unknown_commands_are_not_imported() -> None:
    assert group.get_command(click.Context(group), "os") is None
