"""A log without a word about its columns: what they seem to be is said, and nothing of it is certified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command import mobai

from mobai import analyse
from mobai.analysis.guess import guess
from mobai.errors import InputError

ROWS = [
    {
        "id": n + 1,
        "variant": "AB"[n % 2],
        "country": "",
        "click": int(n % 2 == 0 or n % 10 == 1),
        "loadMs": 100 + n % 37 / 3,
    }
    for n in range(200)
]


def log(path: Path, rows: list[dict[str, Any]] = ROWS) -> str:
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_columns_are_guessed() -> None:
    found = guess(ROWS)
    assert found.arm == "variant"
    assert found.objectives == ("click:bernoulli", "loadMs:min:unknown-variance")


def test_a_column_of_texts_names_the_arm() -> None:
    rows = [{"colour": row["variant"], "signup": row["click"], "when": f"2026-01-{n % 28 + 1:02}T{n}"}
            for n, row in enumerate(ROWS)]  # fmt: skip
    assert guess(rows)[:2] == ("colour", ("signup:bernoulli",))


@pytest.mark.parametrize(
    ("rows", "about"),
    [
        ([{"x": 1.5, "y": 2}, {"x": 2.5, "y": 1}], "which column names the arm"),
        (
            [{"colour": c, "shape": s, "n": n} for n, (c, s) in enumerate([("a", "b"), ("b", "a")] * 4)],
            "colour or shape may be",
        ),
        ([{"arm": "a", "note": "x"}, {"arm": "b", "note": "y"}], "seems to be a metric"),
    ],
)
def test_what_cannot_be_guessed_is_said(rows: list[dict[str, Any]], about: str) -> None:
    with pytest.raises(InputError, match=about):
        guess(rows)


def test_the_command_shows_the_guess_and_goes_no_further(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, said = mobai(capsys, "analyse", log(tmp_path / "log.jsonl"))
    assert (code, out) == (2, "")
    assert "variant seems to name the arm" in said
    assert "--arm-column variant --objective click:bernoulli --objective loadMs:min:unknown-variance" in said


def test_a_guess_is_never_certified(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = log(tmp_path / "log.jsonl")
    code, out, _ = mobai(capsys, "analyse", file, "--yes", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["certified"] is False
    assert any("guessed" in remark for remark in facts["remarks"])
    stated = mobai(capsys, "analyse", file, "--arm-column", "variant", "--metric", "click:bernoulli", "--json")
    assert json.loads(stated[1])["certified"] is True


def test_ratings_and_money_are_in_a_range() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"arm": "AB"[n % 2], "stars": int(rng.integers(1, 6)), "money": float((rng.random() < 0.2) * 10 * rng.random())}
        for n in range(300)
    ]
    stars, money = guess(rows).objectives
    assert stars == "stars:bounded=1..5"
    assert money.startswith("money:bounded=0..")


def test_python_says_what_the_columns_seem_to_be() -> None:
    with pytest.raises(
        InputError, match=r"objectives must be named; they seem to be \['click:bernoulli'.*arm='variant'"
    ):
        analyse(ROWS)


def test_yes_and_no_are_numbers_to_be() -> None:
    with pytest.raises(InputError, match="write 1 for yes and 0 for no"):
        analyse([{"arm": "A", "x": "no"}, {"arm": "B", "x": "yes"}], ["x:bernoulli"])
