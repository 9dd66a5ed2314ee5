"""Charts: what is drawn is where the numbers say, and is told in words, too."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from mobai import Experiment, views
from mobai.live.journal import MemoryJournal
from mobai.views.charts import Scale


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
    assert html.count('class="limit"') == 3
    assert '<tr class="gone"><th scope="row">A (breaks a limit)</th>' in html
    assert "<caption>e</caption>" in html


def test_lines_end_where_the_series_does() -> None:
    test = live(40)
    series = test.series()
    html = views.evidence_chart(series)
    lines = re.findall(r'<polyline class="line-(\d)"[^>]* points="([^"]*)"', html)
    assert [number for number, _ in lines] == ["0", "1"]
    x, y = map(float, lines[0][1].split()[-1].split(","))
    share = max(series.evidence[-1, 0], 0) / series.threshold
    top = 1.08 * max(1.0, (series.evidence.clip(0) / series.threshold).max())
    assert [x, y] == pytest.approx([1000.0, 1000 * (1 - share / top)], abs=0.1)
    assert f"score {share:.0%}</li>" in html
    assert "score decided</li>" in views.evidence_chart(series, {"score"})
    shares = views.allocation_chart(series)
    assert f"A {series.asked[-1, 0] / series.asked[-1].sum():.0%}</li>" in shares


def test_before_anything_was_told() -> None:
    test = live(0)
    assert "nothing has been reported yet" in views.evidence_chart(test.series())
    assert views.forest(test.status(), 0).count("<td>-</td>") == 3
    assert views.headline(test.status()) == "Nothing has been reported yet."


def test_the_one_sentence() -> None:
    test = live(2)
    assert re.fullmatch(
        r"(score|t) is open: .*; t is open: \w leads(, \d+ % of the evidence is in)?.*\.",
        views.headline(test.status()).replace("%", " %"),
    )
    test = live(200)
    assert views.headline(test.status()) == "Stop for score (C) and t (C)."
    test.close()
    assert views.headline(test.status()) == "Closed. Decided: score (C) and t (C)."
