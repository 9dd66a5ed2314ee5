"""``import mobai`` and ``mobai --help`` stay light, and every public name is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mobai

HEAVY = ("numba", "scipy", "sqlalchemy", "pandas", "pyarrow", "matplotlib", "cvxpy", "fastapi")


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import mobai",
        "import mobai.cli\ntry: mobai.cli.main(['--help'])\nexcept SystemExit: pass",
    ],
)
def test_imports_nothing_heavy(code: str) -> None:
    assert not loaded_after(code) & set(HEAVY)


def test_the_probe_sees_heavy_imports() -> None:
    assert "scipy" in loaded_after("import scipy")


PUBLIC: list[str] = vars(mobai)["__all__"]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_resolve(name: str) -> None:
    assert getattr(mobai, name).__name__ == name


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    assert re.search(rf"^\.\. auto\w+:: {name}$", page, re.M)


def test_the_stub_is_the_list() -> None:
    stub = Path(mobai.__file__).with_suffix(".pyi").read_text()
    assert len(PUBLIC) == stub.count("import ") - 1 > 40
    assert set(PUBLIC) <= set(dir(mobai))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mobai.nothing  # type: ignore[attr-defined]  # noqa: B018
