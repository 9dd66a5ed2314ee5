"""The page about the reproduction says what the report that is kept beside it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2] / "docs" / "reproduction"
PAGE = " ".join((HOME / "index.md").read_text(encoding="utf-8").split())
REPORT = (HOME / "report.md").read_text(encoding="utf-8")

Cells = list[list[str]]


def tables(heading: str) -> list[Cells]:
    """Return the rows of every table in a section of the report, without their headings."""
    section = re.split(r"^## ", REPORT.partition(f"\n## {heading}")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [[[cell.strip() for cell in line.split("|")[1:-1]] for line in one.splitlines()[2:]] for one in found]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def means(rows: Cells) -> dict[tuple[str, str, str], float]:
    """Return mean pulls by rule, threshold and log(1/delta)."""
    return {(rule, threshold.partition(" ")[0], x): number(mean) for rule, threshold, x, _, mean, *_ in rows}


def test_cells_that_agree() -> None:
    cells = [*tables("Table 2")[0], *tables("Table 3")[0]]
    agree = [row[0] for row in cells if row[6] == "agrees"]
    assert f"{len(agree)} of the {len(cells)} comparisons of Tables 2 and 3 agree" in PAGE
    assert all(rule.startswith("Baseline") for rule in agree)
    ratios = [number(row[3]) / number(row[2].split()[0]) for row in cells if row[0].startswith("Baseline")]
    assert f"our Baseline takes {min(ratios):.2f} to {max(ratios):.2f} times the paper's pulls" in PAGE
    ours = {row[0]: row[3] for row in cells if row[1] == "delta = 0.1"}
    assert f"({ours['MO-BAI']} against {ours['Baseline, iter=20']} pulls)" in PAGE
    own = [number(row[3]) / number(row[2].split()[0]) for row in cells if row[0] == "MO-BAI"]
    assert f"MO-BAI needs {min(own):.2f} to {max(own):.2f} of the paper's pulls" in PAGE


def test_beyond_the_paper() -> None:
    synthetic, snw = (means(rows) for rows in tables("Beyond the paper"))
    shares = [one["top-two", "empirical", "2.303"] / one["mo-bai", "empirical", "2.303"] for one in (synthetic, snw)]
    assert f"{shares[0]:.2f} of them on the synthetic data and {shares[1]:.2f} on SNW" in PAGE
    price = [
        one["top-two", "mixture", x] / one["top-two", "empirical", x]
        for x in ("2.303", "100")
        for one in (synthetic, snw)
    ]
    assert f"a factor of {price[0]:.1f} on the synthetic data and {price[1]:.1f} on SNW at delta = 0.1" in PAGE
    assert f"and of {price[2]:.2f} and {price[3]:.2f} at log(1/delta) = 100" in PAGE
    for one in (synthetic, snw):
        assert one["top-two", "theory", "2.303"] > 1000 * one["top-two", "empirical", "2.303"]
        for x in ("2.303", "100"):
            assert one["top-two", "empirical", x] < one["mo-bai", "empirical", x]


def test_who_stops_earlier() -> None:
    comparisons = tables("The printed slips")[1]
    earlier = {data: {row[5] for row in comparisons if row[0] == data} for data in ("synthetic", "SNW")}
    assert earlier == {"synthetic": {"D-Tracking"}, "SNW": {"MO-BAI"}}
    etas = [number(row[4]) for row in tables("Figure 2")[0]]
    assert max(etas) / min(etas) == pytest.approx(1.04, abs=0.005)


def test_how_it_was_made() -> None:
    runs = tables("Configuration")[0]
    few = sorted({int(row[5]) for row in runs} - {100})
    assert (
        f"Rules have 100 trials (the paper: 3 in Table 2 and the figures), the slowest runs {few[0]} to {few[-1]}"
        in PAGE
    )
    (minutes,) = re.findall(r"took ([\d.]+) minutes", REPORT)
    assert f"took {minutes} minutes on two otherwise idle cores" in PAGE
    assert float(minutes) <= 30
