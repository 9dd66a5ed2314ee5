"""A report is one file that loads nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.command import mobai
from tests.live.rounds import ARMS, OBJECTIVES, run

from mobai import Experiment


@pytest.fixture
def storage(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = Experiment.create(address, "a <b> & c", ARMS, OBJECTIVES, baseline="A")
    run(test, 60)
    return address


def test_a_page(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    out = str(tmp_path / "report.html")
    assert mobai(capsys, "report", "a <b> & c", "--out", out, "--storage", storage)[:2] == (0, f"{out}\n")
    html = Path(out).read_text()
    assert "<h1>a &lt;b&gt; &amp; c</h1>" in html
    assert html.count('<table class="forest">') == len(OBJECTIVES)
    # Evidence, allocation, and the tenths of every metric.
    assert html.count("<polyline") == len(OBJECTIVES) + len(ARMS) + len(OBJECTIVES) * len(ARMS)
    assert html.count('class="tradeoff"') == 1
    assert "against A" in html
    assert not re.search(r"<(script|link|img|iframe)\b|url\(|@import|https?://", html)
    status = Experiment.load(storage, "a <b> & c").status()
    assert f"{status.events} events in the journal; the hash of the last one is <code>{status.head}</code>." in html


def test_markdown(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    out = str(tmp_path / "report.md")
    assert mobai(capsys, "report", "a <b> & c", "--out", out, "--storage", storage)[0] == 0
    text = Path(out).read_text()
    assert text.startswith("# a <b> & c\n\n")
    assert "| objective |" in text
    assert "certified, the error probability is proven" in text.replace("\n", " ")


def test_another_kind_of_file(capsys: pytest.CaptureFixture[str], storage: str) -> None:
    code, _, err = mobai(capsys, "report", "a <b> & c", "--out", "x.pdf", "--storage", storage)
    assert (code, err) == (2, "mobai: --out must end with .html or .md, not 'x.pdf'\n")


def test_pictures_of_the_same_charts(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    page, results = str(tmp_path / "x.html"), str(tmp_path / "r.parquet")
    assert mobai(capsys, "plot", "a <b> & c", "--out", page, "--storage", storage)[:2] == (0, f"{page}\n")
    assert Path(page).read_text().count('<table class="forest">') == len(OBJECTIVES)
    simulate = ("simulate", "ads", "--rule", "top-two", "--rule", "uniform", "--trials", "3", "--out", results)
    assert mobai(capsys, *simulate)[0] == 0
    assert mobai(capsys, "plot", results, "--out", page)[:2] == (0, f"{page}\n")
    html = Path(page).read_text()
    assert "<h1>r.parquet</h1>" in html
    assert re.findall(r'<span class="name">([\w-]+)</span></th><td class="bar">', html) == ["top-two", "uniform"]
    assert not re.search(r"<(script|link|img|iframe)\b|url\(|@import|https?://", html)


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str], storage: str, tmp_path: Path) -> None:
    out = str(tmp_path / "no" / "such" / "folder.html")
    code, _, err = mobai(capsys, "report", "a <b> & c", "--out", out, "--storage", storage)
    assert (code, err) == (2, f"mobai: --out: {out}: No such file or directory\n")
