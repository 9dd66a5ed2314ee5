"""Calls to a service that are too large for one transaction of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.service.serving import running

from mobai import Experiment, InputError
from mobai.cli.main import group

ARMS, OBJECTIVES = ["A", "B", "C"], ["click:bernoulli", "seconds:min:unknown-variance"]


def test_large_reports_are_refused_before_they_are_sent(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        test = Experiment.create(client.address, "x", ARMS, OBJECTIVES, max_samples=np.int64(9), seed=np.int64(1))  # type: ignore[arg-type]
        metrics, words = {"click": 1}, "a call to a service takes at most 5,000, not 5,001; tell them in several calls"
        with pytest.raises(InputError, match=f"rows: {words}"):
            test.record_all([("A", metrics)] * 5001)
        with pytest.raises(InputError, match=f"reports: {words}"):
            test.tell_all([(1, metrics)] * 5001)
        log = tmp_path / "log.csv"
        log.write_text("arm,click\n" + "A,1\nB,0\n" * 2501)
        call = ["create", "y", "--objective", "click:bernoulli", "--from", str(log), "--storage", client.address]
        refused = CliRunner().invoke(group, call).exception
        assert "--from: a service takes over at most 5,000 rows, not 5,002" in str(refused)
        assert client("GET", "/api/v1/experiments/y").code == 404
