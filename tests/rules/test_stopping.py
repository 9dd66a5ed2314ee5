from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import GLR, InputError
from mobai.rules.stopping import Decision, Ladder
from mobai.theory.thresholds import THRESHOLDS


@given(st.lists(st.lists(st.floats(-5, 20), min_size=3, max_size=3), min_size=1, max_size=30), st.floats(0.01, 15))
def test_ladder_finds_first_crossings(history: list[list[float]], level: float) -> None:
    separate, together = Ladder(3, sticky=True), Ladder(3, sticky=False)
    for pull, row in enumerate(history, start=1):
        for ladder in (separate, together):
            ladder.climb(pull, np.array(row), np.array([pull % 2, 0, 1]))
    for m in range(3):
        first = next((t for t, row in enumerate(history, start=1) if row[m] > level), None)
        expected = None if first is None else Decision([first % 2, 0, 1][m], first)
        assert separate.decisions(level)[m] == expected
        first = next((t for t, row in enumerate(history, start=1) if min(row) > level), None)
        expected = None if first is None else Decision([first % 2, 0, 1][m], first)
        assert together.decisions(level)[m] == expected


@pytest.mark.parametrize("name", THRESHOLDS)
def test_flags(name: str) -> None:
    assert GLR(name).certified == (name != "empirical")
    assert GLR(name).sticky == (name in ("mixture", "kaufmann_koolen"))
    assert GLR(name).name == name


def test_unknown_threshold() -> None:
    with pytest.raises(InputError, match="threshold must be one of"):
        GLR("bayes")
