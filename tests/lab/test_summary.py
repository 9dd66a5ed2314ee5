"""The table of a simulation by its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.lab.trials import WORLD, rows

import mobai
from mobai import Instance, Results, Uniform, simulate


def test_summary_by_its_definition(reference: Results) -> None:
    summary = reference.summary()
    assert len(summary) == 8
    for row in summary:
        mine = [r for r in rows(reference) if (r["rule"], r["stopping"]) == (row.rule, row.stopping)]
        times = np.array([r["pulls"] for r in mine if r["log_inv_delta"] == row.log_inv_delta])
        wrong = sum(not r["correct"] for r in mine if r["log_inv_delta"] == row.log_inv_delta)
        assert row.mean == pytest.approx(times.mean())
        assert row.sd == pytest.approx(times.std(ddof=1))
        assert row.mean_interval == pytest.approx(stats.t.interval(0.95, 11, times.mean(), stats.sem(times)))
        exact = stats.binomtest(wrong, 12).proportion_ci(0.95, "exact")
        assert row.error_interval == pytest.approx((exact.low, exact.high))
        assert row.bound == pytest.approx(mobai.lower_bound(WORLD).samples(log_inv_delta=row.log_inv_delta))
        assert row.ratio == pytest.approx(row.mean / (row.bound or 0))
        assert row.certified == (row.stopping == "mixture")
    assert "empirical (not certified)" in str(summary)
    assert "lower bound" in str(summary)


def test_unstopped_trials_and_ties_are_said() -> None:
    tied = simulate(Instance([[1.0], [1.0]]), Uniform(), trials=4, max_pulls=50, deltas=1e-6).summary()
    (row,) = tied
    assert (row.stopped, row.mean, row.error, row.bound, row.ratio) == (0, 50.0, 0.0, None, None)
    assert "4 (4 unstopped)" in str(tied)
    (single,) = simulate(WORLD, Uniform(), trials=1).summary()
    assert single.sd == 0.0
    assert single.mean_interval == (-np.inf, np.inf)
