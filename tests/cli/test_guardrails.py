"""Guardrails, baselines, units, pauses and explanations, from the shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import mobai

ABOUT = (
    *("--arm", "control", "--arm", "B", "--objective", "click:bernoulli", "--baseline", "control"),
    *("--guardrail", "errors:bernoulli:at-most=0.1:eps=0.1"),
)


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    monkeypatch.setenv("MOBAI_STORAGE", url)
    monkeypatch.chdir(tmp_path)
    return url


def test_a_live_experiment(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = mobai(capsys, "create", "x", *ABOUT, "--max-samples", "200", "--until", "2099-01-01")
    assert code == 0
    for words in ("limit: errors at most 0.1, with a tolerance of 0.1", "all arms are compared with control"):
        assert words in out
    assert (
        mobai(capsys, "ask", "x", "--unit", "u 1", "--format", "json")[1]
        == mobai(capsys, "ask", "x", "--unit", "u 1", "--format", "json")[1]
    )
    assert mobai(capsys, "tell", "x", "--unit", "u 1", "click=1", "errors=0", "--by", "ann")[0] == 0
    (tmp_path / "reports.csv").write_text("unit,click,errors\nu 1,1,0\n")
    assert mobai(capsys, "tell", "x", "--file", "reports.csv")[0] == 0
    assert mobai(capsys, "pause", "x", "--by", "ben")[0] == 0
    code, _, err = mobai(capsys, "ask", "x")
    assert (code, "is paused" in err) == (2, True)
    assert mobai(capsys, "resume", "x")[0] == 0
    mobai(capsys, "ask", "x", "-n", "60")
    rng = np.random.default_rng(1)
    rows = [f"{n},{int(rng.random() < 0.5)},{int(rng.random() < 0.03)}" for n in range(2, 60)]
    (tmp_path / "more.csv").write_text("\n".join(["id,click,errors", *rows]))
    assert mobai(capsys, "tell", "x", "--file", "more.csv")[0] == 0
    found = json.loads(mobai(capsys, "status", "x", "--format", "json")[1])
    assert found["baseline"] == "control"
    assert {row["arm"] for row in found["guardrails"]} == {"control", "B"}
    assert {row["metric"] for row in found["differences"]} == {"click", "errors"}
    assert found["state"] == "running"
    shown = mobai(capsys, "status", "x")[1]
    for words in ("errors at most 0.1", "against control"):
        assert words in shown
    assert len(mobai(capsys, "status", "x", "--format", "csv")[1].splitlines()) == 5
    shown = mobai(capsys, "explain", "x")[1]
    assert "is next: " in shown
    assert "so far" in shown
    assert "u 1" in mobai(capsys, "export", "x", "--format", "csv")[1]
    assert json.loads(mobai(capsys, "explain", "x", "--json")[1])["pairs"][0]["objective"] == "click"
    assert mobai(capsys, "plot", "x", "--out", "x.svg")[1].strip() == "x.svg"
    events = json.loads(mobai(capsys, "export", "x", "--events", "--format", "json")[1])
    assert [event["body"].get("by") for event in events if event["kind"] in ("told", "paused")][:2] == ["ann", "ben"]


def test_a_limit_is_no_objective(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("create", "x", "--arm", "A", "--arm", "B", "--objective", "errors:min:at-most=0.02")
    code, _, err = mobai(capsys, *words)
    assert code == 2
    assert "state it as a guardrail: --guardrail errors:at-most=0.02" in err


def test_plan_simulate_and_analyse(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = "arm,click:bernoulli,errors:bernoulli:at-most=0.1:eps=0.1\nA,0.2,0.02\nB,0.6,0.5\nC,0.45,0.03\n"
    (tmp_path / "t.csv").write_text(table)
    code, out, _ = mobai(capsys, "plan", "t.csv", "--delta", "0.1")
    assert code == 0
    assert "errors at most 0.1: broken by B" in out
    plan = json.loads(mobai(capsys, "plan", "t.csv", "--delta", "0.1", "--json")[1])
    assert plan["best_arms"] == {"click": "C"}
    assert plan["samples_lower_bound"] < plan["samples_expected"] < plan["samples_uniform"]
    (tmp_path / "u.csv").write_text("arm,click:bernoulli,errors:bernoulli\nA,0.2,0.02\nB,0.6,0.5\nC,0.45,0.03\n")
    same = ("plan", "u.csv", "--guardrail", "errors:bernoulli:at-most=0.1:eps=0.1", "--delta", "0.1")
    assert json.loads(mobai(capsys, *same, "--json")[1]) == plan
    assert "click: B would be best, and breaks a limit" in mobai(capsys, *same)[1]
    words = ("simulate", "t.csv", "--trials", "2", "--delta", "0.1", "--focus", "--max-pulls", "5000", "--json")
    code, out, _ = mobai(capsys, *words)
    assert code == 0
    assert "none qualifies" not in out
    rng = np.random.default_rng(2)
    rows = [
        {"arm": arm, "click": int(rng.random() < p), "errors": int(rng.random() < q)}
        for _ in range(150)
        for arm, p, q in (("A", 0.2, 0.02), ("B", 0.6, 0.5), ("C", 0.5, 0.02))
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    about = ("--objective", "click:bernoulli", "--baseline", "A", "--guardrail", "errors:bernoulli:at-most=0.1:eps=0.1")
    found = json.loads(mobai(capsys, "analyse", "log.jsonl", *about, "--json")[1])
    assert {(row["arm"], row["status"]) for row in found["guardrails"]} >= {("B", "broken")}
    assert next(row["verdict"] for row in found["differences"] if row["arm"] == "C") == "better"
    assert "errors at most 0.1" in mobai(capsys, "analyse", "log.jsonl", *about)[1]
    code, out, _ = mobai(capsys, "create", "y", "--from", "log.jsonl", *about)
    assert code == 0
    assert mobai(capsys, "plan", "ads", "--guardrail", "clicks:at-least=0.1:eps=0.05")[0] == 0
    code, _, err = mobai(capsys, "plan", "ads", "--guardrail", "zz:bernoulli:at-most=0.1")
    assert (code, "the instance has no metric of that name; it has clicks, cost, dwell" in err) == (2, True)


def test_running_with_limits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "measure.py"
    script.write_text(
        "import json, os, random, sys\n"
        "rng = random.Random(os.urandom(4))\n"
        "bad = sys.argv[1] == 'B'\n"
        "print(json.dumps({'value': rng.gauss(2.0 if bad else 0.5, 0.1), 'errors': int(rng.random() < 0.9 * bad)}))\n"
    )
    words = (
        *("run", "--command", f"{sys.executable} {script} {{arm}}", "--arm", "A", "--arm", "B", "--delta", "0.2"),
        *("--objective", "value:gaussian=0.1", "--guardrail", "errors:bernoulli:at-most=0.3:eps=0.3", "--json"),
    )
    code, out, _ = mobai(capsys, *words)
    assert code == 0
    assert json.loads(out)["objectives"][0]["arm"] == "A"
