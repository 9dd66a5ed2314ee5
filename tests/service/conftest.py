"""A service over an empty storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.serving import Client, running


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (found, _):
        yield found
