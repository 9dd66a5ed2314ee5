"""The reproduction: a fixed slice of each table, exactly; the report; resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobai import InputError, simulate
from mobai.document import Block, Heading, Paragraph, Picture, Table, to_html, to_markdown
from mobai.lab.instances import find_instance
from mobai.lab.results import Results
from mobai.lab.simulate import Progress
from mobai.research.paper import reproduce as module
from mobai.research.paper.published import TABLE_2, TABLE_3, Published
from mobai.research.paper.reproduce import PARTS, reproduce
from mobai.research.paper.runs import RUNS, SNW, SYNTHETIC, TABLES, TENTH, TWENTIETH, Run
from mobai.research.paper.tables import compare

# Stopping times of trials 0 and 1 (threshold empirical, seed 0), by instance, rule and log(1/delta).
EXACT: dict[tuple[str, str, tuple[float, ...]], list[list[int]]] = {
    (SNW, "mo-bai", TABLES): [[306, 409, 1405, 3304, 6981], [563, 594, 992, 3429, 6693]],
    (SNW, "d-tracking:iterations=2", (1.0,)): [[431], [3790]],
    (SNW, "d-tracking:iterations=2,start=previous", (1.0,)): [[435], [5178]],
    (SNW, "successive-elimination:delta=0.1,as_printed=true", (TENTH,)): [[437], [422]],
    (SNW, "successive-elimination:delta=0.1", (TENTH,)): [[2955], [1903]],
    (SNW, "successive-elimination:delta=0.05", (TWENTIETH,)): [[3114], [2067]],
    ("snw", "mo-bai", (TENTH, TWENTIETH)): [[1045, 1073], [6883, 7305]],
    (SYNTHETIC, "mo-bai", (1.0, TENTH, 10.0)): [[2396, 2831, 8573], [3968, 4474, 8510]],
    (SYNTHETIC, "mo-bai:eta=2.0", (1.0, TENTH, 10.0)): [[1527, 1947, 5209], [1399, 2215, 9169]],
    (SYNTHETIC, "d-tracking:iterations=5", (1.0, TENTH, 5.0)): [[1053, 1392, 2560], [1343, 1776, 3596]],
    (SYNTHETIC, "top-two", (TENTH, 10.0)): [[1352, 3508], [1623, 4810]],
    (SYNTHETIC, "frank-wolfe", (TENTH, 10.0)): [[1200, 4027], [1193, 4484]],
    (SYNTHETIC, "track-and-stop", (TENTH, 10.0)): [[1271, 4472], [1540, 4949]],
}


# Rules that average the vertices of programs follow another path when a mean changes in its last bit. With the oldest
# libraries allowed (numpy 1.26, numba 0.60) they follow these.
WITH_THE_OLDEST = {
    (SNW, "d-tracking:iterations=2,start=previous", (1.0,)): [[435], [4758]],
    (SYNTHETIC, "d-tracking:iterations=5", (1.0, TENTH, 5.0)): [[1053, 1392, 2560], [1342, 1853, 2728]],
    (SYNTHETIC, "frank-wolfe", (TENTH, 10.0)): [[1223, 4025], [1461, 4526]],
}


@pytest.mark.parametrize(("instance", "rule", "levels"), EXACT)
def test_a_slice_of_each_table(instance: str, rule: str, levels: tuple[float, ...]) -> None:
    found = Run("slice", instance, (rule,), log_inv_deltas=levels)
    results = simulate(find_instance(instance), found.policies(), log_inv_deltas=levels, trials=2, seed=0)
    expected = {**EXACT, **(WITH_THE_OLDEST if np.__version__ < "2" else {})}
    assert [trial.pulls[0].tolist() for trial in results.trials] == expected[instance, rule, levels]


def test_every_part_names_runs_that_exist() -> None:
    assert {run for part in PARTS.values() for run in part.runs} == set(RUNS)
    assert set(TABLE_2) | set(TABLE_3) >= {"mo-bai", "d-tracking"}


def row(mean: float, sd: float, stopped: int = 100) -> Any:
    from mobai.lab.summary import SummaryRow

    low, high = mean - sd / 5, mean + sd / 5
    return SummaryRow("r", "s", False, 0.1, 2.3, 100, stopped, mean, sd, (low, high), 0.0, (0.0, 0.04), 10.0)


def test_verdicts() -> None:
    paper = Published(1000.0, 30.0, 100)
    assert compare(paper, row(1005, 50)).word == "agrees"
    assert compare(paper, row(1100, 50)) == ("differs", "ours is 1.10 times the paper's; chance allows 14 pulls")
    assert compare(paper, row(1005, 50, stopped=99)).word == "cannot be compared"
    assert compare(paper, None) == ("cannot be compared", "not run")


def test_document(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(b"picture")
    table = Table(["a", "b"], [["x|y", "1"]])
    blocks: list[Block] = [Heading("A < B", 1), Paragraph("text & more"), table, Picture("p", "cap")]
    text = to_markdown(blocks)
    assert text == (
        "# A < B\n\ntext & more\n\n| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n\n![cap](figures/p.png)\n\n*cap*\n"
    )
    page = to_html(blocks, tmp_path, "A < B")
    for part in (
        "<h1>A &lt; B</h1>",
        "text &amp; more",
        '<th scope="row" class="left">x|y</th><td>1</td>',
        "base64,cGljdHVyZQ==",
    ):
        assert part in page


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trials of at most 300 pulls each."""
    small = {name: Run(**{**vars(run), "trials": 2, "max_pulls": 300}) for name, run in RUNS.items()}
    monkeypatch.setattr(module, "RUNS", small)


@pytest.mark.usefixtures("tiny")
def test_a_whole_report_and_resuming(tmp_path: Path) -> None:
    seen: list[tuple[str, Progress]] = []
    page = reproduce(tmp_path, watch=lambda name, progress: seen.append((name, progress)))
    assert {name for name, _ in seen} == set(RUNS)
    assert page == tmp_path / "report.html"
    html, text = page.read_text(), (tmp_path / "report.md").read_text()
    for part in PARTS.values():
        assert f"<h2>{part.title}</h2>" in html
        assert f"## {part.title}\n" in text
    assert html.count("data:image/png;base64,") == text.count(".png)") == 5
    assert "nan" not in text.lower().replace("dominan", "")
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg"}
    assert set(json.loads((tmp_path / "raw" / "notes.json").read_text())["seconds"]) == set(RUNS)
    assert Results.load(tmp_path / "raw" / "snw-mo-bai.parquet").complete
    seen.clear()
    reproduce(tmp_path, ["table-2"], watch=lambda name, progress: seen.append((name, progress)))
    assert seen == []
    assert "Table 3" not in (tmp_path / "report.md").read_text()


@pytest.mark.usefixtures("tiny")
def test_quick_is_marked_and_kept_apart(tmp_path: Path) -> None:
    page = reproduce(tmp_path, ["readings"], quick=True)
    assert page == tmp_path / "quick" / "report.html"
    assert "QUICK: few trials" in page.read_text()


@pytest.mark.usefixtures("tiny")
def test_an_interrupted_reproduction_keeps_what_it_has(tmp_path: Path) -> None:
    def interrupt(name: str, progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, ["readings"], watch=interrupt)
    assert len(Results.load(tmp_path / "raw" / "snw-mo-bai.parquet").trials) == 1
    assert reproduce(tmp_path, ["readings"]).exists()


def test_unknown_part(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"part must be one of table-1, .*, not 'table-9'"):
        reproduce(tmp_path, ["table-9"])
