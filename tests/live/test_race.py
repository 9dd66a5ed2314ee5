"""One call that races arms over items: what it measures, what it says, and what happens when it is interrupted."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mobai
from mobai import ConflictError, InputError, RaceError
from mobai.live.race_loop import RaceProgress
from mobai.store.journal import MemoryJournal

RNG = np.random.default_rng(3)
LEVELS = RNG.random(200) * 0.6 + 0.2
NOISE = {(arm, n): float(RNG.normal(0, 0.04)) for arm in "abc" for n in range(200)}
GAIN = {"a": 0.0, "b": 0.06, "c": -0.1}
SCORE = ["score:bounded=0..1"]
ABC = ["a", "b", "c"]


def measure(arm: str, item: int) -> dict[str, float | None]:
    return {"score": float(np.clip(LEVELS[item] + GAIN[arm] + NOISE[arm, item], 0, 1))}


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_a_race_ends_early_and_says_who_won(n_jobs: int) -> None:
    calls: list[tuple[str, int]] = []

    def noted(arm: str, item: int) -> dict[str, float | None]:
        calls.append((arm, item))
        return measure(arm, item)

    found = mobai.race(ABC, 200, noted, SCORE, n_jobs=n_jobs)
    assert found.winners == {"score": "b"}
    assert found.ending == "decided"
    assert found.made == len(calls) == len(set(calls)) < 400
    assert found.most == 600
    assert len(found.rows()) == found.made
    said = str(found)
    assert f"{found.made:,} measurements of 600, {600 - found.made:,} saved" in said
    assert "Best for score: b" in said
    assert "out at" in said
    table = found.to_pandas()
    assert table.loc[(calls[0][1], calls[0][0]), "score"] == measure(*calls[0])["score"]
    worst = found.hardest("score", 3)
    assert len(worst) == 3
    assert worst[0]["lost"] >= worst[1]["lost"] > 0


def test_items_and_arms_may_be_anything(tmp_path: Path) -> None:
    questions = [{"text": "x" * n, "n": n} for n in range(200)]
    prompts = {"a": ["short"], "b": ["much", "longer"], "c": []}

    def ask(prompt: list[str], question: dict[str, Any]) -> dict[str, float | None]:
        name = next(key for key, value in prompts.items() if value is prompt)
        return measure(name, question["n"])

    winners = {"score": "b"}
    assert mobai.race(prompts, questions, ask, SCORE).winners == winners
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in questions))
    assert mobai.race(prompts, file, ask, SCORE).winners == winners
    pandas = pytest.importorskip("pandas")
    assert mobai.race(prompts, pandas.DataFrame(questions), ask, SCORE).winners == winners
    named = mobai.race(ABC, [f"q{n}" for n in range(200)], lambda arm, item: measure(arm, int(item[1:])), SCORE)
    assert named.winners == winners
    assert named.rows()[0]["item"].startswith("q")


def test_limits_are_kept_in_a_race() -> None:
    def paid(arm: str, item: int) -> dict[str, float | None]:
        return {**measure(arm, item), "cost": {"a": 0.2, "b": 0.9, "c": 0.1}[arm]}

    found = mobai.race(ABC, 200, paid, SCORE, guardrails=["cost:bounded=0..1:at-most=0.5"])
    assert found.winners == {"score": "a"}
    assert "breaks a limit" in str(found)
    none = mobai.race(ABC, 200, paid, SCORE, guardrails=["cost:bounded=0..1:at-most=0.05"])
    assert none.winners == {"score": "none qualifies"}
    assert none.ending == "decided"


def test_a_stream_and_rounds_have_no_end() -> None:
    for how in ({"items": "stream"}, {"items": None, "rounds": True}):
        found = mobai.race(ABC, how.pop("items"), lambda arm, item: measure(arm, item % 200), SCORE, **how)
        assert found.winners == {"score": "b"}
        assert found.most is None
        assert "measurements\n" in str(found)


def test_processes_measure_too() -> None:
    assert mobai.race(ABC, 200, measure, SCORE, n_jobs=2, processes=True).winners == {"score": "b"}


def test_workers_are_kept_busy_and_little_is_measured_for_who_is_out() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def slow(arm: str, item: int) -> dict[str, float | None]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return measure(arm, item)

    found = mobai.race(ABC, 200, slow, SCORE, n_jobs=6)
    assert most == 6
    measured = {arm: sum(row["arm"] == arm for row in found.rows()) for arm in "abc"}
    for one in found.status.standings:
        if one.out_at is not None:
            assert measured[one.arm] - one.out_at < 2 * 6


def test_a_failure_is_tried_again_then_it_is_the_worst_or_the_end() -> None:
    failed: dict[Any, int] = {}

    def flaky(arm: str, item: int) -> dict[str, float | None]:
        failed[arm, item] = failed.get((arm, item), 0) + 1
        if item % 20 == 7 and failed[arm, item] < 3:
            raise ValueError("too\nmany requests")
        return measure(arm, item)

    found = mobai.race(ABC, 200, flaky, SCORE)
    assert found.winners == {"score": "b"}
    assert found.failures > 0

    def broken(arm: str, item: int) -> dict[str, float | None]:
        if item == 13:
            raise ValueError("no\nanswer")
        return measure(arm, item)

    with pytest.raises(RaceError, match=r"measuring [abc] on 13 failed 2 times: ValueError: no answer"):
        mobai.race(ABC, 200, broken, SCORE, retries=1, delta=1e-100)
    found = mobai.race(ABC, 200, broken, SCORE, retries=0, on_error="worst")
    assert found.winners == {"score": "b"}
    with pytest.raises(RaceError, match="failed once"):
        mobai.race(ABC, 200, lambda arm, item: 1 / 0, SCORE, retries=0, on_error="worst")  # type: ignore[arg-type, return-value]


def test_an_interrupted_race_goes_on_where_it_was(tmp_path: Path) -> None:
    storage, calls = f"sqlite:///{tmp_path / 'race.db'}", []

    def stops(arm: str, item: int) -> dict[str, float | None]:
        calls.append((arm, item))
        if len(calls) == 50:
            raise KeyboardInterrupt
        return measure(arm, item)

    first = mobai.race(ABC, 200, stops, SCORE, storage=storage)
    assert first.ending == "interrupted"
    assert first.made == 49
    second = mobai.race(ABC, 200, stops, SCORE, storage=storage)
    assert second.ending == "decided"
    assert second.winners == {"score": "b"}
    assert len(calls) == second.made + 1  # the one that was interrupted was measured again, and nothing else
    whole = mobai.race(ABC, 200, measure, SCORE)
    assert [row["score"] for row in whole.rows()] == [row["score"] for row in second.rows()]
    third = mobai.race(ABC, 200, stops, SCORE, storage=storage)
    assert (third.made, third.winners) == (second.made, second.winners)
    with pytest.raises(InputError, match=r"has other arms"):
        mobai.race([*ABC, "d"], 200, stops, SCORE, storage=storage)
    with pytest.raises(InputError, match="delta"):
        mobai.race(ABC, 200, stops, SCORE, storage=storage, delta=0.01)


def test_what_failed_is_measured_again_when_the_race_goes_on(tmp_path: Path) -> None:
    storage, broken = f"sqlite:///{tmp_path / 'race.db'}", [True]

    def sometimes(arm: str, item: int) -> dict[str, float | None]:
        if broken[0] and item % 5 == 0:
            raise OSError("the service is away")
        return measure(arm, item)

    with pytest.raises(RaceError, match="the service is away"):
        mobai.race(ABC, 200, sometimes, SCORE, storage=storage, retries=0, n_jobs=3)
    broken[0] = False
    found = mobai.race(ABC, 200, sometimes, SCORE, storage=storage, n_jobs=3)
    assert found.winners == {"score": "b"}
    assert found.status.dropped == 0


def test_a_budget_and_used_up_items(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    found = mobai.race(ABC, 200, measure, SCORE, budget=20, storage=storage)
    assert (found.ending, found.made) == ("budget", 20)
    assert found.winners == {"score": None}
    more = mobai.race(ABC, 200, measure, SCORE, budget=33, storage=storage, n_jobs=3)
    assert (more.ending, more.made) == ("budget", 33)
    assert mobai.race(ABC, 200, measure, SCORE, storage=storage).winners == {"score": "b"}
    holed = lambda arm, item: {"score": None if item == 2 else 0.5, "t": 1.0}  # noqa: E731
    missing = mobai.race(ABC[:2], 5, holed, [*SCORE, "t:bounded=0..2"])
    assert missing.ending == "used-up"
    assert missing.winners["score"] is None
    assert "nothing is left to measure" in str(missing)


def test_nothing_but_none_is_the_worst() -> None:
    def often(arm: str, item: int) -> dict[str, float | None]:
        return {"score": None} if item % 50 == 3 else measure(arm, item)

    found = mobai.race(ABC, 200, often, SCORE, delta=1e-4)
    assert found.winners == {"score": "b"}
    assert found.status.dropped > 0
    assert mobai.race(ABC[:2], 8, lambda arm, item: {"score": None}, SCORE).ending == "used-up"
    with pytest.raises(InputError, match="there is no worst that x could be"):
        mobai.race(ABC[:2], "stream", lambda arm, item: {"x": None}, ["x:unknown-variance"])


def test_nobody_wins_in_a_circle() -> None:
    found = mobai.race(list("ABC"), 60, lambda arm, item: {"x": (item + "ABC".index(arm)) % 3}, ["x:wins"])
    assert found.ending == "used-up"
    said = str(found)
    assert "every arm is beaten by another one in x: nobody wins" in said
    assert "nobody leads" in said
    assert "leads" not in said.replace("nobody leads", "")
    assert "more sample" not in said
    with pytest.raises(ConflictError, match="nobody wins"):
        found.experiment.ask()


def test_who_is_beaten_by_wins_is_out() -> None:
    found = mobai.race(list("ABC"), 60, lambda arm, item: {"x": "ABC".index(arm)}, ["x:wins"])
    status = found.status
    assert found.winners == {"x": "C"}
    assert status.verdict.contention[0].out == ("A", "B")
    assert {one.arm for one in status.standings if one.out_at is not None} == {"A", "B"}
    equal = mobai.race(["A", "B"], 6, lambda arm, item: {"x": 1.0}, ["x:wins"], budget=6)
    equal.experiment.close(as_equal=True)
    assert "closed as equal, A and B are left" in str(equal)


def test_other_items_of_the_same_number_are_another_race(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    value = lambda arm, item: {"score": 0.1 * ("ab".index(arm) + 1)}  # noqa: E731
    mobai.race(ABC[:2], [{"q": n} for n in range(50)], value, SCORE, storage=storage, budget=4)
    with pytest.raises(InputError, match=r"other things behind its arms or items \(4 measurements\)"):
        mobai.race(ABC[:2], [{"q": -n} for n in range(50)], value, SCORE, storage=storage)
    rows = [{"id": f"question {n}", "text": n} for n in range(50)]
    named = mobai.race(ABC[:2], rows, value, SCORE)
    assert named.rows()[0]["item"].startswith("question ")


def test_what_was_measured_when_another_failed_is_kept(tmp_path: Path) -> None:
    storage, calls, lock = f"sqlite:///{tmp_path / 'race.db'}", [], threading.Lock()

    def breaks(arm: str, item: int) -> dict[str, float | None]:
        with lock:
            calls.append((arm, item))
            count = len(calls)
        time.sleep(0.02)
        if count == 20:
            raise ValueError("away")
        return measure(arm, item)

    with pytest.raises(RaceError, match="away"):
        mobai.race(ABC, 200, breaks, SCORE, storage=storage, n_jobs=8, retries=0)
    rows = list(mobai.Experiment.load(storage, "race").iterate_records())
    assert sum(row["status"] == "answered" for row in rows) >= len(calls) - 1
    again = mobai.race(ABC, 200, breaks, SCORE, storage=storage, n_jobs=8)
    assert again.winners == {"score": "b"}
    assert len(calls) <= again.made + 1 + 8


def test_processes_that_share_a_race(tmp_path: Path) -> None:
    """Three at once, of which one is killed: each place is measured once by who lives, and all end with the answer."""
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    script = (
        "import sys, time, mobai; sys.path.insert(0, '.'); from tests.live.test_race import ABC, SCORE, measure\n"
        "def slow(arm, item):\n    time.sleep(0.03)\n    return measure(arm, item)\n"
        f"found = mobai.race(ABC, 200, slow, SCORE, n_jobs=2, storage={storage!r})\n"
        "print(found.ending, found.winners['score'])"
    )
    others = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and not _answered(storage):
        time.sleep(0.1)
    others[0].kill()
    others[0].communicate()
    first = mobai.race(ABC, 200, measure, SCORE, storage=storage)  # which takes over what the killed one had begun
    assert (first.ending, first.winners) == ("decided", {"score": "b"})
    assert [one.communicate(timeout=180)[0].split() for one in others[1:]] == [["decided", "b"]] * 2
    places = [(row["arm"], row["item"]) for row in first.rows()]
    assert len(set(places)) == len(places)
    assert first.experiment.verify().intact


def _answered(storage: str) -> bool:
    try:
        return mobai.Experiment.load(storage, "race").verdict().pulls >= 5
    except InputError:  # not begun yet
        return False


def test_progress_is_told() -> None:
    told: list[RaceProgress] = []
    mobai.race(ABC, 200, measure, SCORE, watch=told.append)
    assert told[0].made == 1
    assert told[-1].left == {"score": 1}
    assert "of 600 measured; score: 3 left" in str(told[3])


@pytest.mark.parametrize(
    ("how", "about"),
    [
        ({"n_jobs": 0}, "n_jobs must be a whole number, 1 or more"),
        ({"retries": -1}, "retries must be"),
        ({"budget": 0}, "budget must be"),
        ({"on_error": "ignore"}, "on_error must be stop or worst"),
        ({"measure": 3}, "measure must be a function"),
        ({"measure": lambda arm, item: 0.5}, "must return a number, or None, for each of score"),
        ({"measure": lambda arm, item: {"scores": 1}}, "must return a number, or None, for each of score"),
        ({"measure": lambda arm, item: {"score": 2.0}}, "measured . on .*must be a number from 0 to 1"),
        ({"items": []}, "one item at least"),
        ({"items": 10.0}, "a list, a file, a number of items"),
        ({"items": None}, "a list, a file, a number of items"),
        ({"measure": lambda arm, item: None}, "must return a number, or None, for each of score"),
        ({"measure": lambda arm, item: {"score": 1.0}, "processes": True, "n_jobs": 2}, "at the top of a module"),
        ({"objectives": ["x:unknown-variance"]}, "weighed by their range"),
        ({"arms": ["a"]}, "at least two"),
        ({"arms": "ab"}, "must be a list of names, or a mapping"),
        ({"arms": 3}, "must be a list of names, or a mapping"),
        ({"items": {"a", "b"}}, "a list, a file, a number of items"),
        ({"items": b"ab"}, "a list, a file, a number of items"),
        ({"items": {}}, "must have names, one at least"),
        ({"watch": 3}, "watch must be a function"),
        ({"n_jobs": None}, "n_jobs must be a whole number"),
        ({"n_jobs": 10**6}, "n_jobs must be at most 1,000"),
        ({"objectives": "score:bounded=0..1"}, r"objectives must be a list, such as \['score:bounded=0..1'\]"),
        ({"rounds": True}, "rounds must not be given with items"),
        ({"rare": 2}, "rare must be"),
    ],
)
def test_wrong_input_is_one_line(how: dict[str, Any], about: str) -> None:
    given: dict[str, Any] = {"arms": ABC, "items": 200, "measure": measure, "objectives": SCORE, "retries": 0, **how}
    with pytest.raises(InputError, match=about):
        mobai.race(given.pop("arms"), given.pop("items"), given.pop("measure"), given.pop("objectives"), **given)


def test_what_is_told_of_ties_budgets_and_changed_arms(tmp_path: Path) -> None:
    tied = mobai.race(ABC[:2], 5, lambda arm, item: {"score": 0.5}, SCORE)
    assert "For score: a, exactly equal to b on these items." in str(tied)
    assert "Best" not in str(tied)
    nothing = mobai.race(ABC[:2], 40, lambda arm, item: {"score": None if arm == "a" else 0.5}, SCORE, budget=10)
    assert (nothing.ending, nothing.made) == ("budget", 10)
    assert "saved" not in str(nothing)
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    value = lambda prompt, item: {"score": 0.1 * len(prompt) % 1}  # noqa: E731
    mobai.race({"a": "old", "b": "other"}, 50, value, SCORE, storage=storage, budget=4)
    with pytest.raises(InputError, match="things behind its arms or items"):
        mobai.race({"a": "new one", "b": "other"}, 50, value, SCORE, storage=storage)
    with pytest.raises(InputError, match="arms"):
        mobai.race(["a", "a"], 50, value, SCORE)
    (tmp_path / "items.txt").write_text("first\nsecond\n")
    assert mobai.race(ABC[:2], tmp_path / "items.txt", lambda arm, item: {"score": 0.5}, SCORE).most == 4


def test_what_a_metric_refuses_counts_as_the_worst_and_ends_the_race(tmp_path: Path) -> None:
    """Measured again until it fits, it would be left out because of its value."""
    storage, calls = f"sqlite:///{tmp_path / 'race.db'}", []

    def once_too_large(arm: str, item: int) -> dict[str, float | None]:
        calls.append((arm, item))
        return {"score": 1.5} if len(calls) == 10 else measure(arm, item)

    with pytest.raises(RaceError, match=r"measured [abc] on \d+: metric 'score' must be a number from 0 to 1") as ended:
        mobai.race(ABC, 200, once_too_large, SCORE, storage=storage)
    assert (ended.value.result.made, ended.value.result.ending) == (10, "failed")
    experiment = mobai.Experiment.load(storage, "race")
    assert (experiment.status().pulls, experiment.status().dropped) == (9, 1)
    found = mobai.race(ABC, 200, once_too_large, SCORE, storage=storage)
    assert found.winners == {"score": "b"}
    assert len(set(calls)) == len(calls)


def test_refused_values_may_count_as_the_worst_and_many_in_a_row_are_the_end() -> None:
    """Neither arm gains from them, so that nothing else is in doubt; and a range stated wrongly is noticed."""

    def sometimes_too_large(arm: str, item: int) -> dict[str, float | None]:
        return {"score": np.nan} if arm == "c" and item % 10 == 0 else measure(arm, item)

    found = mobai.race(ABC, 200, sometimes_too_large, SCORE, on_error="worst")
    assert found.winners == {"score": "b"}
    assert found.failures > 1
    assert found.verdict.certified
    with pytest.raises(RaceError, match="must be a number from 0 to 1, not 60") as ended:
        mobai.race(ABC, 200, lambda arm, item: {"score": 60.0}, SCORE, on_error="worst")
    assert ended.value.result.made == 13  # five items in a row


def test_what_cannot_be_sent_back_has_failed() -> None:
    with pytest.raises(RaceError, match="what it returned cannot be sent back"):
        mobai.race(ABC, 200, cannot_be_sent, SCORE, n_jobs=2, processes=True, retries=0)


def cannot_be_sent(arm: str, item: int) -> Any:
    return {"score": lambda: 1}


def test_columns_are_lists_and_other_experiments_no_races() -> None:
    import pandas as pd

    texts, journal = pd.Series([f"question {n}" for n in range(200)]), MemoryJournal()
    found = mobai.race(ABC, texts, lambda arm, item: measure(arm, int(item.split()[1])), SCORE)
    assert found.winners == {"score": "b"}
    mobai.Experiment.create(journal, "race", ABC, SCORE)
    with pytest.raises(InputError, match="an experiment 'race' already, which is no race"):
        mobai.race(ABC, 200, measure, SCORE, storage=journal)


def test_the_hardest_are_at_least_one() -> None:
    found = mobai.race(ABC, 200, measure, SCORE)
    with pytest.raises(InputError, match="count must be a whole number, 1 or more"):
        found.hardest("score", 0)


def test_a_race_that_never_began_leaves_nothing_behind(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    with pytest.raises(InputError, match="must be a number from 0 to 1"):
        mobai.race(ABC, 200, lambda arm, item: {"score": 60.0}, SCORE, storage=storage)
    found = mobai.race(ABC, 200, lambda arm, item: {"score": 60.0}, ["score:bounded=0..100"], storage=storage, budget=3)
    assert found.made == 3


def test_a_closed_race_measures_no_more(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    first = mobai.race(ABC, 200, measure, SCORE, storage=storage, budget=4)
    first.experiment.close()
    again = mobai.race(ABC, 200, lambda arm, item: 1 / 0, SCORE, storage=storage)  # type: ignore[arg-type, return-value]
    assert (again.ending, again.made) == ("closed", 4)


def dies(arm: str, item: int) -> dict[str, float | None]:
    os._exit(1)


def test_a_worker_that_dies_is_one_line() -> None:
    with pytest.raises(RaceError, match="a worker process died, and what it measured is lost"):
        mobai.race(ABC, 200, dies, SCORE, n_jobs=2, processes=True)


def test_one_broken_item_is_no_broken_service() -> None:
    """Every arm fails on it: that is one item, however many failures in a row."""
    arms = [f"arm {n}" for n in range(8)]

    def measure_most(arm: str, item: int) -> dict[str, float | None]:
        if item == 3:
            raise ValueError("cannot be read")
        return {"score": 0.9 if arm == arms[0] else 0.1}

    found = mobai.race(arms, 60, measure_most, SCORE, retries=0, on_error="worst", seed=3)
    assert found.winners == {"score": arms[0]}


def test_items_with_names_may_be_a_mapping(tmp_path: Path) -> None:
    texts = {f"file {n}": n for n in range(200)}
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    found = mobai.race(ABC, texts, measure, SCORE, storage=storage)
    assert found.winners == {"score": "b"}
    assert {row["item"] for row in found.rows()} <= set(texts)
    with pytest.raises(InputError, match="things behind its arms or items"):
        mobai.race(ABC, {name: n + 1 for name, n in texts.items()}, measure, SCORE, storage=storage)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"k": 1}, {"k": 2}),
        (np.zeros(2000), np.r_[np.zeros(1999), 1.0]),
        (Path("a"), Path("b")),
        ({1, 2}, {1, 3}),
        (b"ab", b"ac"),
        (max, min),
    ],
)
def test_what_arms_stand_for_is_told_apart(one: Any, other: Any) -> None:
    journal = MemoryJournal()
    value = lambda arm, item: {"score": 0.5}  # noqa: E731
    for same in (one, copy.deepcopy(one)):
        mobai.race({"a": same, "b": None}, 50, value, SCORE, storage=journal, budget=4)
    with pytest.raises(InputError, match="things behind its arms"):
        mobai.race({"a": other, "b": None}, 50, value, SCORE, storage=journal)
