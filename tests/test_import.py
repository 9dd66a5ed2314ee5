"""``import mobai`` and ``mobai --help`` stay light, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

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


@pytest.mark.parametrize("name", mobai.__all__)
def test_public_names_resolve(name: str) -> None:
    assert getattr(mobai, name).__name__ == name


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mobai.nothing  # noqa: B018
    assert set(mobai.__all__) <= set(dir(mobai))
    assert set(mobai.__all__) == set(mobai._HOMES)
