"""``mobai analyse --items``: tables, and results of evaluations."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.cli.command import mobai

ITEMS = 150


def right(system: str, n: int) -> int:
    return int(random.Random(f"{system} {n}").random() < {"small": 0.4, "large": 0.85}[system])


@pytest.fixture
def long(tmp_path: Path) -> str:
    rows = [f"{system},q{n},{right(system, n)}" for n in range(ITEMS) for system in ("small", "large")]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["model,question,score", *rows]))
    return str(path)


@pytest.fixture
def wide(tmp_path: Path) -> str:
    rows = [f"q{n},{right('small', n)},{right('large', n)}" for n in range(ITEMS)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(["question,small,large", *rows]))
    return str(path)


def test_a_long_and_a_wide_table_say_the_same(capsys: pytest.CaptureFixture[str], long: str, wide: str) -> None:
    metric = ("--metric", "score:bounded=0..1", "--json")
    code, out, _ = mobai(capsys, "analyse", long, "--items", *metric)
    assert code == 0
    other = mobai(capsys, "analyse", wide, "--arm-columns", "small,large", "--item-column", "question", *metric)[1]
    (one,), (two,) = json.loads(out)["tasks"], json.loads(other)["tasks"]
    assert one["made"] == two["made"] == 2 * ITEMS
    assert one["enough"] < ITEMS
    assert one["objectives"][0]["decided_arm"] == two["objectives"][0]["decided_arm"] == "large"


def test_results_of_a_tool_need_no_metrics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for system in ("small", "large"):
        cases = [
            {"input": f"q{n}", "metricsData": [{"name": "Exact Match", "score": right(system, n)}]}
            for n in range(ITEMS)
        ]
        facts = {"testCases": cases, "metricsScores": [], "identifier": system}
        (tmp_path / f"{system}.json").write_text(json.dumps(facts))
    code, out, err = mobai(capsys, "analyse", str(tmp_path), "--items", "--all-items")
    assert (code, err) == (0, "")
    assert "Best for Exact Match: large" in out
    assert f"of these {2 * ITEMS} measurements." in out


@pytest.mark.filterwarnings("always")
def test_files_are_read_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for system in ("small", "large"):
        for task in ["quiz", *(["alone"] if system == "small" else [])]:
            rows = [{"doc_id": n, "filter": "none", "metrics": ["acc"], "acc": right(system, n)} for n in range(40)]
            (tmp_path / system).mkdir(exist_ok=True)
            path = tmp_path / system / f"samples_{task}_2026-11-20T00-49-36.966940.jsonl"
            path.write_text("\n".join(map(json.dumps, rows)))
    code, _, err = mobai(capsys, "analyse", str(tmp_path), "--items")
    assert (code, err) == (0, "mobai: task alone is left out: there is one system alone\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--items"], "--objective must be stated for a table; they seem to be score:bernoulli"),
        (["--items", "--ordered", "--metric", "score:bernoulli"], "--ordered must come without items"),
        (["--items", "--task", "quiz", "--metric", "score:bernoulli"], "--task: "),
        (["--task", "quiz"], "--task needs --items"),
        (["--arm-columns", "a,b"], "--objective must be one, with a column per arm"),
        (["--arm-columns", "model,smal", "--metric", "score:bernoulli"], "there is no column 'smal'"),
    ],
)
def test_what_does_not_fit_is_one_line(
    capsys: pytest.CaptureFixture[str], long: str, words: list[str], said: str
) -> None:
    code, out, err = mobai(capsys, "analyse", long, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_table_without_items_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("model,score\na,1\nb,0\n")
    code, _, err = mobai(capsys, "analyse", str(path), "--items", "--metric", "score:bernoulli")
    assert code == 2
    assert "which of the columns model, score says what was measured" in err


def test_goals(capsys: pytest.CaptureFixture[str], long: str, wide: str) -> None:
    words = ["--metric", "score:bounded=0..1", "--goal", "ranking"]
    code, out, _ = mobai(capsys, "analyse", long, "--items", *words)
    assert code == 0
    assert "ranking: score: large, small, with an error probability of 0.05 of its own" in out
    code, out, _ = mobai(capsys, "analyse", wide, "--arm-columns", "small,large", *words, "--json")
    found = json.loads(out)["tasks"][0]["answer"]
    assert found == {"goal": "ranking", "decided": True, "groups": {"score": ["large", "small"]}}
    columns = ["--arm-column", "model", "--item-column", "question"]
    code, out, _ = mobai(capsys, "analyse", long, *columns, "--metric", "score:bounded=0..1", "--goal", "top=1")
    assert "top=1: score: large" in out
    code, _, err = mobai(capsys, "analyse", long, "--arm-column", "model", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert "--goal needs items" in err
