"""Charts: what is drawn is where the numbers say, and is told in words, too."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from mobai import Experiment, views
from mobai.store.journal import MemoryJournal
from mobai.views.charts import Scale, drift_charts


def live(pulls: int, **options: Any) -> Experiment:
    test = Experiment.create(
        MemoryJournal(), "x", ["A", "B", "C"], ["score:gaussian=1", "t:min:gaussian=1"], seed=1, **options
    )
    rng = np.random.default_rng(0)
    for _ in range(pulls):
        for one in test.ask(2):
            place = "ABC".index(one.arm)
            values = {"score": rng.normal(place), "t": rng.normal(-place), "e": float(place == 0)}
            test.tell(one, {name: values[name] for name in test.problem.metric_names})
    return test


@pytest.mark.parametrize(
    ("numbers", "ticks"),
    [
        ([0.0, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([10.0, 45.0, math.inf], [10, 20, 30, 40]),
        ([5.0, 5.0], [2, 4, 6, 8]),
        ([], [-1, 0, 1]),
        ([math.nan, -math.inf], None),
        ([1e-6, 2e-6], None),
        ([-1e6, 1e6], None),
    ],
)
def test_scales(numbers: list[float], ticks: list[float] | None) -> None:
    scale = Scale(numbers)
    found = scale.ticks()
    assert 3 <= len(found) <= 8
    assert all(0 <= scale.place(tick) <= 100 for tick in found)
    assert scale.place(-math.inf) == scale.place(scale.low) == 0
    assert scale.place(math.inf) == scale.place(scale.high) == 100
    if ticks is not None and numbers != [] and numbers != [5.0, 5.0]:
        assert found == pytest.approx(ticks)


def test_a_forest_is_to_scale() -> None:
    status = live(30).status()
    html = views.forest(status, 0)
    bars = [
        tuple(map(float, found))
        for found in re.findall(r'class="interval" x1="([\d.]+)%" y1="50%" x2="([\d.]+)%".*?cx="([\d.]+)%"', html)
    ]
    lower, upper, means = status.intervals.lower[:, 0], status.intervals.upper[:, 0], status.means[:, 0]
    scale = Scale([*lower, *upper, *means])
    expected = [[scale.place(number) for number in row] for row in zip(lower, upper, means, strict=True)]
    assert np.array(bars) == pytest.approx(np.array(expected), abs=0.01)
    assert "<caption>score, more is better</caption>" in html
    assert "<caption>t, less is better</caption>" in views.forest(status, 1)
    assert html.count("(leads)") + html.count("(decided)") == 1


def test_limits_and_arms_that_are_out() -> None:
    status = live(150, guardrails=["e:bernoulli:at-most=0.2:eps=0.1"], delta=0.3).status()
    assert status.barred.tolist() == [True, False, False]
    html = views.forest(status, 2)
    # The limit and its tolerance, behind the bar of every arm.
    numbers = [0.2, 0.3, *(end for table in (status.means, *status.intervals[:2]) for end in table[:, 2])]
    scale = Scale(numbers)
    edges = re.findall(r'<line class="limit" x1="([\d.]+)%"', html)
    assert edges == [f"{scale.place(0.2):.4g}", f"{scale.place(0.3):.4g}"] * 3
    assert '<tr class="gone"><th scope="row"><span class="name">A</span> (breaks a limit)</th>' in html
    assert "<caption>e</caption>" in html


def test_the_zone_where_differences_do_not_matter() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], ["s:gaussian=1:eps=0.5", "t:min:gaussian=1:eps=0.25"])
    for one in test.ask(4):
        test.tell(one, {"s": float(one.arm == "A"), "t": float(one.arm == "A")})
    for m, (best, end) in enumerate([(1.0, 0.5), (0.0, 0.25)]):
        status = test.status()
        scale = Scale(
            [best, end, *(number for table in (status.means, *status.intervals[:2]) for number in table[:, m])]
        )
        low, high = sorted(scale.place(number) for number in (best, end))
        band = f'<rect class="eps-band" x="{low:.2f}%" y="0" width="{high - low:.2f}%" height="100%"/>'
        assert views.forest(status, m).count(band) == 2


def test_lines_end_where_the_series_does() -> None:
    test = live(40)
    series = test.series()
    html = views.evidence_chart(series)
    lines = re.findall(r'<polyline class="line-(\d)" points="([^"]*)"', html)
    assert [number for number, _ in lines] == ["0", "1"]
    x, y = map(float, lines[0][1].split()[-1].split(","))
    share = max(series.evidence[-1, 0], 0) / series.threshold
    top = 1.08 * max(1.0, min((series.evidence.clip(0) / series.threshold).max(), 1.5))
    assert [x, y] == pytest.approx([1000.0, 1000 * (1 - share / top)], abs=0.5)
    assert f"score <b>{share:.0%}</b></li>" in html
    shares = views.allocation_chart(series)
    assert f"A <b>{series.asked[-1, 0] / series.asked[-1].sum():.0%}</b></li>" in shares
    # What scripts draw is what is drawn.
    data = json.loads(unescape(re.search('data-lines="([^"]*)"', html).group(1)))  # type: ignore[union-attr]
    assert data["pulls"] == series.pulls.tolist()
    assert [data["start"] + one for one in data["times"]] == pytest.approx(series.at.tolist(), abs=0.11)
    assert data["columns"][0][-1] == pytest.approx(share, abs=5e-4)
    assert (data["low"], data["level"], data["names"]) == (0.0, 1.0, ["score", "t"])


def test_decisions_are_marked_where_they_were_made() -> None:
    test = live(200)
    status, series = test.status(), test.series()
    html = views.evidence_chart(series, status)
    marks = re.findall(r'<line class="mark" x1="([\d.]+)"', html)
    pulls = [decision.pull for decision in status.verdict.decisions if decision is not None]
    assert marks == [f"{1000 * pull / status.verdict.pulls:.1f}" for pull in pulls]
    assert len(marks) == 2
    assert "score <b>decided</b></li>" in html


def test_charts_go_on_to_where_the_experiment_is_now() -> None:
    test = live(200, delta=1e-9)
    status, series = test.status(), test.series()
    assert status.verdict.pulls > series.pulls[-1]  # a point is kept now and then
    for html, last in (
        (views.evidence_chart(series, status), min(status.verdict.evidence[0] / status.verdict.threshold[0], 1.5)),
        (views.allocation_chart(series, status), status.asked[0] / status.asked.sum()),
    ):
        data = json.loads(unescape(re.search('data-lines="([^"]*)"', html).group(1)))  # type: ignore[union-attr]
        decided = {one.pull for one in status.verdict.decisions if one} if "evidence" in html[:30] else set()
        assert data["pulls"] == sorted({*series.pulls.tolist(), status.verdict.pulls, *decided})
        assert len(data["times"]) == len(data["columns"][0]) == len(data["pulls"])
        assert data["columns"][0][-1] == round(float(last), 3)


def test_a_table_has_the_numbers_of_the_chart() -> None:
    series = live(40).series()
    html = views.allocation_chart(series)
    rows = re.findall(r'<th scope="row">([\d,]+)</th><td>(\d+)%</td>', html)
    assert len(rows) == 10
    for pull, share in rows:
        n = series.pulls.tolist().index(int(pull.replace(",", "")))
        assert share == f"{100 * series.asked[n, 0] / series.asked[n].sum():.0f}"
    assert rows[-1][0] == f"{series.pulls[-1]:,}"


def test_means_of_tenths_are_those_of_the_rewards() -> None:
    test = live(300)
    series, status = test.series(), test.status()
    records = [row for row in test.records() if row["status"] == "answered"]
    keys, (_, chart) = drift_charts(series, status)
    assert re.findall(r"</svg>(\w)</li>", keys) == ["A", "B", "C"]
    shown = re.findall(r'<tr><th scope="row">(\d+)</th><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td>', chart)
    total = int(series.pulls[-1])
    borders = [min(series.pulls.tolist(), key=lambda pull: abs(pull - total * k / 10)) for k in range(1, 10)]
    for (tenth, *means), low, high in zip(shown, [0, *borders], [*borders, len(records)], strict=True):
        assert tenth == str(shown.index((tenth, *means)) + 1)
        for arm, text in zip("ABC", means, strict=True):
            own = [row["t"] for row in records[low:high] if row["arm"] == arm]
            decimals = len(text.partition(".")[2])
            assert text == ("-" if len(own) < 5 else f"{round(sum(own) / len(own), decimals) + 0.0:.{decimals}f}")
    assert drift_charts(live(4).series(), live(4).status()) == ("", [])


def test_before_anything_was_told() -> None:
    test = live(0)
    assert "No reports yet." in views.evidence_chart(test.series())
    assert views.forest(test.status(), 0).count("<td>-</td>") == 3
    assert views.headline(test.status()) == "Nothing has been reported yet."


def test_the_one_sentence() -> None:
    test = live(2)
    assert re.fullmatch(
        r"(score|t) is open: .*; t is open: \w leads(, \d+ % of the evidence is in)?.*\.",
        views.headline(test.status()).replace("%", " %"),
    )
    test = live(200)
    assert views.headline(test.status()) == "You may stop. Best for score: C; best for t: C."
    test.close()
    assert views.headline(test.status()) == "Closed. Best for score: C; best for t: C."
