"""Forecasts of arms on the same things, against what it took."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mobai import Problem
from mobai.engine.paired import PairedEngine
from mobai.problem import Design
from mobai.rules.stopping import Paired


def race(metric: str, seed: int, gap: float, size: int | None = None) -> list[float | None]:
    """Return the forecasts of a race, three times a hundred measurements apart, over what was still to come."""
    problem = Problem(3, [metric], design=Design("items", size) if size else Design("stream"))
    engine = PairedEngine(problem, Paired(), log_inv_delta=math.log(20), ahead=None)
    rng, forecasts = np.random.default_rng(seed), list[tuple[int, float]]()
    while not engine.stopped():
        arm = engine.choose(rng)
        difficulty = np.random.default_rng((seed, int(engine.comparison.until[arm, 0]))).uniform(0.3, 0.7)
        engine.tell(engine.ask(arm), [float(np.clip(difficulty + 0.06 * rng.normal() + gap * arm, 0, 1))])
        found = engine.forecast()
        if engine.told % 10 == 0 and found is not None:
            forecasts.append((engine.told, found.samples))
    whole = engine.told
    half = [forecast / (whole - told) for told, forecast in forecasts if whole / 3 < told < 2 * whole / 3]
    return [min(half), float(np.median(half)), max(half)]


@pytest.mark.parametrize("metric", ["s:bounded=0..1", "s:wins", "s:unknown-variance", "s:gaussian=0.14"])
def test_half_way_a_forecast_is_near_what_is_still_to_come(metric: str) -> None:
    medians = [race(metric, seed, 0.05)[1] for seed in range(10)]
    assert 0.5 < np.median(np.array(medians, float)) < 2.0


def test_a_finite_benchmark_is_never_forecast_to_take_more_than_there_is() -> None:
    problem = Problem(2, ["s:bounded=0..1"], design=Design("items", 50))
    engine, rng = PairedEngine(problem, Paired(), log_inv_delta=math.log(20), ahead=None), np.random.default_rng(0)
    while not engine.stopped():
        engine.tell(engine.ask(engine.choose(rng)), [float(rng.random())])
        found = engine.forecast()
        assert found is None or found.samples <= 100 - engine.told


def test_nearly_equal_arms_are_known_to_take_long() -> None:
    """More than ten times what was spent: that is what the advice to end in a tie rests on."""
    problem = Problem(2, ["s:bounded=0..1"], design=Design("stream"))
    engine, rng = PairedEngine(problem, Paired(), log_inv_delta=math.log(20), ahead=None), np.random.default_rng(3)
    far = 0
    for _ in range(1000):
        engine.tell(engine.ask(engine.choose(rng)), [float(rng.random())])
        found = engine.forecast()
        far += found is not None and found.samples > 5 * engine.told
    assert far > 500
