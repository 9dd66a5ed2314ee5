"""The command line as a user meets it: real output, one-line errors, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mobai import ConvergenceError, Instance, Policy, lower_bound
from mobai.cli import main
from mobai.cli.main import _COMMANDS, _explain, group
from mobai.cli.progress import Bar
from mobai.lab.instances import ads
from mobai.lab.trial import run_trial


def mobai(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ending:
        main(words)
    captured = capsys.readouterr()
    return int(ending.value.code or 0), captured.out, captured.err


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "ads.csv"
    ads().save(path)
    return str(path)


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


def test_plan(capsys: pytest.CaptureFixture[str], table: str) -> None:
    code, out, _ = mobai(capsys, "plan", table, "--delta", "0.05")
    assert code == 0
    for word in ("cost (min)", "optimal share", "c* = 286.7", "bottleneck", "lower bound", "price", "%"):
        assert word in out


def test_plan_as_json(capsys: pytest.CaptureFixture[str], table: str) -> None:
    plan = json.loads(mobai(capsys, "plan", table, "--json")[1])
    bound = lower_bound(ads())
    assert plan["best_arms"] == {"clicks": "bold", "cost": "price", "dwell": "story"}
    assert plan["c_star"] == bound.value
    assert plan["samples_lower_bound"] == bound.samples(0.05) < plan["samples_expected"] < plan["samples_uniform"]
    assert sum(plan["shares"].values()) == pytest.approx(1)
    shares = [pair["share"] for pair in plan["bottlenecks"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) > 0.95


def test_plan_of_many_arms_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    out = mobai(capsys, "plan", "snw")[1]
    assert "and 176 more arms" in out


def test_run(capsys: pytest.CaptureFixture[str], table: str) -> None:
    code, out, _ = mobai(capsys, "run", table, "--seed", "1", "--rule", "top-two")
    assert code == 0
    assert "stopped after" in out
    assert "every recommended arm is right" in out
    assert "certified, the error probability is proven" in out


def test_run_as_json_is_reproducible(capsys: pytest.CaptureFixture[str], table: str) -> None:
    words = ("run", table, "--seed", "1", "--json")
    first, second = (mobai(capsys, *words)[1] for _ in range(2))
    assert first == second
    result = json.loads(first)
    assert result["stopped"]
    assert result["certified"]
    assert sum(result["pulls_per_arm"].values()) == result["pulls"] == result["stopped_at"]
    assert [o["arm"] for o in result["objectives"]] == ["bold", "price", "story"]
    assert max(o["decided_at"] for o in result["objectives"]) == result["pulls"]


def test_the_unproven_threshold_is_called_so(capsys: pytest.CaptureFixture[str], table: str) -> None:
    out = mobai(capsys, "run", table, "--threshold", "empirical")[1]
    assert "not certified" in out
    assert json.loads(mobai(capsys, "run", table, "--threshold", "empirical", "--json")[1])["certified"] is False


def test_run_gives_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "run", "remark2:eps=0", "--max-pulls", "50")
    assert code == 0
    assert "gave up, undecided, after 50 pulls" in out
    assert "lower bound" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "none.csv"], "none.csv: No such file or directory"),
        (["plan", "none"], "none: neither an instance file (.csv, .json) nor one of ads, remark2, snw, synthetic"),
        (["plan"], "missing argument 'INSTANCE'"),
        (["plan", "ads", "--delta", "1"], "delta must be a number between 0 and 1, both excluded, not 1.0"),
        (["plan", "ads", "--delta", "often"], "invalid value for '--delta': 'often' is not a valid float"),
        (["plan", "remark2:eps=0"], "objective 'objective 2' has no single best arm: 'arm 0', 'arm 1' are tied"),
        (["run", "ads", "--rule", "luck"], "rule must be one of top-two, mo-bai, frank-wolfe"),
        (["run", "ads", "--threshold", "luck"], "threshold must be one of mixture, kaufmann_koolen, theory, empirical"),
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
        (["run", "ads", "--seed", "-1"], "invalid value for '--seed'"),
        (["run", "ads", "--max-pulls", "0"], "invalid value for '--max-pulls'"),
        (["run", "ads", "--nothing"], "no such option"),
        (["plan", "synthetic:seed=-1"], "synthetic:seed=-1: the instance 'synthetic' does not take these options"),
        (["plan", "synthetic:seed=abc"], "synthetic:seed=abc: the instance 'synthetic' does not take these options"),
        (["demo", "--delta", "2"], "delta must be a number between 0 and 1"),
        (["walk"], "no such command 'walk'"),
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
    for command in ("plan", "run"):
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
        "run",
        str(path),
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


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -c 'from mobai.cli import main; main()' plan snw | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("objective")


def test_unknown_commands_are_not_imported() -> None:
    assert group.get_command(click.Context(group), "os") is None


def test_names_are_not_markup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    Instance([[3.0], [0.0], [1.0]], arms=["[red]A", "[/b]", "[v1] C"], objectives=["[bold]x"]).save(path)
    for command in ("plan", "run"):
        code, out, _ = mobai(capsys, command, str(path))
        assert code == 0
        assert "[red]A" in out
        assert "[bold]x" in out


def test_a_run_needs_no_lower_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    Instance([[1e-60], [0.0], [-1.0]]).save(path)
    code, out, _ = mobai(capsys, "run", str(path), "--max-pulls", "20", "--json")
    assert code == 0
    assert json.loads(out)["lower_bound"] is None


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
    code, out, _ = mobai(capsys, "run", "ads", "--rule", "successive-elimination:delta=0.1", "--delta", "0.1")
    assert code == 0
    assert "elimination: certified" in out


def test_reproduce_lists_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "reproduce", "--list")
    assert code == 0
    assert "Table 3: SNW at practical delta" in out


def test_reproduce_one_part_quickly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = mobai(capsys, "reproduce", "readings", "--quick", "--out", str(tmp_path))
    assert (code, out.strip()) == (0, str(tmp_path / "quick" / "report.html"))


def test_audit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = mobai(capsys, "audit", "--quick", "--only", "peeked", "--out", str(tmp_path))
    assert code == 0
    assert "peeked test (control)" in out
    assert "1 of 1 lines are as claimed" in out
    assert "Every claim holds" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--only", "nothing"), "only: no case contains 'nothing'"), (("-j", "0"), "jobs must be a number of workers")],
)
def test_bad_audits(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    code, _, err = mobai(capsys, "audit", *words)
    assert code == 2
    assert message in err


def test_audit_that_fails_has_an_exit_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A control that is claimed to be valid is reported as broken."""
    from mobai.audit.cases import all_cases
    from mobai.cli import audit

    cases = [case._replace(valid=True) for case in all_cases(0.05) if case.stopping.name == "peeked test"]
    monkeypatch.setattr(audit, "all_cases", lambda scale: cases)
    code, out, _ = mobai(capsys, "audit")
    assert code == 1
    assert "BROKEN" in out
    assert "0 of 1 lines are as claimed" in out
