"""Progress of simulations: lines on stderr where there is no terminal."""

from __future__ import annotations

import time

import pytest

from mobai.cli import progress, screen
from mobai.lab.simulate import Progress


def test_the_speed_of_each_run_begins_where_the_last_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = [0.0], list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(screen.err, "print", lambda text, **_: said.append(text))
    with progress.Bar() as bar:
        for seconds, done, pulls, what in ((20, 1, 2000, "one"), (40, 2, 4000, "one"), (60, 1, 500, "two")):
            clock[0] = seconds
            bar(Progress(done, 2, pulls), what)
    assert said == [
        "mobai: 1 of 2 one, 100 pulls/s after 20 s",
        "mobai: 2 of 2 one, 100 pulls/s after 40 s",
        "mobai: 1 of 2 two, 25 pulls/s after 60 s",
    ]
