"""Results that several files of tests compare with."""

from __future__ import annotations

import pytest
from tests.lab.trials import POLICIES, SETTINGS, WORLD

from mobai import Results, simulate


@pytest.fixture(scope="session")
def reference() -> Results:
    return simulate(WORLD, POLICIES, **SETTINGS)
