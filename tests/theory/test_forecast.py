from __future__ import annotations

import numpy as np
import pytest

from mobai import Instance, Policy, Uniform, lower_bound
from mobai.lab.trial import run_trial
from mobai.theory.forecast import forecast_samples


def test_forecast_is_where_a_noise_free_run_stops() -> None:
    instance = Instance([[1.0], [0.0]])
    total = forecast_samples(instance, np.array([0.5, 0.5]), np.log(20))
    session = Policy(Uniform()).start(instance.problem)
    while not session.verdict(0.05).stopped:
        arm = session.ask()
        session.tell(arm, instance.means[arm])
    assert abs(session.observations.told - total) <= 2


def test_every_arm_is_counted_at_least_once() -> None:
    instance = Instance([[1e6], [0.0], [0.0]])
    assert forecast_samples(instance, np.array([1.0, 0.0, 0.0]), 3.0) >= 3


def test_forecast_is_near_what_runs_need() -> None:
    """Fifteen seeded runs: the mean lies within a third of the forecast (false alarms: none, the runs are fixed)."""
    instance = Instance([[1.0, 0.0], [0.5, 0.6], [0.0, 1.0], [0.4, 0.3]])
    forecast = forecast_samples(instance, lower_bound(instance).weights, np.log(20))
    pulls = [run_trial(instance, Policy(), 0.05, seed=seed).verdict.pulls for seed in range(15)]
    assert np.mean(pulls) == pytest.approx(forecast, rel=1 / 3)
