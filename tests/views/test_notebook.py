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
    assert cells(html)[:4] == ["objective", "answer", "evidence", "state"]
    assert cells(html)[4:6] == ["x&amp;y (more is better)", "&lt;b&gt;A"]
    assert html.count('<rect class="full" width="100.0%"') == 2
    assert "z (less is better)" in html
    assert f"stopped at pull {verdict.pulls}, delta = 0.05, certified" in html
    early = run_trial(TWO, Policy(), 0.05, max_pulls=4).verdict
    share = float(early.evidence[0] / early.threshold[0])
    assert f"<td>{max(share, 0):.0%} of the evidence is in</td>" in early._repr_html_()


def test_a_status_and_an_experiment_in_a_notebook() -> None:
    test = Experiment.create("memory:", "views <b>", ["A", "B"], ["click:bernoulli", "t:min:unknown-variance"])
    for one in test.ask(20):
        test.tell(one, {"click": one.id % 2, "t": one.id % 5})
    status, whole = test.status()._repr_html_(), test._repr_html_()
    delete("memory:", "views <b>")
    for html in (status, whole):
        assert "<b>views &lt;b&gt;</b>" in html
        assert html.count('<table class="forest">') == 2
        assert not re.search(r"<script|<link|https?:", html)
        assert set(re.findall(r"(?m)(?:^|<style>)([.\w]+) \{", html)) == {
            ".mobai",
            "body.mobai",
        }  # it styles nothing else
    assert status.count("<polyline") == 0
    assert whole.count("<polyline") == 2 + 2
    assert 'class="tradeoff"' in whole


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


def test_directions_are_those_of_the_objectives() -> None:
    verdict = run_trial(TWO, Policy(), 0.05).verdict
    assert [row[0] for row in views.verdict_table(verdict).rows] == ["x&y", "z (min)"]
    assert [row[0] for row in views.progress_table(verdict, None).rows] == ["x&y", "z (min)"]
    names = re.findall(r'<th scope="row">([^<]*)</th>', views.progress_chart(verdict))
    assert names == ["x&amp;y (more is better)", "z (less is better)"]
