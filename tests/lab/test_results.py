"""Results in files: read back, resumed, extended, and nobody else's overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.trials import POLICIES, SETTINGS, WORLD, rows

import mobai
from mobai import InputError, Results, TopTwo, simulate
from mobai.lab.plots import plot
from mobai.lab.simulate import Progress


def test_results_survive_a_file(reference: Results, tmp_path: Path) -> None:
    reference.save(tmp_path / "r.parquet")
    loaded = Results.load(tmp_path / "r.parquet")
    assert rows(loaded) == rows(reference)
    assert loaded.config == reference.config
    assert loaded.config["mobai"] == mobai.__version__
    assert loaded.instance == WORLD
    assert str(loaded.summary()) == str(reference.summary())
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]


def test_pandas(reference: Results) -> None:
    table = reference.to_pandas()
    assert len(table) == len(reference)
    assert table["pulls"].tolist() == [row["pulls"] for row in reference]
    assert reference.summary().to_pandas()["mean"].tolist() == [row.mean for row in reference.summary()]


def test_a_file_is_resumed_and_extended(reference: Results, tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    seen: list[Progress] = []
    simulate(WORLD, POLICIES, **{**SETTINGS, "trials": 5}, out=out, watch=seen.append)
    assert [progress.done for progress in seen] == list(range(1, 11))
    seen.clear()
    full = simulate(WORLD, POLICIES, **SETTINGS, out=out, watch=seen.append)
    assert [progress.done for progress in seen] == list(range(11, 25))
    assert rows(full) == rows(reference) == rows(Results.load(out))
    seen.clear()
    assert rows(simulate(WORLD, POLICIES, **SETTINGS, out=out, watch=seen.append)) == rows(reference)
    assert seen == []


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    simulate(WORLD, TopTwo(), trials=2, out=out)
    before = out.read_bytes()
    with pytest.raises(InputError, match="holds other results, seed is 0 there; name another file"):
        simulate(WORLD, TopTwo(), trials=2, out=out, seed=1)
    assert out.read_bytes() == before
    out.write_text("nothing of the kind")
    with pytest.raises(InputError, match="is not a file of simulation results"):
        simulate(WORLD, TopTwo(), trials=2, out=out)
    with pytest.raises(InputError, match="No such file"):
        Results.load(tmp_path / "none.parquet")
    with pytest.raises(InputError, match=r"cannot be written|No such file"):
        simulate(WORLD, TopTwo(), trials=1).save(tmp_path / "no" / "folder.parquet")


def test_fewer_trials_keep_those_there_are(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    simulate(WORLD, TopTwo(), trials=5, out=out)
    before = rows(Results.load(out))
    fewer = simulate(WORLD, TopTwo(), trials=2, out=out)
    for found in (fewer, Results.load(out)):
        assert rows(found) == before
        assert (found.config["trials"], found.complete) == (5, True)
        assert [row.trials for row in found.summary()] == [5] * len(found.summary())
    runs: list[int] = []
    assert len(simulate(WORLD, TopTwo(), trials=6, out=out, watch=lambda one: runs.append(one.done)).trials) == 6
    assert max(runs) == 6
    assert rows(Results.load(out))[: len(before)] == before


def test_nothing_finished_is_still_a_table(tmp_path: Path) -> None:
    nothing = Results(simulate(WORLD, TopTwo(), trials=1).config, ())
    nothing.save(tmp_path / "r.parquet")
    empty = Results.load(tmp_path / "r.parquet")
    assert list(empty.to_pandas()["pulls"]) == list(empty.summary().to_pandas()["mean"]) == []
    with pytest.raises(InputError, match="no finished trial to draw"):
        plot(empty)


def test_deltas_are_those_that_were_asked_for(tmp_path: Path) -> None:
    """Not 0.10000000000000002, which nobody would look for."""
    deltas = [0.3, 0.1, 0.05, 0.01, 1e-6]
    results = simulate(WORLD, TopTwo(), deltas=deltas, trials=1, out=tmp_path / "r.parquet")
    import pandas as pd

    for table in (results.to_pandas(), results.summary().to_pandas(), pd.read_parquet(tmp_path / "r.parquet")):
        assert sorted(set(table["delta"]), reverse=True) == deltas


def test_a_table_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Results in CSV replace results in CSV, and nothing else; it is said before anything is simulated."""
    out, runs = tmp_path / "mine.csv", list[int]()
    out.write_text("precious,data\n")
    with pytest.raises(InputError, match=r"mine\.csv: is there already, and holds something else; name another file"):
        simulate(WORLD, TopTwo(), trials=1, out=out, watch=lambda one: runs.append(one.done))
    assert (out.read_text(), runs) == ("precious,data\n", [])
    out.unlink()
    for _ in range(2):
        simulate(WORLD, TopTwo(), trials=1, out=out)
    assert out.read_text().startswith("rule,stopping,trial,delta,")
