"""``mobai plan``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import mobai

from mobai import lower_bound
from mobai.lab.instances import ads


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


def test_races_are_planned_from_a_pilot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng, file = np.random.default_rng(0), tmp_path / "pilot.csv"
    levels = rng.random(60) * 0.6
    rows = [
        f"{arm},q{n},{levels[n] + gain:.4f}" for n in range(60) for arm, gain in (("a", 0.1), ("b", 0.2), ("c", 0.05))
    ]
    file.write_text("\n".join(["model,question,score", *rows, "a,only,0.5"]))
    words = ("plan", str(file), "--arm-column", "model", "--item-column", "question", "--metric", "score:bounded=0..1")
    code, out, _ = mobai(capsys, *words, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["all"] == 180
    assert facts["measurements"]["items"][2] <= 180
    assert facts["measurements"]["items"][0] <= facts["measurements"]["items"][1]
    code, out, _ = mobai(capsys, *words)
    assert "these 60 items, and no others" in out
    assert mobai(capsys, "plan", "ads", "--metric", "x:bernoulli")[2].strip().endswith("an instance states its own")
