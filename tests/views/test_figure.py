"""Figures show themselves in notebooks, with no magic line."""

from __future__ import annotations

from typing import Any

import pytest

import mobai
from mobai.live.plot import plot_series
from mobai.views.figure import new_figure


def figures() -> list[Any]:
    rows = [{"arm": "ab"[n % 2], "click": n % 2} for n in range(20)]
    test = mobai.Experiment.create("memory:", "figures", ["a", "b"], ["click:bernoulli"])
    test.tell(test.ask()[0], {"click": 1})
    series = test.series()
    mobai.delete("memory:", "figures")
    results = mobai.simulate(mobai.Instance([[1.0], [0.0]]), "uniform", trials=2)
    return [results.plot(), mobai.analyse(rows, ["click:bernoulli"]).plot(), plot_series(series)]


@pytest.mark.parametrize("figure", range(3))
def test_they_are_pictures(figure: int) -> None:
    assert figures()[figure]._repr_png_().startswith(b"\x89PNG")


def test_they_are_figures_like_any_other() -> None:
    from matplotlib.figure import Figure

    made = new_figure(figsize=(2, 2))
    assert isinstance(made, Figure)
    assert made.get_size_inches().tolist() == [2.0, 2.0]
    made.subplots().plot([1, 2])
