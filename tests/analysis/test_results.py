"""Results of evaluations that are already there, in files as their tools write them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import mobai
from mobai.analysis.results import analyse_results, find_results

RIGHT = {"small": 0.5, "large": 0.85}


def right(system: str, n: int) -> bool:
    return random.Random(f"{system} {n}").random() < RIGHT[system]


def promptfoo(items: int = 200) -> dict[str, Any]:
    """Return what ``promptfoo eval --output results.json`` writes (version 0.121), but for what is not read."""
    rows = [
        {
            "cost": 0.001 if system == "small" else 0.02,
            "failureReason": 0 if right(system, n) else 1,
            "gradingResult": {"pass": right(system, n), "score": float(right(system, n))},
            "latencyMs": 100 + n + (50 if system == "large" else 0),
            "namedScores": {"right: yes": float(right(system, n))},
            "prompt": {"raw": f"Answer: question {n}", "label": "Answer: {{q}}"},
            "promptIdx": 0,
            "provider": {"id": f"file://{system}.js", "label": system},
            "score": float(right(system, n)),
            "success": right(system, n),
            "testIdx": n,
            "tokenUsage": {"total": 10},
            "vars": {"q": f"question {n}"},
        }
        for n in range(items)
        for system in RIGHT
    ]
    return {"evalId": "eval-1", "results": {"version": 3, "prompts": [], "results": rows, "stats": {}}, "config": {}}


def deepeval(system: str, items: int = 200) -> dict[str, Any]:
    """Return a test run of DeepEval (version 4.3), but for what is not read."""
    cases = [
        {
            "name": f"test_case_{n}",
            "input": f"question {n}",
            "success": right(system, n),
            "metricsData": [{"name": "Answer Relevancy", "score": float(right(system, n)), "success": True}],
        }
        for n in range(items)
    ]
    return {
        "testCases": cases,
        "conversationalTestCases": [],
        "metricsScores": [],
        "hyperparameters": {"model": system},
    }


def write_lm_eval(folder: Path, system: str, tasks: dict[str, int]) -> None:
    """Write what ``lm_eval --log_samples --output_path`` writes (version 0.4.13), but for what is not read."""
    time = "2026-11-20T00-49-36.966940"
    (folder / system).mkdir(parents=True)
    facts = {
        "model_name": system,
        "config": {"model": "hf", "model_args": {"pretrained": system}},
        "higher_is_better": {task: {"acc": True, "word_ppl": False} for task in tasks},
    }
    (folder / system / f"results_{time}.json").write_text(json.dumps(facts))
    for task, items in tasks.items():
        rows = [
            {
                "doc_id": n,
                "doc_hash": f"{task}{n}",
                "filter": name,
                "metrics": ["acc", "word_ppl"],
                "acc": float(right(system, n)),
                "word_ppl": 10.0 + n + (system == "large"),
            }
            for name in (["none"] if task == "one" else ["strict", "flexible"])
            for n in range(items)
        ]
        path = folder / system / f"samples_{task}_{time}.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows))


def test_promptfoo(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(promptfoo()))
    (found,) = analyse_results(path)
    verdict = found.analysis.verdict
    assert verdict.winners == {
        "pass": "large",
        "score": "large",
        "right yes": "large",
        "milliseconds": "small",
        "cost": "small",
        "tokens": None,
    }
    assert verdict.certified
    assert (found.made, found.enough) == (400, 400)  # nobody uses fewer tokens
    (found,) = analyse_results(path, ["pass:bounded=0..1", "cost:min:wins"])
    assert found.enough < 200
    (bare,) = analyse_results(path, ["pass", "cost"])
    assert bare.enough == found.enough
    assert f"A race would have made {found.enough} of these 400 measurements." in str(found)


def test_a_call_that_failed_is_missing_and_the_same_prompt_with_two_providers_is_two_systems(tmp_path: Path) -> None:
    facts = promptfoo(20)
    for row in facts["results"]["results"][:4]:
        row["failureReason"] = 2
    (tmp_path / "results.json").write_text(json.dumps(facts))
    (found,) = find_results(tmp_path)
    assert [row["arm"] for row in found.rows[:2]] == ["small", "large"]
    assert [row["pass"] for row in found.rows[:4]] == [None] * 4
    assert found.rows[4]["pass"] == right("small", 2)


def test_deepeval_runs_are_told_apart_by_their_hyperparameters(tmp_path: Path) -> None:
    for system in RIGHT:
        (tmp_path / f"test_run_{system}.json").write_text(json.dumps(deepeval(system)))
    (tmp_path / "notes.json").write_text("{}")
    (tmp_path / "broken.json").write_text("{")
    (found,) = analyse_results(tmp_path, all_items=True)
    assert found.analysis.verdict.winners == {"Answer Relevancy": "large"}
    means = found.analysis.means[:, 0].tolist()
    assert means == pytest.approx([sum(right(name, n) for n in range(200)) / 200 for name in ("large", "small")])


def test_tasks_of_lm_eval_share_delta(tmp_path: Path) -> None:
    for system in RIGHT:
        write_lm_eval(tmp_path, system, {"one": 150, "two_part": 100})
    found = {one.task: one for one in analyse_results(tmp_path, delta=0.1)}
    assert set(found) == {"one", "two_part"}
    assert found["one"].analysis.verdict.winners == {"acc": "large", "word_ppl": "small"}
    assert set(found["two_part"].analysis.verdict.winners) == {
        f"{metric}/{name}" for metric in ("acc", "word_ppl") for name in ("strict", "flexible")
    }
    for one in found.values():
        assert one.analysis.verdict.delta == pytest.approx(0.05)
    (alone,) = analyse_results(tmp_path, task="one", delta=0.1)
    assert alone.analysis.verdict.delta == pytest.approx(0.1)
    with pytest.raises(mobai.InputError, match="there is no task 'on'; there are one, two_part; did you mean 'one'"):
        analyse_results(tmp_path, task="on")


def test_repeats_are_averaged_and_systems_called_by_what_they_differ_in(tmp_path: Path) -> None:
    facts = promptfoo(10)
    rows = facts["results"]["results"]
    for row in rows[:]:
        again = {**row, "success": not row["success"]}
        rows.append(again)
        other = {**row, "prompt": {"raw": "", "label": "Think: {{q}}"}}
        rows.append(other)
    (tmp_path / "results.json").write_text(json.dumps(facts))
    (found,) = find_results(tmp_path)
    assert {row["arm"] for row in found.rows} == {
        f"{system}, {prompt}: {{{{q}}}}" for system in RIGHT for prompt in ("Answer", "Think")
    }
    assert {row["pass"] for row in found.rows if "Answer" in row["arm"]} == {0.5}


def test_scores_beyond_a_share_count_wins(tmp_path: Path) -> None:
    facts = promptfoo(10)
    for row in facts["results"]["results"]:
        row["namedScores"] = {"stars": 5.0 * row["success"]}
    (tmp_path / "results.json").write_text(json.dumps(facts))
    assert "stars:wins" in find_results(tmp_path)[0].objectives


def test_what_cannot_be_compared_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(mobai.InputError, match="there is no file or folder"):
        analyse_results(tmp_path / "nothing")
    with pytest.raises(mobai.InputError, match="there are no results of Inspect, promptfoo"):
        analyse_results(tmp_path)
    (tmp_path / "one.json").write_text(json.dumps(deepeval("small", 5)))
    with pytest.raises(mobai.InputError, match="there is one system alone in"):
        analyse_results(tmp_path)
    table = tmp_path / "table.csv"
    table.write_text("model,question,score\na,1,1\nb,1,0\n")
    with pytest.raises(mobai.InputError, match="is no file of results that is known"):
        analyse_results(table)


def test_a_race_would_have_made_what_a_race_makes(tmp_path: Path) -> None:
    """The count is that of a race over the same items in the same order."""
    (tmp_path / "results.json").write_text(json.dumps(promptfoo()))
    (found,) = analyse_results(tmp_path, ["pass:bounded=0..1"])
    from mobai.analysis.items import table_of
    from mobai.analysis.logs import read_log

    rows = find_results(tmp_path)[0].rows
    log = read_log(rows, ["pass:bounded=0..1"], arm="arm", item="item")
    assert log.items is not None
    table = table_of(log, log.items)[:, :, 0]
    arms = list(log.problem.arms)
    made = mobai.race(
        arms, "stream", lambda arm, n: {"pass": table[n, arms.index(arm)]}, ["pass:bounded=0..1"], budget=len(rows)
    )
    assert found.enough == made.made


def test_what_is_there_twice_is_two_items_and_a_task_of_one_system_is_left_out(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, "small", {"one": 20, "alone": 5})
    write_lm_eval(tmp_path, "large", {"one": 20})
    for path in tmp_path.rglob("samples_one_*.jsonl"):
        path.write_text(path.read_text().replace("one19", "one18"))
    with pytest.warns(UserWarning, match="task alone is left out: there is one system alone"):
        (found,) = find_results(tmp_path)
    assert len(found.rows) == 40
    facts = promptfoo(10)
    for row in facts["results"]["results"]:
        row["vars"] = {"q": "always the same"}
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / "results.json").write_text(json.dumps(facts))
    assert len(find_results(tmp_path / "twice")[0].rows) == 20


def test_long_prompts_have_short_names(tmp_path: Path) -> None:
    facts = promptfoo(5)
    rows = facts["results"]["results"]
    long = "You are a concise assistant who answers every question with one word alone.\n"
    for number, row in enumerate(rows):
        row["prompt"] = {"label": long + ("Be brief." if number < 5 else "Be right.")}
    (tmp_path / "results.json").write_text(json.dumps(facts))
    (found,) = find_results(tmp_path)
    arms = {row["arm"] for row in found.rows}
    assert len(arms) == 4
    assert all(len(arm) < 60 for arm in arms)
    assert any(arm.endswith("… (2)") for arm in arms)


@pytest.mark.parametrize(
    "wrong",
    [
        {"latencyMs": 10**400, "cost": 10**400},
        {"testIdx": [1], "promptIdx": {}},
        {"namedScores": {"": 1.0, "arm": 0.5, "item": 0.5, "\0": 1.0}},
        {"provider": {"label": "one\ntwo"}},
        {"namedScores": None, "vars": None, "prompt": None, "tokenUsage": [], "score": "high", "success": None},
    ],
)
def test_odd_values_spoil_nothing(tmp_path: Path, wrong: dict[str, Any]) -> None:
    facts = promptfoo(20)
    facts["results"]["results"][6] |= wrong
    (tmp_path / "results.json").write_text(json.dumps(facts))
    (found,) = analyse_results(tmp_path)
    json.dumps(found.facts, allow_nan=False)


def test_odd_files_are_one_line(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, "small", {"one": 5})
    write_lm_eval(tmp_path, "large", {"one": 5})
    path = next((tmp_path / "large").glob("samples_*"))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0] |= {"filter": ["none"], "metrics": None}
    rows[1] |= {"metrics": 5}
    rows[2] |= {"acc": -1.0}
    path.write_text("\n".join(map(json.dumps, rows)))
    assert len(analyse_results(tmp_path)) == 1
    path.write_bytes(b"\x1f\x8b\xff\xfe")
    with pytest.raises(mobai.InputError, match=r"samples_one_.*jsonl is no text"):
        analyse_results(tmp_path)
    for argument in (None, 5, b"x"):
        with pytest.raises(mobai.InputError, match="path must be a file or folder"):
            analyse_results(argument)  # type: ignore[arg-type]
    with pytest.raises(mobai.InputError, match="task must be the name of a task"):
        analyse_results(tmp_path, task=5)  # type: ignore[arg-type]
