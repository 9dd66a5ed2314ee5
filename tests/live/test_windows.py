"""Metrics that are waited for so long and no longer: windows."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from mobai import Experiment, Guardrail, InputError, Objective
from mobai.problem.window import seconds_of, span_text
from mobai.store.journal import Journal, MemoryJournal

SIGNUP = "signup:bernoulli:window=1h:otherwise=0"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def new(journal: Journal | None = None, *metrics: str, **options: object) -> Experiment:
    return Experiment.create(
        journal or MemoryJournal(),
        "x",
        ["A", "B"],
        list(metrics) or [SIGNUP],
        rule="uniform",
        **options,  # type: ignore[arg-type]
    )


def lapses(test: Experiment) -> list[object]:
    return [event.body["reports"] for event in test.history() if event.body.get("lapsed")]


def test_what_has_not_come_counts_as_what_it_does_otherwise(clock: list[float]) -> None:
    test = new()
    one, two, three = test.ask(3)
    test.tell(two, {"signup": 1})
    clock[0] += 3599
    assert test.status().rewards.sum() == 0
    test.tell(three, {"signup": 1})
    clock[0] += 2
    status = test.status()
    assert lapses(test) == [[[1, {"signup": 0.0}]]]
    assert status.means.ravel().tolist() == [0.5, 1.0]
    assert (status.rewards.sum(), status.pending, status.waiting) == (3, 0, ())
    # Too late: it is kept aside, once, and changes nothing.
    for _ in range(2):
        test.tell(one, {"signup": 1})
    assert (test.status().late, len(test.history())) == (1, 6)
    assert test.status().means.ravel().tolist() == [0.5, 1.0]
    test.tell(one, {"signup": 0})
    with pytest.raises(InputError, match=r"'signup' was 1\.0 before, and is 0\.0 now"):
        test.tell(two, {"signup": 0})
    assert test.replay().means.tolist() == test.status().means.tolist()
    assert test.verify().intact


def test_exactly_once_in_many_processes(clock: list[float], make_journal: Callable[[], Journal]) -> None:
    new(make_journal()).ask(40)
    others = [Experiment.load(make_journal(), "x") for _ in range(4)]
    clock[0] += 4000
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: (int(one.status().rewards.sum()), one.ask()[0].id), others))
    assert [pulls for pulls, _ in found] == [40] * 4
    again = Experiment.load(make_journal(), "x")
    assert sum(len(batch) for batch in lapses(again)) == 40  # type: ignore[arg-type,misc]
    assert again.verify().intact


def test_after_a_restart_and_only_what_is_due(clock: list[float]) -> None:
    journal = MemoryJournal()
    test = new(journal, SIGNUP, "seconds:min:bounded=0..30:window=30s:otherwise=30", "cost:gaussian=1")
    (one,) = test.ask()
    clock[0] += 31
    assert Experiment.load(journal, "x").status().rewards.sum(axis=0).tolist() == [0, 1, 0]
    clock[0] += 3600
    loaded = Experiment.load(journal, "x")
    assert loaded.status().rewards.sum(axis=0).tolist() == [1, 1, 0]
    loaded.tell(one, {"cost": 1.0})
    assert loaded.status().rewards.sum(axis=0).tolist() == [1, 1, 1]
    assert loaded.status().last_report_at == clock[0]


def test_clocks_that_jump(clock: list[float]) -> None:
    """A clock that is behind closes no window early; one that was ahead keeps its own assignment open for longer."""
    test = new()
    (first,) = test.ask()
    clock[0] -= 7200
    (behind,) = test.ask()
    clock[0] += 7200 + 60
    assert lapses(test) == []
    test.tell(first, {"signup": 1})
    assert test.status().late == 0
    assert lapses(test) == [[[behind.id, {"signup": 0.0}]]]
    clock[0] += 86400
    (ahead,) = test.ask()
    clock[0] -= 86400
    clock[0] += 3700
    assert test.status().rewards.sum() == 2
    clock[0] += 86400
    assert test.status().rewards.sum() == 3
    assert lapses(test)[1] == [[ahead.id, {"signup": 0.0}]]


def test_a_process_that_is_ahead_settles_early_and_honest_reports_are_kept_aside(clock: list[float]) -> None:
    test = new()
    one, two = test.ask(2)
    clock[0] += 7200
    test.status()
    clock[0] -= 7200
    test.tell_all([(one, {"signup": 1}), (two, {"signup": 0})])
    assert (test.status().late, test.status().rewards.sum()) == (1, 2)
    # What was told in time is another matter.
    (three,) = test.ask()
    test.tell(three, {"signup": 0})
    clock[0] += 4000
    with pytest.raises(InputError, match=r"was 0\.0 before, and is 1\.0 now"):
        test.tell(three, {"signup": 1})


def test_null_is_refused_and_waiting_needs_nothing(clock: list[float]) -> None:
    """It has a value for everybody; to say that it will not come would leave out whoever did not."""
    test = new(None, SIGNUP, "cost:gaussian=1")
    one, two = test.ask(2)
    test.tell(one, {"cost": 1.0})
    test.tell(two, {"cost": 1.0, "signup": 1})
    with pytest.raises(InputError, match="'signup' has a window, and counts as 0 when that is over"):
        test.tell(one, {"signup": None})
    (text,) = [line for line in str(test.status()).splitlines() if "of signup waits for assignment 1" in line]
    assert "nothing is to be done, its window is over at 09 Sep 2001 02:46:40 UTC at the latest" in text


def test_a_closed_experiment_stays_as_it_is(clock: list[float]) -> None:
    test = new()
    test.ask()
    test.close()
    clock[0] += 4000
    assert test.status().rewards.sum() == 0


def test_windows_of_limits(clock: list[float]) -> None:
    test = Experiment.create(
        MemoryJournal(),
        "x",
        ["A", "B"],
        ["click:bernoulli"],
        guardrails=["slow:bernoulli:at-most=0.5:eps=0.1:window=10s:otherwise=1"],
    )
    (one,) = test.ask()
    test.tell(one, {"click": 1})
    clock[0] += 11
    assert test.status().rewards.tolist() == [[1, 1], [0, 0]]


def test_the_short_form() -> None:
    objective = Objective.parse("seconds:min:bounded=0..30:window=90s:otherwise=30")
    assert (objective.window, objective.otherwise) == (90.0, 30.0)
    assert str(objective) == "seconds:min:bounded=0.0..30.0:window=90s:otherwise=30.0"
    assert Objective.parse(str(objective)) == objective
    limit = Guardrail.parse("slow:bernoulli:at-most=0.5:window=10s:otherwise=1")
    assert Guardrail.parse(str(limit)) == limit
    assert [seconds_of(text) for text in ("90s", "1.5d", "2h", "15m", "0.5s")] == [90, 129600, 7200, 900, 0.5]
    assert [span_text(seconds_of(text)) for text in ("90s", "1d", "2h", "15m", "0.5s")] == [
        "90s",
        "1d",
        "2h",
        "15m",
        "0.5s",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:bernoulli:window=1h", "window and otherwise go together"),
        ("x:bernoulli:otherwise=0", "window and otherwise go together"),
        ("x:bernoulli:window=1h:otherwise=0.5", "otherwise must be 0 or 1"),
        ("x:bounded=0..1:window=1h:otherwise=2", "otherwise must be a value that it can have"),
        ("x:window=soon:otherwise=0", "window must be a number with s, m, h or d"),
        ("x:window=90:otherwise=0", "window must be"),
        ("x:window=1h:otherwise=0", "window needs a metric with a range"),
        ("x:bounded=0..1:window=1h:otherwise=nan", "otherwise must be a value that it can have"),
        ("x:window=1h:window=2h:otherwise=1", "its window is given twice"),
    ],
)
def test_what_is_no_window(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Objective.parse(text)


def test_what_waits_for_its_window_alone_is_not_dropped_by_age(clock: list[float]) -> None:
    test = new(None, SIGNUP, "seconds:min:bounded=0..9")
    one, two, three = test.ask(3)
    test.tell_all([(one, {"seconds": 1.0}), (two, {"signup": 1})])
    clock[0] += 60
    assert test.drop_older(10) == 2
    assert (test.status().incomplete, test.status().dropped) == (1, 1)
    test.tell(one, {"signup": 1})
    assert test.status().rewards[0].tolist() == [1, 1]
    assert three.id == 3


def test_nothing_expires_before_its_window_is_over() -> None:
    with pytest.raises(InputError, match="expire_after must be at least the longest window, 1h, not 60"):
        new(expire_after=60)
    new(expire_after=3600)
