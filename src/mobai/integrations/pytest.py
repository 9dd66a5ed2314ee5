"""A pytest plugin: the fixture ``mobai_bench`` says which of several functions is fastest, and whether one is too slow.

It is found by pytest as soon as mobai is installed.
"""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mobai.timing import Measurement, Timing

# Seconds that a measurement lasts at least: what is quicker is called several times.
_LONG_ENOUGH = 1e-3
_MOST_CALLS = 1_000_000


@dataclass(frozen=True)
class BenchResult:
    """What was timed.

    Attributes
    ----------
    timing
        Every measurement, medians, ratios and their intervals.
    """

    timing: Timing

    @property
    def fastest(self) -> str | None:
        """Who is faster than all others in most rounds; None if that is not known."""
        return self.timing.fastest["seconds"]

    def assert_fastest(self, name: str) -> None:
        """Fail unless this one is proven to be the fastest."""
        __tracebackhide__ = True
        from mobai.errors import InputError

        if self.timing.baseline is not None:
            raise InputError("baseline must be left out to find the fastest")
        if name not in self.timing.names:
            raise InputError("name", f"must be one of {', '.join(self.timing.names)}, not {name!r}")
        if self.fastest != name:
            raise AssertionError(f"{name} is not proven to be the fastest\n{self}")

    def assert_not_slower(self) -> None:
        """Fail if anybody is proven to be slower than the baseline by more than was said."""
        __tracebackhide__ = True
        from mobai.errors import InputError

        if self.timing.baseline is None:
            raise InputError("baseline must be stated to mobai_bench: whom the others are compared with")
        if any(self.timing.slower().values()):
            raise AssertionError(f"slower than {self.timing.baseline}\n{self}")

    def __str__(self) -> str:
        """Say it in a few lines."""
        from mobai import views

        return "\n".join([*views.timing_lines(self.timing), views.to_text(views.timing_table(self.timing))])

    def __repr__(self) -> str:
        """Say it in a word: tests that fail show it."""
        return f"<{len(self.timing.names)} functions in {self.timing.rounds} rounds: {self.timing.ending}>"


class Bench:
    """Times functions in rounds; what the fixture is."""

    def __init__(self) -> None:
        self.results: list[BenchResult] = []

    def __call__(
        self,
        functions: Mapping[str, Callable[[], Any]],
        *,
        delta: float = 0.05,
        at_least: float = 0.0,
        max_rounds: int = 100,
        baseline: str | None = None,
        slower_by: float = 0.0,
        seed: int = 0,
    ) -> BenchResult:
        """Time functions without arguments until it is known which is fastest; or who is slower than a baseline.

        Every measurement lasts a millisecond at least, garbage is collected before it and not in it. See
        :func:`mobai.timing.time_rounds` for the arguments.
        """
        from mobai.errors import InputError
        from mobai.timing import time_rounds

        if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
            raise InputError("functions", "must be a mapping from names to functions without arguments")
        for name, function in functions.items():
            if not isinstance(name, str):
                raise InputError("functions", f"must have names that are texts, not {name!r}")
            if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
                raise InputError("functions", f"must do their work when called, which {name} does not: wrap it")
        calls = {name: _calls(function) for name, function in functions.items()}
        found = time_rounds(
            list(functions),
            lambda name: _measured(functions[name], calls[name]),
            delta=delta,
            at_least=at_least,
            max_rounds=max_rounds,
            baseline=baseline,
            slower_by=slower_by,
            seed=seed,
        )
        if found.ending == "interrupted":
            raise KeyboardInterrupt
        self.results.append(BenchResult(found))
        return self.results[-1]


@pytest.fixture
def mobai_bench(request: pytest.FixtureRequest) -> Any:
    """Time functions in rounds, until it is known which one is fastest."""
    made = Bench()
    yield made
    for found in made.results:
        request.node.add_report_section("call", "mobai_bench", str(found))


def _calls(function: Callable[[], Any]) -> int:
    """Return how many calls make a measurement; the calls that find out warm everything up."""
    calls = 1
    while calls < _MOST_CALLS:
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        took = time.perf_counter() - begin
        if took >= _LONG_ENOUGH:
            break
        calls *= 2 if took > _LONG_ENOUGH / 10 else 10
    return calls


def _measured(function: Callable[[], Any], calls: int) -> Measurement:
    """Return what a call took, on average over some."""
    from mobai.timing import Measurement

    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        user, begin = time.process_time(), time.perf_counter()
        for _ in range(calls):
            function()
        took, used = time.perf_counter() - begin, time.process_time() - user
    finally:
        if collects:
            gc.enable()
    return Measurement(took / calls, used / calls)
