"""What people are shown."""

from __future__ import annotations

import json
import re

from mobai import Experiment, Instance, Policy, delete, lower_bound, simulate, views
from mobai.lab.trial import run_trial

TWO = Instance([[1.0, 0.0], [0.0, 1.0]], arms=["<b>A", "B"], objectives=["x&y", "z:min"])


def cells(html: str) -> list[str]:
    return re.findall("<t[dh](?: [^>]*)?>(.*?)</t[dh]>", html)


def test_a_verdict_in_a_notebook() -> None:
    verdict = run_trial(TWO, Policy(), 0.05).verdict
    html = verdict._repr_html_()
    assert cells(html)[:5] == ["objective", "best arm", "decided at pull", "evidence", "needed"]
    assert cells(html)[5:7] == ["x&amp;y", "&lt;b&gt;A"]
    assert "z (min)" in html
    assert f"stopped at pull {verdict.pulls}" in html
    assert "certified" in html


def test_a_status_in_a_notebook() -> None:
    test = Experiment.create("memory:", "views", ["A", "B"], ["click:bernoulli"])
    html = test.status()._repr_html_()
    delete("memory:", "views")
    assert "views: running, 0 pulls, 0 pending" in html
    assert cells(html)[-6:] == ["A", "-", "0", "B", "-", "0"]


def test_a_bound_in_a_notebook() -> None:
    bound = lower_bound(TWO)
    html = bound._repr_html_()
    assert "samples per nat of evidence" in html
    assert "&lt;b&gt;A" in html


def test_a_summary_in_a_notebook_has_the_cells_of_its_table() -> None:
    summary = simulate(TWO, "top-two", trials=3).summary()
    assert cells(summary._repr_html_())[-10:] == list(summary.table.rows[-1])
    for row in summary.table.rows:
        assert all(cell in str(summary) for cell in row)


def test_json_has_no_infinity() -> None:
    verdict = run_trial(TWO, Policy(), 0.05, max_pulls=1).verdict
    intervals = Policy().start(TWO.problem).intervals(0.05)
    text = json.dumps([views.verdict_json(verdict), views.intervals_json(TWO.problem, intervals)], allow_nan=False)
    assert "null" in text
