"""Data frames go in wherever rows do, and come out as files that others open."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.live.rounds import new
from tests.service.serving import running

from mobai import Experiment, InputError, Instance, analyse, simulate

Frame = Callable[[dict[str, list[Any]]], Any]
FRAMES: dict[str, Frame] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.fixture(params=list(FRAMES))
def frame(request: pytest.FixtureRequest) -> Frame:
    return FRAMES[request.param]


def test_logs(frame: Frame) -> None:
    columns: dict[str, list[Any]] = {"arm": ["A", "B"] * 60, "signup": [1, 0] * 60, "score": [0.5, None] * 60}
    found = analyse(frame(columns), ["signup:bernoulli", "score:bounded=0..1"])
    rows = [{"arm": "AB"[n % 2], "signup": 1 - n % 2, "score": None if n % 2 else 0.5} for n in range(120)]
    expected = analyse(rows, ["signup:bernoulli", "score:bounded=0..1"])
    assert found.verdict.decisions == expected.verdict.decisions
    assert found.counts.tolist() == [[60, 60], [60, 0]]
    assert found.missing.tolist() == expected.missing.tolist() == [[0, 0], [0, 60]]


def tells(test: Experiment, frame: Frame) -> None:
    test.ask(3)
    test.tell_all(frame({"id": [1, 2], "click": [1.0, 0.0], "latency": [80.0, None]}))
    test.tell_all(frame({"id": [2], "latency": [70.0]}))
    test.record_all(frame({"arm": ["A", "B"], "click": [1, 0], "latency": [60.5, None]}))
    told = [(row["status"], row["click"], row["latency"]) for row in test.records()]
    expected = [("answered", 1.0, 80.0), ("answered", 0.0, 70.0), ("pending", None, None)]
    assert told == [*expected, ("answered", 1.0, 60.5), ("answered", 0.0, None)]
    cases: list[tuple[dict[str, list[Any]], str]] = [
        ({"click": [1.0]}, "reports: row 1 must have an id or a unit"),
        ({"id": ["x"], "click": [1.0]}, "id must be a whole number, not 'x'"),
        ({"id": [3], "clicks": [1.0]}, "clicks"),
    ]
    for wrong, words in cases:
        with pytest.raises(InputError, match=words):
            test.tell_all(frame(wrong))
    with pytest.raises(InputError, match="row 1: the arm is missing"):
        test.record_all(frame({"click": [1.0]}))


def test_experiments(frame: Frame) -> None:
    tells(new(), frame)


def test_experiments_of_a_service(frame: Frame, tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        tells(new(client.address), frame)


def test_what_was_exported_can_be_told(frame: Frame) -> None:
    test = new()
    test.ask(2)
    rows = [{**row, "click": 1.0, "latency": 50.0} for row in test.records()]
    test.tell_all(frame({key: [row[key] for row in rows] for key in rows[0]}))
    assert test.status().pending == 0


def test_two_columns_of_a_name() -> None:
    twice = pd.DataFrame([["A", 1, 2]], columns=["arm", "x", "x"])
    with pytest.raises(InputError, match="x"):
        analyse(twice, ["x:bernoulli"])


def test_results_open_in_duckdb(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    results = simulate(Instance([[1.0, 0.0], [0.0, 1.0]]), ["top-two", "uniform"], deltas=[0.1], trials=4, out=out)
    query = f"SELECT rule, count(*), avg(pulls) FROM '{out}' GROUP BY rule ORDER BY rule"
    found = duckdb.connect().execute(query).fetchall()
    expected = results.to_pandas().groupby("rule")["pulls"].agg(["count", "mean"])
    assert found == [(rule, *row) for rule, row in zip(expected.index, expected.itertuples(index=False), strict=True)]


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array])
def test_one_column_is_no_table(make: Any) -> None:
    with pytest.raises(
        InputError, match=r"rows must be a table with named columns, not |data must be at least one row"
    ):
        analyse(make([1, 0]), ["click:bernoulli"])


def test_polars_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = pl.DataFrame({"arm": ["A", "B", "A"], "click": [1, 0, None]})
    rows = [{"arm": "A", "click": 1}, {"arm": "B", "click": 0}, {"arm": "A", "click": None}]
    assert str(analyse(frame, ["click:bernoulli"])) == str(analyse(rows, ["click:bernoulli"]))


def test_ids_of_a_merged_frame() -> None:
    """Where a merge made floats of them."""
    test = Experiment.create("memory:", "merged ids", ["A", "B"], ["click:bernoulli"])
    test.ask(2)
    test.tell_all(pd.DataFrame({"id": [1.0, 2.0], "click": [1, 0]}))
    assert test.status().pending == 0
    with pytest.raises(InputError, match=r"id must be a whole number, not 1\.5"):
        test.tell_all(pd.DataFrame({"id": [1.5], "click": [1]}))
