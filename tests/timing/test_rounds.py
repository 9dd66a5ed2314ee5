"""Timing in rounds: who is fastest, who is slower than a baseline, and how often that is wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import mobai
from mobai.theory.medians import median_interval, sign_evidence
from mobai.timing import Measurement, Timing, time_rounds

Measure = Callable[[str], Measurement]


def machine(means: dict[str, float], seed: int, load: Iterator[float] | None = None, noise: float = 0.05) -> Measure:
    """Return what measures on a machine that a load slows down now and then."""
    coins = np.random.default_rng(seed)
    busy = load or itertools.repeat(1.0)

    def measure(name: str) -> Measurement:
        return Measurement(means[name] * next(busy) * math.exp(noise * coins.normal()))

    return measure


def test_a_clear_difference_takes_ten_to_fifteen_rounds() -> None:
    for seed in range(20):
        found = time_rounds(["a", "b"], machine({"a": 1.0, "b": 1.25}, seed))
        assert found.fastest == {"seconds": "a"}
        assert 10 <= found.rounds <= 15
        ratio, low, high = found.ratio("b", "a")
        assert low < ratio < high
        assert found.won("a", "b")[0] >= 9


def test_a_load_that_comes_and_goes_fools_nobody() -> None:
    """Ten measurements in a row of a load twice as slow, then ten without: who is asked first is nobody's fault."""
    wrong = right = 0
    for seed in range(60):
        load = itertools.cycle([1.0] * 10 + [2.0] * 10)
        found = time_rounds(["a", "b"], machine({"a": 1.0, "b": 1.1}, seed, load), max_rounds=60)
        wrong += found.fastest["seconds"] == "b"
        right += found.fastest["seconds"] == "a"
    assert wrong <= 2
    assert right >= 57


def test_of_two_equal_ones_hardly_ever_one_is_called_faster() -> None:
    """At delta = 0.1, 200 runs of 60 rounds: 20 would be allowed; 0.3 % of all machines would fail at more than 32."""
    called = sum(
        time_rounds(["a", "b"], machine({"a": 1.0, "b": 1.0}, seed), delta=0.1, max_rounds=60).ending == "decided"
        for seed in range(200)
    )
    assert called <= 32


def test_what_can_no_longer_win_is_run_no_more() -> None:
    means = {"fast": 1.0, "near": 1.02, "slow": 3.0}
    found = time_rounds(list(means), machine(means, 1), max_rounds=60)
    assert len(found.runs["slow"]) < len(found.runs["near"])
    places = [place for place, _ in found.runs["near"]]
    assert places == sorted(set(places))


def test_at_least_three_percent() -> None:
    means = {"a": 1.0, "b": 1.02, "c": 1.4}
    found = time_rounds(list(means), machine(means, 3, noise=0.001), at_least=0.03, max_rounds=40)
    assert found.fastest == {"seconds": None}
    assert found.won("a", "b") == (0, len(found.runs["b"]))
    found = time_rounds(["a", "c"], machine(means, 3, noise=0.001), at_least=0.03)
    assert found.fastest == {"seconds": "a"}


@pytest.mark.parametrize(("mean", "slower"), [(1.0, False), (1.02, False), (1.05, None), (1.2, True)])
def test_slower_than_a_baseline(mean: float, slower: bool | None) -> None:
    measure = machine({"old": 1.0, "new": mean}, 4, noise=0.01)
    found = time_rounds(["old", "new"], measure, baseline="old", slower_by=0.05, max_rounds=60)
    assert found.slower() == {"new": slower}
    assert found.ending == ("max-rounds" if slower is None else "decided")


def test_an_interrupt_keeps_what_there_is() -> None:
    measure = machine({"a": 1.0, "b": 1.0}, 5)
    left = iter(range(7))

    def interrupted(name: str) -> Measurement:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return measure(name)

    found = time_rounds(["a", "b"], interrupted)
    assert found.ending == "interrupted"
    assert len(found.runs["a"]) + len(found.runs["b"]) == 7


def test_several_metrics_are_all_decided() -> None:
    took = {"a": Measurement(1.0, 0.5, 0.0, 30), "b": Measurement(1.5, 0.5, 0.0, 10)}
    found = time_rounds(["a", "b"], lambda name: took[name], metrics=["seconds", "memory"])
    assert found.fastest == {"seconds": "a", "memory": "b"}
    seen: list[int] = []
    time_rounds(["a", "b"], lambda name: took[name], watch=lambda one: seen.append(one.rounds))
    assert seen[:-1] == list(range(1, 10))


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (["a"], {}, "two to compare at least"),
        (["a", "b"], {"metrics": ["second"]}, "did you mean 'seconds'"),
        (["a", "b"], {"metrics": []}, "metrics must be one at least"),
        (["a", "b"], {"at_least": -0.1}, "at_least must be a share"),
        (["a", "b"], {"slower_by": 3}, "slower_by must be a share below 1, 0.05 for 5 %, not 3"),
        (["a", "b"], {"at_least": math.nan}, "at_least must be a share"),
        (["a", "b"], {"max_rounds": 0}, "max_rounds must be a whole number"),
        (["a", "b"], {"baseline": "c"}, "baseline must be one of a, b"),
        (["a", "b"], {"delta": 0.0}, "delta"),
    ],
)
def test_wrong_arguments_are_one_line(names: list[str], options: dict[str, object], said: str) -> None:
    with pytest.raises(mobai.InputError, match=said):
        time_rounds(names, lambda name: Measurement(1.0), **options)  # type: ignore[arg-type]


def test_medians_are_covered_at_all_times() -> None:
    """At 0.2, of 400 sequences of 200 with a look after each: at most 80 may miss; 97 are beyond chance (0.2 %)."""
    coins, missed = np.random.default_rng(7), 0
    for _ in range(400):
        values = coins.exponential(size=200)
        looks = (median_interval(values[:n], 0.2) for n in range(5, 201, 5))
        missed += any(not low <= math.log(2) <= high for low, high in looks)
    assert missed <= 97


def test_sign_evidence_is_the_integral_it_says() -> None:
    from scipy.integrate import quad
    from scipy.stats import beta

    for above, n in ((0, 3), (5, 7), (40, 60), (50, 50)):
        bet = quad(lambda p: 2 * beta.pdf(p, 0.5, 0.5) * (2 * p) ** above * (2 * (1 - p)) ** (n - above), 0.5, 1)[0]  # noqa: B023
        assert float(sign_evidence(above, n)) == pytest.approx(math.log(bet), abs=1e-6)


def test_an_empty_timing_says_nothing() -> None:
    empty = Timing(("a", "b"), ("seconds",), 0.05, runs={"a": [], "b": []}, fastest={"seconds": None})
    assert math.isnan(empty.median("a"))
    assert empty.interval("a") == (0.0, math.inf)
    assert empty.rounds == 0
    assert empty.best_looking() in ("a", "b")
