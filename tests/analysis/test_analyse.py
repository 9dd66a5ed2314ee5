"""Data that is already there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mobai import GLR, Experiment, InputError, Policy, Problem, Uniform, analyse
from mobai.store.journal import MemoryJournal

OBJECTIVES = ["signup:bernoulli", "revenue:bounded=0..500"]


def rows(count: int = 900, seed: int = 1) -> list[dict[str, Any]]:
    rng, found = np.random.default_rng(seed), []
    for n in range(count):
        arm = "ABC"[n % 3]
        signup = int(rng.random() < {"A": 0.2, "B": 0.6, "C": 0.3}[arm])
        late = rng.random() < 0.1
        found.append({"variant": arm, "signup": signup, "revenue": None if late else signup * rng.uniform(10, 300)})
    return found


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    frame = pd.DataFrame(rows())
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_json(tmp_path / "log.jsonl", orient="records", lines=True, double_precision=15)
    frame.to_json(tmp_path / "log.json", orient="records", double_precision=15)
    frame.to_parquet(tmp_path / "log.parquet")
    return {path.suffix: path for path in tmp_path.iterdir()}


def test_every_form_says_the_same(files: dict[str, Path]) -> None:
    known = analyse(rows(), OBJECTIVES, arm="variant")
    assert known.verdict.decisions[0] is not None
    assert known.verdict.answers[0] == "B"
    assert known.counts[:, 0].tolist() == [300, 300, 300]
    assert (known.counts + known.missing == 300).all()
    for data in (pd.DataFrame(rows()), *files.values()):
        found = analyse(data, OBJECTIVES, arm="variant")
        assert str(found) == str(known)
        np.testing.assert_allclose(found.means, known.means, rtol=1e-9)


def test_it_decides_as_a_session_would() -> None:
    log = rows()
    session = Policy(Uniform(), GLR()).start(Problem(["A", "B", "C"], OBJECTIVES))
    for row in log:
        session.record(row["variant"], {"signup": row["signup"], "revenue": row["revenue"]})
    found = analyse(log, OBJECTIVES, arm="variant", delta=0.01, ordered=True)
    assert found.verdict.decisions == session.verdict(0.01).decisions
    assert found.verdict.evidence.tolist() == session.verdict(0.01).evidence.tolist()


def test_the_forecast_is_of_the_right_size() -> None:
    """Of the samples that a decision takes in the end, over twenty logs: it is a forecast, within a factor of three."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        log = [{"arm": "AB"[n % 2], "x": rng.normal(0.4 * (n % 2), 1.0)} for n in range(2000)]
        early = analyse(log[:60], ["x:gaussian=1"], delta=0.01)
        late = analyse(log, ["x:gaussian=1"], delta=0.01, ordered=True)
        assert early.forecast is not None
        assert late.verdict.decisions[0] is not None
        if early.verdict.stopped:
            assert early.forecast.samples == 0
        elif math.isfinite(early.forecast.samples):
            ratios.append((60 + early.forecast.samples) / late.verdict.decisions[0].pull)
    assert len(ratios) > 10
    assert 1 / 3 < np.median(ratios) < 3


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([], {}, "data must be at least one row"),
        (7, {}, "data must be a file, a data frame or rows, not int"),
        ([{"variant": "A", "signup": 1}], {}, "objectives: there is no column 'revenue'"),
        (
            [{"arm": "A", "signups": 1}],
            {"arm": "arm"},
            "there are arm, signups; did you mean 'signups'?",
        ),
        (rows(2), {"arm": "varaint"}, "arm: there is no column 'varaint'; there are variant"),
        (
            [*rows(3), {"variant": "A", "signup": 2, "revenue": 1}],
            {},
            "row 4: metric 'signup' must be 0 or 1",
        ),
        ([*rows(3), {"variant": "A", "signup": "yes"}], {}, "row 4: signup must be a number, not 'yes'"),
        ([*rows(3), {"signup": 1, "revenue": 1}], {}, "row 4: the arm is missing"),
        (rows(9), {"arms": ["A", "B"]}, "row 3: arm must be one of A, B, not 'C'"),
        (rows(1), {}, "arms: at least two are needed"),
        (rows(9), {"delta": 2}, "delta must be a number between 0 and 1"),
    ],
)
def test_bad_logs(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as found:
        analyse(data, OBJECTIVES, **{"arm": "variant", **options})
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("variant,signup,revenue\nA,1\n", "row 2 has 2 cells, the first row has 3"),
        ("variant,signup,signup\nA,1,0\n", "the column 'signup' appears twice"),
        ('{"variant": "A", "signup": 1, "signup": 0}', "the key 'signup' appears twice"),
        ('{"variant": "A"', "is neither CSV nor JSON lines"),
        ("[1, 2]", "row 1 is not a JSON object"),
        ("", "the table is empty"),
        ("[]", "has no rows"),
        ("variant,signup,revenue\n", "has no rows"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    with pytest.raises(InputError) as found:
        analyse(path, OBJECTIVES, arm="variant")
    assert str(found.value).startswith(str(path))
    assert found.value.source == str(path)
    assert message in str(found.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("no.csv", "no.parquet"):
        with pytest.raises(InputError, match="No such file"):
            analyse(tmp_path / name, OBJECTIVES)
    (tmp_path / "bad.parquet").write_text("x" * 100)
    with pytest.raises(InputError, match="is not a Parquet file"):
        analyse(tmp_path / "bad.parquet", OBJECTIVES)


def test_it_can_be_drawn(tmp_path: Path) -> None:
    found = analyse(rows(60), OBJECTIVES, arm="variant")
    found.plot(tmp_path / "means.svg")
    assert "<svg" in (tmp_path / "means.svg").read_text()
    assert len(found.plot().axes) == 2
    with pytest.raises(InputError, match="must end in"):
        found.plot(tmp_path / "means.gif")


def test_it_speaks() -> None:
    found = analyse(rows(100), OBJECTIVES, arm="variant")
    assert "their order does not matter" in str(found)
    assert "Not looked for, since the order of the rows is not known: drift, outliers." in str(found)
    assert "Looked for, and not found" in str(analyse(rows(100), OBJECTIVES, arm="variant", ordered=True))
    assert "more samples" in str(found)
    assert "<table>" in found._repr_html_()


def test_a_log_becomes_an_experiment() -> None:
    """Its rows are answers like others: the same verdict as telling them one by one, and replay agrees."""
    log = [row for row in rows(400) if row["revenue"] is not None]
    taken = Experiment.create(MemoryJournal(), "log", ["A", "B", "C"], OBJECTIVES, reserve=0)
    taken.record_all([(row["variant"], {"signup": row["signup"], "revenue": row["revenue"]}) for row in log])
    found = analyse(log, OBJECTIVES, arm="variant")
    np.testing.assert_array_equal(taken.verdict().evidence, found.verdict.evidence)
    (assignment,) = taken.ask()
    assert assignment.id == len(log) + 1
    again = taken.replay()
    assert again.verdict.evidence.tolist() == taken.verdict().evidence.tolist()
    assert json.dumps(taken.records()[0])


def test_recording() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["A", "B"], OBJECTIVES)
    assignment = test.record("B", {"signup": 1})
    test.tell(assignment, {"revenue": 20.0})
    assert test.status().rewards.tolist() == [[0, 0], [1, 1]]
    assert test.status().pending == 0
    for arm, metrics, message in (
        ("C", {"signup": 1}, "arm must be one of A, B, not 'C'"),
        (0, {"signup": 1}, "arm must be a name, not 0"),
        ("A", {}, "metrics must hold at least one number"),
        ("A", {"signup": 2}, "'signup' must be 0 or 1"),
    ):
        with pytest.raises(InputError, match=message):
            test.record(arm, metrics)  # type: ignore[arg-type]
    assert len(test.history()) == 3


def test_words_and_spaces_in_cells(tmp_path: Path) -> None:
    """TRUE and False are numbers in any case, and cells of spaces are empty: in CSV, and in JSON."""
    (tmp_path / "log.csv").write_text("arm,x\nA,TRUE\nB,False\nA, \nB,true\n")
    (tmp_path / "log.json").write_text(
        '[{"arm":"A","x":"True"},{"arm":"B","x":" FALSE "},{"arm":"A","x":"  "},{"arm":"B","x":true}]'
    )
    for name in ("log.csv", "log.json"):
        found = analyse(tmp_path / name, ["x:bernoulli"])
        assert found.counts.tolist() == [[1], [2]]
        assert found.means.tolist() == [[1.0], [0.5]]
        assert found.missing.tolist() == [[1], [0]]


def test_a_column_is_a_name() -> None:
    with pytest.raises(InputError, match="arm must be the name of a column, not 5"):
        analyse([{"arm": "A", "x": 1}], ["x:bernoulli"], arm=5)  # type: ignore[arg-type]


def tied(run: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng([12, run])
    return [{"arm": "AB"[n % 2], "x": float(rng.normal()), "at": n} for n in range(200)]


def by_arm_and_value(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(log, key=lambda row: (row["arm"], row["x"]))


def test_the_order_of_the_rows_does_not_matter() -> None:
    """A sorted export of two tied arms decides nothing, and its intervals hold its means."""
    decided = 0
    for run in range(60):
        log = tied(run)
        found, other = (analyse(rows, ["x:gaussian=1"]) for rows in (by_arm_and_value(log), log))
        decided += found.verdict.stopped
        np.testing.assert_allclose(found.verdict.evidence, other.verdict.evidence, rtol=1e-9)
        assert ((found.intervals.lower <= found.means) & (found.means <= found.intervals.upper)).all()
    assert decided <= 3


def test_an_order_by_value_is_noticed() -> None:
    """Read row by row, sorted rows decide nearly always: the control; then it is not called certified."""
    sorted_ones = [analyse(by_arm_and_value(tied(run)), ["x:gaussian=1"], ordered=True) for run in range(20)]
    assert sum(one.verdict.stopped for one in sorted_ones) > 15
    assert not any(one.verdict.certified for one in sorted_ones)
    assert "not certified: the rows look sorted by arm, not in the order of collection" in str(sorted_ones[0])
    assert "not certified: x: the values of A look sorted" in str(sorted_ones[0])
    # Put back into the order of a column of times, nothing is wrong with them.
    again = [analyse(by_arm_and_value(tied(run)), ["x:gaussian=1"], time="at") for run in range(60)]
    assert all(one.verdict.certified for one in again)
    assert sum(one.verdict.stopped for one in again) <= 3
    for log in ([{"arm": "A", "x": 1.0, "at": "soon"}, {"arm": "B", "x": 1.0, "at": 3}], [{"arm": "A", "x": 1.0}] * 3):
        with pytest.raises(InputError, match=r"row 1: at must be a number or an ISO|time: there is no column 'at'"):
            analyse(log, ["x:gaussian=1"], time="at", arms=["A", "B"])


def test_an_order_by_value_within_days_is_noticed() -> None:
    """Arms sorted in opposite directions, day by day: neither falls or rises as a whole."""
    wrong = 0
    for run in range(20):
        log = tied(run)
        for n, row in enumerate(log):
            row["day"] = n // 50
        by_day = sorted(log, key=lambda row: (row["day"], row["x"] if row["arm"] == "A" else -row["x"]))
        found = analyse(by_day, ["x:gaussian=1"], ordered=True)
        wrong += found.verdict.stopped
        assert not found.verdict.certified
        assert "follow one another, as if sorted in parts" in str(found)
        # A column of days says that rows of one day have no order; then this one is none.
        assert analyse(by_day, ["x:gaussian=1"], time="day").verdict.certified
    assert wrong > 0


def test_coins_in_their_order_are_not_called_sorted() -> None:
    for run in range(200):
        rng = np.random.default_rng([14, run])
        log = [{"arm": "AB"[n % 2], "x": int(rng.random() < 0.05)} for n in range(400)]
        assert analyse(log, ["x:bernoulli"], ordered=True).verdict.certified


def test_the_forecast_counts_pulls_where_metrics_are_missing_by_design() -> None:
    """Every visitor is of one of four groups, and has a metric of that group alone."""
    objectives, ratios = [f"group {g}:bernoulli" for g in range(4)], []
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        log = []
        for n in range(12000):
            clicked = float(rng.random() < (0.5 if n % 2 else 0.35))
            row: dict[str, Any] = {"arm": "AB"[n % 2]} | {f"group {g}": None for g in range(4)}
            log.append(row | {f"group {rng.integers(4)}": clicked})
        late = analyse(log, objectives, ordered=True)
        assert late.verdict.stopped_at is not None
        early = analyse(log[:1200], objectives)
        if early.forecast is not None and math.isfinite(early.forecast.samples) and early.forecast.samples > 0:
            ratios.append((1200 + early.forecast.samples) / late.verdict.stopped_at)
    assert len(ratios) >= 4
    assert 1 / 3 < np.median(ratios) < 5  # the slowest of four forecasts, each of them uncertain


def test_rows_of_the_same_time_are_read_together() -> None:
    """A column of days says nothing about the order within a day, which may be one by value."""
    decided = 0
    for run in range(30):
        rng = np.random.default_rng([run, 8])
        log = [
            {"day": f"2026-01-{d:02d}", "arm": "AB"[n % 2], "s": int(rng.random() < 0.3)}
            for d in range(1, 8)
            for n in range(100)
        ]
        log.sort(key=lambda row: (str(row["day"]), str(row["arm"]), -int(str(row["s"]))))
        decided += analyse(log, ["s:bernoulli"], time="day").verdict.stopped
    assert decided <= 3
    for bad in (math.nan, "nan", "inf", True, "2026"):
        rows = [{"arm": "AB"[n % 2], "x": 1.0, "at": "2026-01-01"} for n in range(3)] + [
            {"arm": "A", "x": 1.0, "at": bad}
        ]
        with pytest.raises(InputError, match=r"row 4: at must be a number or an ISO 8601 time|row 1: at must"):
            analyse(rows, ["x:gaussian=1"], time="at")


@pytest.mark.parametrize("rare", [0, 1, 2, -1, "never", True])
def test_how_rare_is_checked(rare: Any) -> None:
    with pytest.raises(InputError, match="rare must be a number from 1e-06, less than 1, or None, not "):
        analyse([{"arm": "A", "x": 1}, {"arm": "B", "x": 0}], ["x:bernoulli"], rare=rare)


def test_columns_are_read_as_rows_are() -> None:
    """Whatever cells hold, and in whichever form they come: numbers, texts, truth values, nothing."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    numbers = [{"arm": "AB"[n % 2], "x": float(rng.random()), "y": bool(rng.random() < 0.4)} for n in range(60)]
    holes = [row if n % 7 else {"arm": row["arm"], "y": row["y"]} for n, row in enumerate(numbers)]
    texts = [{key: str(value) for key, value in row.items()} for row in holes]
    for rows in (numbers, holes):
        forms = [rows, pandas.DataFrame(rows), [{key: str(value) for key, value in row.items()} for row in rows]]
        found = [analyse(one, ["x:bounded=0..1", "y:bernoulli"]) for one in forms]
        for one in found[1:]:
            np.testing.assert_array_equal(one.verdict.evidence, found[0].verdict.evidence)
            np.testing.assert_array_equal(one.counts, found[0].counts)
    texts[4]["x"] = "1_0"
    with pytest.raises(InputError, match="row 5: x must be a number, not '1_0'"):
        analyse(texts, ["x:bounded=0..1", "y:bernoulli"])
    for bad, words in ((math.inf, "must be a number, not 'inf'"), (2.0, "must be between 0 and 1|must be")):
        with pytest.raises(InputError, match=f"row 2: .*x.* {words}"):
            analyse([numbers[0], {**numbers[1], "x": bad}], ["x:bounded=0..1", "y:bernoulli"])


def tables(items: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return what three arms score on the same questions, sorted by score, with one cell that is missing."""
    rng, found = np.random.default_rng(seed), []
    for n in range(items):
        level = rng.uniform(0.2, 0.7)
        for arm, gain in (("a", 0.0), ("b", 0.1), ("c", -0.05)):
            score = None if (n, arm) == (3, "c") else float(np.clip(level + gain + rng.normal(0, 0.03), 0, 1))
            found.append({"model": arm, "question": f"q{n}", "score": score})
    return sorted(found, key=lambda row: row["score"] or 0.0)


def test_tables_are_compared_item_by_item() -> None:
    found = analyse(tables(300), ["score:bounded=0..1"], arm="model", item="question")
    assert found.verdict.answers == ("b",)
    assert found.verdict.stopped
    assert "What is missing of score counts as the worst there could be" in found.assumption
    assert "like those you want to know about" in found.assumption


def test_a_list_that_was_measured_in_full_is_known_exactly() -> None:
    table = [row for row in tables(20) if row["score"] is not None]
    known = [row for row in table if row["question"] != "q3"]
    found = analyse(known, ["score:bounded=0..1"], arm="model", item="question", all_items=True, baseline="a")
    assert found.verdict.answers == ("b",)
    assert found.verdict.stopped
    assert "about these items alone" in found.assumption
    means = {arm: np.mean([row["score"] for row in known if row["model"] == arm]) for arm in "abc"}
    assert found.differences is not None
    for i, arm in enumerate(found.verdict.problem.arms):
        np.testing.assert_allclose(found.differences.lower[i, 0], means[arm] - means["a"], atol=1e-12)
        np.testing.assert_allclose(found.differences.upper[i, 0], means[arm] - means["a"], atol=1e-12)
    assert "exactly" in str(found)


def test_what_is_missing_of_a_table_can_turn_no_answer_round() -> None:
    """The worse arm lacks its worst cells: with these left out it would be the better one."""
    scores = {"a": 0.6, "b": 0.9}
    rows: list[dict[str, Any]] = [
        {"model": arm, "q": n, "s": None if arm == "b" and n < 60 else scores[arm]} for n in range(100) for arm in "ab"
    ]
    for all_items in (False, True):
        assert not analyse(rows, ["s:bounded=0..1"], arm="model", item="q", all_items=all_items).verdict.stopped


def test_items_are_asked_for_properly() -> None:
    for how, about in (
        ({"all_items": True}, "all_items needs item="),
        ({"item": "model"}, "item must be another column than arm"),
        ({"item": "nothing"}, "there is no column 'nothing'"),
        ({"item": "question", "ordered": True}, "item must come without ordered"),
    ):
        with pytest.raises(InputError, match=about):
            analyse(tables(5), ["score:bounded=0..1"], arm="model", **how)
