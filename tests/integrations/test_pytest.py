"""The pytest plugin: tests of speed that fail when something is proven to be slower."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import time

import pytest


def old():
    time.sleep(0.002)


def new():
    time.sleep(0.004)


def quick():
    sum(range(10))


def test_who_is_fastest(mobai_bench):
    found = mobai_bench({"old": old, "new": new})
    assert found.fastest == "old"
    found.assert_fastest("old")
    found.assert_fastest("new")


def test_slower(mobai_bench):
    mobai_bench({"old": old, "new": new}, baseline="old", slower_by=0.05).assert_not_slower()


def test_not_slower(mobai_bench):
    mobai_bench({"old": new, "new": old}, baseline="old", slower_by=0.05).assert_not_slower()


def test_what_is_quick_is_called_many_times(mobai_bench):
    found = mobai_bench({"quick": quick, "old": old}, max_rounds=12)
    assert 0 < found.timing.median("quick") < 1e-5
    assert found.fastest == "quick"


def test_a_check_without_a_baseline_is_none(mobai_bench):
    found = mobai_bench({"old": old, "new": new})
    with pytest.raises(ValueError, match="baseline must be stated"):
        found.assert_not_slower()
    with pytest.raises(ValueError, match="a mapping from names to functions"):
        mobai_bench(old)
    with pytest.raises(ValueError, match="baseline must be stated with slower_by"):
        mobai_bench({"old": old, "new": new}, slower_by=0.05)
    with pytest.raises(ValueError, match="name must be one of old, new"):
        found.assert_fastest("older")

    async def waits():
        pass

    with pytest.raises(ValueError, match="must do their work when called, which waits does not"):
        mobai_bench({"old": old, "waits": waits})


def test_one_function(mobai_bench):
    with pytest.raises(ValueError, match="two to compare"):
        mobai_bench({"old": old})
"""


def test_the_fixture_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "test_speed.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_speed.py"]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 failed, 4 passed" in found.stdout
    assert "new is not proven to be the fastest" in found.stdout
    assert "new: slower by more than 5 %" in found.stdout
    assert "mobai_bench" in found.stdout


def test_it_costs_other_projects_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_light():\n    assert not {'numpy', 'numba', 'sqlalchemy'} & set(sys.modules)\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_other.py"]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in found.stdout, found.stdout
