from __future__ import annotations

from pathlib import Path

import pytest

from mobai.lab.instances import ads


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Return a file with the adverts of the demo."""
    path = tmp_path / "ads.csv"
    ads().save(path)
    return str(path)
